"""Pickles read in another process, where the ids of the variables are others: everything means the same."""

import copy
import json
import pickle
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import certificates
import sosdp as sd
from sosdp.algebra.variables import variable_id, variable_name

CHILD = """
import json, pickle, sys
import sosdp as sd
sd.variables("unused0 unused1 pc")
sd.complex_variables("pv pw")
pa, pz, pb = sd.variables("pa pz pb")
import tests.engine.test_pickles as here
found = pickle.load(open(sys.argv[1], "rb"))
json.dump({name: here.VIEWS[name](value) for name, value in found.items()}, open(sys.argv[2], "w"))
"""
PROBLEM = {
    "format": "sosdp-problem/1",
    "variables": ["pb", "pa"],
    "minimize": "pa + 2*pb",
    "subject_to": ["pa**2 + pb**2 <= 5"],
}
AT = {"pa": 0.5, "pb": -2.0, "pz": 3.0, "pc": 7.0}


def digits(values, places=6):
    return (np.round(np.asarray(values, dtype=float), places) + 0.0).tolist()


def results():
    """Something of every kind; each variable plays another part, so that a mix-up shows."""
    sd.variables("one two three four five")
    pz, pb, pa, pc = sd.variables("pz pb pa pc")
    w, v = sd.complex_variables("pw pv")
    ball = [pa**2 + 4 * pb**2 + 9 * pz**2 <= 36]
    box = [pa**2 <= 1, pb**2 <= 1, pz**2 <= 1]
    program = sd.SosProgram([pc]).require(pa**4 - 2 * pa**2 + 3 - pc)
    measures = sd.MeasureProgram()
    mu = measures.measure([pb, pa], on=sd.System(pb**2 + pa**2 <= 4), mass=1)
    measures.require(mu(pa) == 1)
    cube = [pa**2 == 1, pb**2 == pb, (pz * pb).equals(0)]
    linear = sd.minimize(pa + 2 * pb - 3 * pz, ball, 2)
    certificate = certificates.extract(linear)
    assert certificate.points is not None and linear.atoms().size  # computed once, by ids: not to travel
    relaxation = sd.Relaxation(sd.System(pa**2 + pb**2 <= 4, pz >= -5, pz <= 1), 2)
    assert relaxation.bounds.largest
    mean = relaxation.E(pa)
    forms = first, second = sd.variables("first second")
    unit = first**2 + second**2
    matrix = sd.PolynomialArray([[pa + pb, pz], [pz, 2 * pb]])
    corner = [pa >= 0, pb >= 0, pa + 2 * pb <= 2, pz <= 1]
    ellipse = sd.for_all(forms, unit - (first * pa + second * pb) ** 2 >= 0)
    result = {"cvxpy": relaxation.to_cvxpy([pa * pb])} if find_spec("cvxpy") else {}
    return result | {
        "ball": linear,
        "units": sd.minimize(pa + 2000 * pb, [pa**2 + (1000 * pb) ** 2 <= 4], 2),
        "cube": sd.minimize(3 * pa - 2 * pb + pa * pb, cube, 2),
        "groebner": sd.minimize(
            pa * pb - pz, [pa**2 - pb == 1, pb**2 <= 4, pz**2 == pb], 4, quotient="groebner"
        ),
        "symmetric": sd.minimize(pa**4 + pb**4 + pz - pa * pb, box, 4, symmetry="auto"),
        "sparse": sd.minimize(pa * pb + pb * pz - pz, box, 4, sparsity="chordal"),
        "products": sd.minimize(pa * pb - pz, corner, 2, products="schmudgen"),
        "dominant": sd.minimize(pa**4 + pb**2 - pa * pb + pz**2 + pz, None, 4, cone="sdsos"),
        "own solver": sd.minimize(pa**2 - 2 * pb**2 + pz, box, 4, solver="sos_cone"),
        "in expectation": relaxation.minimize(mean**2 + relaxation.E(pz), subject_to=[relaxation.E(pb) >= 1]),
        "positive definite": sd.minimize(pa - pz, [sd.PSD(matrix), pa + 2 * pb <= 3], 2),
        "for all": sd.minimize(pa - 2 * pb, [ellipse], 2),
        "refuted": sd.feasible([pa**2 + pb**2 <= 1, pa - pb >= 3], 2),
        "certificate": certificate,
        "proof": certificate.exact(),
        "relaxation": relaxation,
        "many": relaxation.minimize_many([pa - pz, pa + 2 * pb], time_limit=60.0),
        "program": program,
        "coefficients": program.maximize(pc),
        "measures": measures.minimize(mu(pb**2 + pa**2)),
        "complex": sd.minimize(w + w.conj() + v * w.conj() + v.conj() * w, [w.abs2() <= 4, v.abs2() <= 1], 2),
        "chebyshev": sd.minimize(sd.ChebyshevPolynomial.parse("3*T4(pa) - T1(pb)"), box[:2], 4),
        "threshold": sd.Relaxation(sd.System(pa**2 <= pz, pa >= 1), 2).bisect(pz, 0.5, 2.0, tolerance=0.25),
        "answer": sd.solve_problem(sd.load_problem(PROBLEM)),
        "statements": [
            pa**2 - 3 * pb + pz / 2,
            *np.asarray(matrix).reshape(-1),
            *sd.System(pa >= pb, pz == 2, sd.PSD(matrix)).inequalities,
            pc - pa,
        ],
    }  # fmt: skip


