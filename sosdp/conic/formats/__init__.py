"""Conic programs read from and written to files, one format a module."""
