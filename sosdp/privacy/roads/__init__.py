"""The generic ways from a certified computation to a private release, one a file."""
