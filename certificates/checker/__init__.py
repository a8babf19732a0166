"""The fast checker, in parts: reading, arithmetic, matrices, points, words, and comparing with a problem."""
