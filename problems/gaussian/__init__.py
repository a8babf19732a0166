"""Robust and private mean, covariance and Gaussian learning by packing scores."""
