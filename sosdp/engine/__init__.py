"""The rooms between a system and a certified answer, in the order of the data flow.

``blocks`` (which Gram matrices) -> ``assembly`` (one sparse matrix) -> ``scaling`` -> ``forms`` (Gram or
moment) -> ``solving`` -> ``certify`` and ``answer`` (what is proven), ``atoms`` (minimisers).
"""
