"""Relaxations of polynomials in noncommuting operators: only the algebra is new, the engine is that of
everything.

``statement`` (what is asked, exactly) -> ``bases`` and ``classes`` (words, and which have one expectation) ->
``assemble`` (the ordinary identity) -> the ladder and judge of ``sosdp.relaxation`` -> ``answer``.
"""
