"""Cases of ten peers' own test suites, stated through the public interface.

SumOfSquares.jl, TSSOS, Hypatia, ncpol2sdpa, the demos of SOSTOOLS and the examples of MomentOpt are those of
the repositories, some of them with further options or degrees. The cases of GloptiPoly, YALMIP, SparsePOP and
MultivariateMoments, the bounds of single polynomials and the volumes are ours in their manner: problems of
their manuals and families with values that are known or in closed form.
"""
