"""Guarantees, noise, calibration and the roads from a program to a private release."""
