"""Estimators of mixtures, one a file."""
