"""Derivations: lemmas and inequalities put together into longer proofs."""
