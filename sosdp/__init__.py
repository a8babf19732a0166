"""sosdp: certified sum-of-squares relaxations, turned into differentially private estimators.

The public names load when they are first used, so that ``import sosdp`` is quick; ``sosdp.problems`` and
``sosdp.certificates`` are the packages of estimators and of exact proofs. What type checkers read is
``__init__.pyi``.
"""

from ._version import __version__
from .aliases import install
from .lazy import lazily

_HOMES = {
    "answer": ["Answer", "solve", "solve_problem"],
    "algebra": ["Equality", "Inequality", "PSD", "Polynomial", "PolynomialArray", "polynomial", "variables"],
    "algebra.build": ["coefficient", "integrate", "monomials"],
    "algebra.complex": ["ComplexPolynomial", "complex_variables"],
    "algebra.letters": [
        "bosons",
        "fermions",
        "observables",
        "operators",
        "paulis",
        "projectors",
        "unitaries",
    ],
    "algebra.operator": ["OperatorPolynomial", "relation"],
    "algebra.chebyshev": ["ChebyshevPolynomial", "chebyshev"],
    "conic.bridges": ["from_cvxpy", "solve_cvxpy"],
    "conic.choose": ["solve_conic"],
    "conic.formats.files": ["read_program", "write_program"],
    "conic.program": ["ConicProgram", "ConicSolution", "ProblemTooLarge", "SolverUnavailable"],
    "estimator.private_estimator": ["MissingFact", "VectorOutput", "private_estimator"],
    "estimator.score_program": ["ScoreProgram"],
    "laboratory.consensus": ["ConsensusProgram"],
    "laboratory.convex": ["ConvexLoss"],
    "laboratory.domain": ["Domain"],
    "laboratory.family": ["Family", "Part", "score_program"],
    "laboratory.packing": ["PackingProgram"],
    "laboratory.report": ["NotAPolynomial", "StabilityReport", "Undecided"],
    "laboratory.stability": ["falsify", "stability"],
    "model.expectation": ["E", "for_all", "sum_squares"],
    "model.problem": ["Problem"],
    "model.problem_file": ["ProblemFileError", "load_problem"],
    "model.system": ["System"],
    "privacy.guarantee.guarantee": ["Guarantee"],
    "privacy.guarantee.release": ["Release"],
    "privacy.mechanisms.output_perturbation": ["StrongConvexProgram"],
    "relaxation.operators.answer": ["OperatorExpectation"],
    "prove": ["prove_sos"],
    "reduction.permutation": ["interchange"],
    "relaxation.chebyshev": ["ChebyshevBound"],
    "relaxation.complex": ["ComplexExpectation"],
    "relaxation.measure_problems": ["minimize_ratios", "volume"],
    "relaxation.measure_program": ["MeasureProgram"],
    "relaxation.measure_solution": ["MeasureSolution"],
    "relaxation.minimize": ["feasible", "maximize", "minimize"],
    "relaxation.pseudoexpectation": ["PseudoExpectation"],
    "relaxation.relaxation": ["Relaxation"],
    "relaxation.sos_program": ["SosProgram"],
    "relaxation.sos_solution": ["SosSolution"],
    "relaxation.trigonometric": ["TrigonometricBound", "minimize_trigonometric"],
    "structured": ["nearest_correlation"],
}
_MODULES = (
    "certificates",
    "laboratory",
    "relaxation.functionals",
    "plot",
    "privacy",
    "problems",
    "structured",
    "sweep",
    "testing",
)

__all__ = ["__version__", *sorted(name for names in _HOMES.values() for name in names)]
__getattr__, __dir__ = lazily(__name__, {f".{home}": names for home, names in _HOMES.items()}, _MODULES)
install()
