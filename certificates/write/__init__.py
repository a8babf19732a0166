"""Proofs as files, LaTeX, Lean, sympy and pictures."""
