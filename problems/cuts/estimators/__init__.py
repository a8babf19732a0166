"""Estimators of cuts, one a file."""
