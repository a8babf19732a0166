"""Queries answered from a public hypothesis, and from the data only where it is far off."""
