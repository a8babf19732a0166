"""Thirty kinds of hostile records in every mechanism and estimator: no exception, one fixed meaning.

Each kind stands for a public constant of the mechanism (what no number is read as) or for the number it
holds; the release with it is, draw for draw, the release with that constant in its place.
"""

import datetime
import decimal
import io
import math
import warnings
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from problems.gaussian import PackingProblem, PrivateMean
from problems.gaussian.columns import read_table
from problems.gaussian.published.localised_lift import LocalisedLiftScore
from problems.gmm import PrivateGaussianMixture
from problems.sbm import CertificateRecovery, EdgeList, MajorityVoteRecovery
from sosdp.estimator.records import as_records
from sosdp.estimator.scaler import PrivateScaler
from sosdp.estimator.score_program import ScoreProgram
from sosdp.privacy import (
    pure_exponential,
    release_by_friends,
    release_by_vote,
    release_with_margin,
    truncated_exponential,
)
from sosdp.privacy.inputs import as_float, floats, members, number, plain, whole
from sosdp.privacy.mechanisms import (
    SparseVector,
    above_threshold,
    bounded_average,
    interior_point,
    multiplicative_weights,
    private_histogram,
    private_quantile,
    report_noisy_max,
)
from sosdp.privacy.mechanisms.output_perturbation import release_symmetric, release_vector
from sosdp.privacy.mechanisms.parities import parity_weights
from sosdp.privacy.mechanisms.propose_test_release.stability import release_if_stable
from sosdp.privacy.rows import table
from sosdp.privacy.scores.depth import TukeyDepth
from sosdp.privacy.scores.location import coordinate_max, l_statistic, median_weights
from sosdp.privacy.scores.score import Lattice, cube

SECRET = "the-secret-record"


def _raise(*args, **kwargs):
    raise RuntimeError(SECRET)


NAMES = (
    "__float__ __int__ __index__ __str__ __repr__ __hash__ __eq__ __lt__ __le__ __gt__ __ge__ __bool__ "
    "__abs__ __neg__ __pos__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ "
    "__floordiv__ __rfloordiv__ __mod__ __len__ __iter__ __getitem__ __contains__ __array__ __format__ "
    "__reduce__ __copy__ __deepcopy__ is_integer item tolist as_integer_ratio bit_length"
).split()


def raising(base, *arguments):
    """An instance of a subclass of `base` whose every method raises, with the secret in the text."""
    kind = type(f"Evil{base.__name__}", (base,), dict.fromkeys(NAMES, _raise))
    return kind(*arguments) if base is not np.ndarray else np.zeros(()).view(kind)


class Liar:
    """An object that pretends to be a float, and panics when it is asked."""

    @property
    def __class__(self):
        raise SystemExit(SECRET)

    def __getattr__(self, name):
        raise KeyError(SECRET)


class Holder:
    def __float__(self):
        return 0.5


class Unhashable(type):
    __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = _raise


def nested(depth=600):
    """A list in lists, deeper than Python's stack."""
    return [nested(depth - 1)] if depth else 1.0


def holding(value):
    """An array of no dimension of this object, of which numpy asks nothing."""
    result = np.empty(1, dtype=object)
    result[0] = value
    return result.reshape(())


ITSELF: list = []
ITSELF.append(ITSELF)

# kind -> (record, what it counts as: a number, or None for no number)
KINDS = {
    "None": (None, None),
    "text": ("x", None),
    "empty text": ("", None),
    "bytes": (b"1", None),
    "nan": (math.nan, None),
    "infinity": (math.inf, math.inf),
    "minus infinity": (-math.inf, -math.inf),
    "denormal": (5e-324, 5e-324),
    "largest": (1.7976931348623157e308, 1.7976931348623157e308),
    "huge integer": (10**400, math.inf),
    "enormous integer": (1 << 20000, math.inf),
    "complex": (1j, None),
    "object": (object(), None),
    "object with __float__": (Holder(), None),
    "liar": (Liar(), None),
    "list": ([1.0, 2.0], None),
    "empty list": ([], None),
    "dictionary": ({1: 2}, None),
    "function": (len, None),
    "date": (datetime.date(2020, 1, 1), None),
    "decimal": (decimal.Decimal("0.5"), 0.5),
    "decimal that raises": (raising(decimal.Decimal, "0.5"), 0.5),
    "signalling decimal": (decimal.Decimal("sNaN"), None),
    "infinite decimal": (decimal.Decimal("-Infinity"), -math.inf),
    "enormous decimal": (decimal.Decimal("1e999999999"), math.inf),
    "tiny decimal": (decimal.Decimal("-1e-999999999"), 0.0),
    "fraction": (Fraction(1, 2), 0.5),
    "fraction of numpy": (Fraction(np.int64(1), np.int64(2)), 0.5),
    "boolean": (True, 1.0),
    "float that raises": (raising(float, 0.5), 0.5),
    "integer that raises": (raising(int, 1), 1),
    "text that raises": (raising(str, SECRET), None),
    "tuple that raises": (raising(tuple, (1.0,)), None),
    "array that raises": (raising(np.ndarray), 0.0),
    "numpy integer": (np.int8(1), 1),
    "numpy half": (np.float16(0.5), 0.5),
    "long double": (np.longdouble("1e4000"), math.inf),
    "masked": (np.ma.masked, None),
    "time": (np.timedelta64(5, "s"), None),
    "object array": (np.array(Holder(), dtype=object), None),
    "array of a liar": (holding(Liar()), None),
    "nested list": (nested(), None),
    "list of itself": (ITSELF, None),
    "fraction without integers": (object.__new__(Fraction), None),
    "class of a raising class": (Unhashable("Odd", (), {})(), None),
}


