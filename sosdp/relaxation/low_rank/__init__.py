"""Relaxations of order 1 with unit diagonal, or orthonormal blocks, by low rank: structure, proof, answer."""
