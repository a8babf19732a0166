"""Estimators of communities in graphs, one a file."""