@pytest.fixture(autouse=True)
def strict():
    """Warnings and floating-point flags become errors, and nothing may be printed."""
    spoken = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(spoken), redirect_stderr(spoken):
        warnings.simplefilter("error")
        with np.errstate(all="raise"):
            yield
    assert SECRET not in spoken.getvalue()


def stand_in(kind, missing):
    """The plain number that this kind counts as, `missing` for no number."""
    meant = KINDS[kind][1]
    return missing if meant is None else meant


def same(run, kind, missing):
    """The release with the hostile record is the one with its plain meaning, draw for draw, and a second
    hostile kind that means the same gives it too."""
    hostile, ordinary = run(KINDS[kind][0]), run(stand_in(kind, missing))
    assert hostile == ordinary
    assert SECRET not in repr(hostile)
    return hostile


@pytest.mark.parametrize("kind", KINDS)
def test_one_meaning(kind):
    record, meant = KINDS[kind]
    result = number(record)
    assert (result is None) == (meant is None)
    if meant is not None:
        assert as_float(record) == meant and (result == meant or result > 2**1024)
    assert type(plain(record)) in (float, int, bool, str, bytes, type(None))
    assert whole(record, Fraction(1, 4), Fraction(0), -8, 8) == whole(
        stand_in(kind, math.nan), Fraction(1, 4), Fraction(0), -8, 8
    )
    for others in ([0.25, 0.75], [1, 2, 3], ["1.5", "2"]):
        alone, beside = floats([record, 0.0, 1.0])[0], floats([*others, record])[-1]
        assert np.array_equal(alone, beside, equal_nan=True)  # whatever stands beside it
    assert len(members([record, 1.0])) == 2 and table([[1.0, 2.0], [3.0, 4.0], record], 2)[1] == [3.0, 4.0]


