"""Undoings of single terms of proofs, and the tests that must notice: see README.md beside this file."""
