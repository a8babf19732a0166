"""Estimators through tuples."""