SEED = {"insecure_seed": 7}
GRID = {"low": 0.0, "high": 1.0, "step": 0.125, "epsilon": 1.0}
PLAIN = {
    "quantile": lambda r: private_quantile([0.1, r, 0.2, 0.9], 2, **GRID, **SEED),
    "interior point": lambda r: interior_point([0.1, r, 0.2, 0.9], **GRID, **SEED),
    "average": lambda r: bounded_average([0.1, r, 0.2], low=0.0, high=1.0, epsilon=1.0, **SEED),
    "noisy max": lambda r: report_noisy_max([1.0, r, 2.0], sensitivity=1, epsilon=1.0, **SEED),
    "permute and flip": lambda r: report_noisy_max(
        [1.0, r, 2.0], sensitivity=1, epsilon=1.0, noise="permute-and-flip", **SEED
    ),
    "sparse vector": lambda r: SparseVector(1, epsilon=1.0, **SEED).ask(r),
    "above threshold": lambda r: above_threshold([0, r, 5], 2, epsilon=1.0, **SEED),
    "multiplicative weights": lambda r: multiplicative_weights(
        [0, r, 2], np.eye(3, dtype=np.int64), rounds=2, epsilon=1.0, **SEED
    ).value.to_dict(),
    "margin": lambda r: release_with_margin(
        "answer", r, 1, epsilon=1.0, delta=1e-3, adjacency="one edge", **SEED
    ),
    "stability": lambda r: release_if_stable(
        "answer", r, epsilon=1.0, delta=1e-3, adjacency="one edge", **SEED
    ),
    "stability curve": lambda r: release_if_stable(
        "answer", r, epsilon=0.5, delta=1e-3, adjacency="one edge", decision="coin", **SEED
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", PLAIN)
def test_numbers_in_every_mechanism(mechanism, kind):
    same(PLAIN[mechanism], kind, math.nan)


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_are_counted(kind):
    result = private_histogram(["a"] * 60 + [KINDS[kind][0]], epsilon=1.0, delta=1e-6, **SEED)
    assert [key for key, _ in result.value] == ["a"]
    many = private_histogram([KINDS[kind][0]] * 80 + ["a"], epsilon=1.0, delta=1e-6, **SEED)
    assert len(many.value) <= 1 and SECRET not in str(many.value) or kind == "text that raises"


VECTORS = {
    "ball average": (
        lambda r: bounded_average(
            [[0.1, 0.2], r, [0.3, 0.1], [0.0, 0.5]], radius=1.0, dimension=2, rho=0.5, **SEED
        ).value.tolist(),
        [0.0, 0.0],
    ),
    "ball average, majority": (
        lambda r: bounded_average(
            [[0.1, 0.2], r, [0.3, 0.1], [0.0, 0.5]], radius=1.0, epsilon=1.0, **SEED
        ).value.tolist(),
        [0.0, 0.0],
    ),
    "coordinate median": (
        lambda r: pure_exponential(
            coordinate_max(median_weights(3), cube(0.25, 1.0, 2)),
            [[0.1, 0.2], r, [0.3, 0.1]],
            epsilon=1.0,
            **SEED,
        ).value.tolist(),
        [0.0, 0.0],
    ),
    "depth": (
        lambda r: pure_exponential(
            TukeyDepth(Lattice(Fraction(1), 2, ((-1, 1), (-1, 1))), 3),
            [[1.0, 1.0], r, [0.0, 1.0]],
            epsilon=1.0,
            **SEED,
        ).value.tolist(),
        [0.0, 0.0],
    ),
    "parities": (
        lambda r: parity_weights(
            [[1.0, -1.0], r, [-1.0, 1.0], [-1.0, -1.0]], 2, rounds=1, rho=0.5, **SEED
        ).value.to_dict(),
        [0.0, 0.0],
    ),
    "packing": (
        lambda r: PackingProblem("identity", 2, 0.3).records([[0.1, 0.2], r], Fraction(1, 8)).tolist(),
        [0.0, 0.0],
    ),
    "scaler": (
        lambda r: PrivateScaler(insecure_seed=2).fit([[0.1, 0.2], r, [0.3, 0.1]]).center_.tolist(),
        [math.nan, math.nan],
    ),
    "table": (
        lambda r: np.nan_to_num(read_table([[0.1, 0.2], r, [0.3, 0.1]])[0], nan=7.0).tolist(),
        [math.nan, math.nan],
    ),
    "records": (lambda r: as_records([[0.1, 0.2], r, [0.3, 0.1], [1.0, 1.0]]).tolist(), [0.0, 0.0]),
    "friendly core": (
        lambda r: release_by_friends(
            [[[0.0, 0.1]], r, *[[[0.0, 0.1]], [[0.1, 0.1]], [[0.0, 0.0]]] * 6], 1, 2, radius=1.0,
            epsilon_test=40.0, delta_test=0.1, epsilon=2.0, delta=0.01, grid=2.0**-8, **SEED,
        ).to_dict(),
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", VECTORS)
def test_records_of_two_entries(mechanism, kind):
    run, missing = VECTORS[mechanism]
    record = KINDS[kind][0]
    if kind == "list" and mechanism != "friendly core":
        return  # a record of two numbers, as announced
    assert run(record) == run(missing)
    if mechanism != "friendly core":
        for inside in ([record, 0.5], (0.5, record), [record], [0.1, 0.2, 0.3]):
            assert SECRET not in repr(run(inside))


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_scores_and_blocks(kind):
    record = KINDS[kind][0]
    box = {"sensitivity": 1.0, "low": -1.0, "high": 1.0, "epsilon": 1.0, "delta": 1e-3}
    box["adjacency"] = "one edge"
    assert np.array_equal(
        release_vector([0.5, record, 0.1], **box, **SEED).value.counts,
        release_vector([0.5, stand_in(kind, math.nan), 0.1], **box, **SEED).value.counts,
    )
    matrix = np.full((2, 2), 0.5, dtype=object)
    matrix[0, 1] = record
    release_symmetric(
        matrix, sensitivity_frobenius=1.0, eta_max=0.1, certified_eta=0.0, epsilon=1.0, delta=1e-3,
        adjacency="one edge", **SEED,
    )  # fmt: skip
    score = l_statistic(median_weights(3), cube(0.125, 1.0, 1))
    first, second = (
        pure_exponential(score, [0.1, value, 0.2], epsilon=1.0, **SEED).value
        for value in (record, stand_in(kind, 0.0))
    )
    assert first == second
    free = l_statistic(median_weights(3), Lattice(Fraction(1, 4), 1, None), slack=1, clip=False)
    truncated_exponential(free, [0.1, record, 0.2], epsilon=2.0, delta=0.1, **SEED)
    release_by_vote(lambda block: block[0], [0.5, record, 0.5], blocks=3, epsilon=1.0, delta=0.1, **SEED)
    program = ScoreProgram(
        build=lambda data, candidate: None, records=3, lattice=cube(1.0, 1.0, 1), largest=3.0, low=-1.0,
        high=1.0, proof="made up",
    )  # fmt: skip
    result = program.quantise([0.0, record, 1.0])
    assert result[1] == min(max(stand_in(kind, -1.0), -1.0), 1.0) and result[0] == 0.0 and result[2] == 1.0


ROWS = [[0.1 * i, 0.05 * i] for i in range(8)]


@pytest.mark.parametrize("kind", KINDS)
def test_estimators(kind):
    record = KINDS[kind][0]
    for rows in ([*ROWS, record], [*ROWS, [record, 0.5]], [*ROWS, [1.0]]):
        mixture = PrivateGaussianMixture(2, insecure_seed=3).fit(rows)
        assert not mixture.released_ and mixture.plan_.n == 9
    table_of = [[0.1 * (i % 7), 1.0] for i in range(3000)]
    options = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "bounds": (-5.0, 5.0),
        "contamination": 0.05,
        "insecure_seed": 1,
    }
    if kind in ("None", "text", "liar", "float that raises", "huge integer", "denormal", "tuple that raises"):
        for changed in (record, [record, 0.0]):
            assert np.isfinite(PrivateMean(**options).fit([*table_of[1:], changed]).mean_).all()
    for bound, weight in ((2.0, record), (1.0, raising(float, 0.5))):
        edges = EdgeList(4, [[0, 1], [1, 2]], weights=[1.0, weight])
        graph = nx.Graph()
        graph.add_nodes_from(range(4))
        graph.add_edge(0, 1, weight=1.0)
        graph.add_edge(1, 2, weight=weight)
        released = [
            MajorityVoteRecovery(1.0, [1, 1, -1, -1], weight_bound=bound, insecure_seed=5).fit(data).labels_
            for data in (edges, graph)
        ]
        assert np.array_equal(*released)
    CertificateRecovery(1.0, 1e-3, weight_bound=1.0, insecure_seed=2).fit(edges)


def test_the_published_lift_reads_records_one_by_one():
    lift = LocalisedLiftScore(2, 2, 4.0)
    for record in ("x", nested(), [SECRET, 0.0], [1j, None], [10**400, 0.0], [0.0]):
        assert lift.bracket([[0.1, 0.2], record], [0.0, 0.0], 0.5)


def test_lists_that_are_deep_are_opened_so_far():
    """Where most members are such lists, too: of an answer whose shape nobody stated."""
    for deep in (nested(), ITSELF):
        assert floats([deep, deep]).shape == (2, *[1] * 7) and np.isnan(floats([deep, deep])).all()
        assert floats([deep, [0.5], [0.25]]).shape == (3, 1) and np.isnan(floats([deep, 1.0, 2.0])[0])


def test_violation_2_a_text_among_numbers_changes_one_record_only():
    """Replacing one record 0.0 by "x" once moved all of them: the release went from near 0 to near 5."""
    n, rng = 101, np.random.default_rng(0)
    data = np.ma.MaskedArray(np.full(n, 5.0), mask=rng.random(n) < 0.95)
    plain_numbers = [0.0 if value is None else value for value in members(data)]
    score = l_statistic(median_weights(n), cube(0.25, 8.0, 1))
    for records in (members(data), ["x", *members(data)[1:]], plain_numbers):
        drawn = [
            pure_exponential(score, records, epsilon=0.5, insecure_seed=seed).value[0] for seed in range(20)
        ]
        assert abs(np.median(drawn)) < 1.0


def test_near_the_end_of_float64():
    for high in (1e308, 1.7976931348623157e308):
        release = bounded_average([high, -high, high], low=-high, high=high, epsilon=1e-3, **SEED)
        assert math.isfinite(release.value)