def _view(pe):
    """Values, points, bound and proof of a pseudo-expectation."""
    known = [v for v in sd.variables("pa pb pz") if v in pe.variables]
    assert pe.status == "optimal" and known, (pe.reason, pe.variables)
    assert all(list(row) == sorted(row) for row in pe.identity.columns.tolist())  # as monomials are
    names = [str(v) for v in pe.variables]
    points = sorted(sorted(zip(names, digits(row, 4), strict=True)) for row in pe.atoms())
    provable = pe.certified_bound is not None and not pe.system.foralls
    proof = certificates.extract(pe).exact() if provable else None
    return {
        "values": digits([float(pe(v)) for v in known], 9),
        "moments": sorted(zip(_names(pe.identity.columns), digits(pe.moments, 9), strict=True)),
        "points": points,
        "bound": [pe.bound, pe.certified_bound],
        "proof": proof is not None and bool(proof.verify()),
        "multipliers": [_value(b.gram, b.basis) for b in pe.dual.blocks if b.entry is None],
        "scales": digits(pe.scaling.points(np.concatenate([v.variable_ids for v in known]))),
    }


def _names(monos):
    return [" ".join(sorted(variable_name(i) for i in row if i)) for row in monos.tolist()]


def _value(gram, basis):
    at = np.array([np.prod([AT.get(variable_name(i), 1.5) for i in row if i]) for row in basis.tolist()])
    return digits(at @ gram @ at, 4)


def _rewritten(pe):
    """The moments of what the rules rewrite too."""
    pa, pb = sd.variables("pa pb")
    basis = pe.identity.quotient.basis(pe.variable_ids, 2)
    return [_view(pe), digits([pe(pa**4), pe(pa**2 * pb)]), sorted(_names(basis))]


def _refutation(pe):
    return [pe.status, bool(certificates.extract(pe).exact().verify())]


def _certificate(result):
    ids = {name: variable_id(name) for name in AT}
    points = [{name: str(z[i]) for name, i in ids.items() if i in z} for z in result.points]
    return [points, _proof(result.exact())]


def _proof(result):
    squares = [[w * q(_at(q)) ** 2 for w, q in multiplier.squares()] for multiplier in result.multipliers]
    return [str(result.bound), bool(result.verify()), sorted(map(digits, squares))]


def _at(p):
    return {str(v): AT[str(v)] for v in p.variables}


def _again(program):
    return program.maximize(sd.variables("pc")).certified_bound


def _relaxation(result):
    limits = [result.bounds.largest[variable_id(n)] for n in ("pa", "pb", "pz")]
    ranges = result.bounds.ranges[variable_id("pz")]
    return [limits, ranges, digits(result.minimize(sd.polynomial("pa + 2*pz")).bound)]


def _coefficients(result):
    return [result.values, result.certified_bound, bool(certificates.extract(result).exact().verify())]


def _laws(result):
    pa, pb = sd.variables("pa pb")
    mu = result.program.measures[0]
    values = [result.law(mu)(p) for p in (pa, pa**2, pb**2)] + [
        result(result.objective),
        result.slack(mu)(pa=1, pb=2),
    ]
    return digits(values), result.certified_bound  # fmt: skip


def _points(result):
    names = [str(v) for v in result.variables]
    rows = digits(result.atoms().real, 4)
    assert rows
    w, v = sd.complex_variables("pw pv")
    values = [complex(result(p)) for p in (w, w * v.conj(), w.abs2())]
    known = [[z.real, z.imag] for z in values]
    return [sorted(zip(names, row, strict=True)) for row in rows], result.certified_bound, digits(known)


def _chebyshev(result):
    pa, pb = sd.variables("pa pb")
    series = [sd.ChebyshevPolynomial.series(p, [0, 1, 2]) for p in (pa, pb)]
    return [result.certified_bound, digits([result(s) for s in series])]


def _threshold(result):
    return [result.low, result.high, result.solution.status, digits(result.solution(sd.variables("pa")), 4)]


VIEWS = {
    **({"cvxpy": lambda result: _names(result.columns)} if find_spec("cvxpy") else {}),
    **dict.fromkeys(
        "ball units symmetric sparse products dominant".split()
        + ["own solver", "in expectation", "positive definite", "for all"],
        _view,
    ),
    "cube": _rewritten,
    "groebner": _rewritten,
    "refuted": _refutation,
    "certificate": _certificate,
    "proof": _proof,
    "relaxation": _relaxation,
    "many": lambda result: [list(result.status), digits([*result.bounds, result[-1].bound])],
    "program": _again,
    "coefficients": _coefficients,
    "measures": _laws,
    "complex": _points,
    "chebyshev": _chebyshev,
    "threshold": _threshold,
    "answer": lambda result: [result.bound, result.atoms, _proof(result.proof())],
    "statements": lambda result: [float(p(_at(p))) for p in result],
}


@pytest.fixture(scope="module")
def read_elsewhere(tmp_path_factory):
    result = results()
    folder = tmp_path_factory.mktemp("pickles")
    (folder / "found.pkl").write_bytes(pickle.dumps(result))
    argv = [sys.executable, "-c", CHILD, str(folder / "found.pkl"), str(folder / "told.json")]
    subprocess.run(argv, check=True, timeout=120)
    return result, json.loads((folder / "told.json").read_text())


@pytest.mark.parametrize("name", VIEWS)
def test_it_means_the_same_in_another_process(read_elsewhere, name):
    result, known = read_elsewhere
    assert known[name] == json.loads(json.dumps(VIEWS[name](result[name])))


@pytest.mark.parametrize("name", ["ball", "cube", "own solver", "program", "proof", "complex"])
def test_a_copy_means_the_same(read_elsewhere, name):
    result, tell = read_elsewhere[0][name], VIEWS[name]
    assert tell(copy.deepcopy(result)) == tell(result) == tell(copy.copy(result))
