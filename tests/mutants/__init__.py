"""Mutants that drop single terms of proofs, and the tests that must fail: see README.md beside this file."""
