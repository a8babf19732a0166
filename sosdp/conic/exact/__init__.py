"""Facial reduction and points of conic programs in exact arithmetic."""
