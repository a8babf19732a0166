"""Textbook mechanisms that need no program: counts, choices, tests, order statistics, averages; exact."""
