"""Estimators through tuples, one a file."""
