"""Families of problems with known answers; `tests/cases/make_more.py` writes them down."""
