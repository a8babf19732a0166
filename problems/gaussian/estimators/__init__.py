"""Estimators of means, covariances and Gaussians, one a file."""
