"""Benchmarks: `python -m benchmarks NAME` runs one, `python -m benchmarks --list` names them."""
