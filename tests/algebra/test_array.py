"""Arrays of polynomials: numpy's broadcasting, one merge for sums and products, types that never degrade."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from sosdp.algebra import Equality, Inequality, Polynomial, PolynomialArray, polynomial, variables
from tests.refusals import each, refusals, refuse, spread

x, y, z = variables("x y z")
xs = variables("x", 4)
rng = np.random.default_rng(3)


def chain(items):
    total = polynomial(0)
    for item in items:
        total = total + item
    return total


def same(left, right) -> bool:
    return np.asarray(left).shape == np.asarray(right).shape and bool(np.all(left == right))


def test_numbers_times_polynomial_on_either_side():
    q = np.arange(6.0).reshape(2, 3)
    for result in (q * x, x * q):
        assert type(result) is PolynomialArray and result.shape == (2, 3)
        assert result[1, 2] == 5.0 * x and not result[1, 2].is_exact
    for operation in (
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: b - a,
        lambda a, b: b + a,
        lambda a, b: a / (b + 1),
    ):
        result = operation(x, np.array([[1, 2]]))
        assert type(result) is PolynomialArray and result.shape == (1, 2)
        assert result[0, 1] == operation(x, 2) and result[0, 1].is_exact
    assert type(np.float64(2) * x) is Polynomial and type(x * np.int64(2)) is Polynomial
    assert np.array(3) * x == 3 * x and isinstance(x * np.array(3), Polynomial)


def test_broadcasting_is_numpys():
    column = variables("a", (3, 1))
    row = variables("b", 2)
    grid = column * row + 1
    assert type(grid) is PolynomialArray and grid.shape == (3, 2)
    assert grid[2, 1] == column[2, 0] * row[1] + 1
    assert same(grid - column * row, np.ones((3, 2), dtype=int))
    assert same((column**2 - 1) / 2, [[(v**2 - 1) / 2] for v in column[:, 0]])
    assert same(2 * row, row + row) and same(-row, 0 - row) and same(row * x, x * row)
    refuse((lambda: column.reshape(3) + row,))


def test_an_index_beyond_the_end_is_told_what_there_is():
    with pytest.raises(IndexError, match="2 x 3 entries, counted from 0"):
        variables("x", (2, 3))[2, 0]


def test_indexing_slicing_and_assignment():
    assert isinstance(xs[1], Polynomial) and type(xs[1:3]) is PolynomialArray and xs[1:3].shape == (2,)
    assert type(xs[[0, 2]]) is PolynomialArray and type(xs.reshape(2, 2).T) is PolynomialArray
    w = xs.copy()
    w[0] = 3
    w[1:3] = [x, "y**2"]
    assert w[0] == 3 and w[1] == x and w[2] == y**2 and xs[0] == variables("x0")
    with pytest.raises(TypeError):
        w[0] = object()
    w += 1
    assert type(w) is PolynomialArray and w[0] == 4
    for mixed in (
        np.vstack([xs, np.ones(4)]),
        np.diag(xs),
        np.where([1, 0, 1, 0], xs, 0.5),
        np.tril(np.outer(xs, xs)),
    ):
        assert type(mixed) is PolynomialArray
    assert np.vdot(xs, xs) == xs @ xs and np.einsum("i,i->", xs, xs) == xs @ xs
    assert type(np.concatenate([xs, w])) is PolynomialArray and type(np.stack([xs, w])) is PolynomialArray


@pytest.mark.parametrize(
    "matrix",
    [
        rng.normal(size=(3, 4)),
        rng.integers(-5, 5, (3, 4)),
        np.array([[Fraction(1, 3), 2, 0, 1]] * 3, dtype=object),
        np.full((3, 4), 2**60),
        np.array([[10**30, 1, 0, 2]] * 3, dtype=object),
        np.zeros((3, 4), dtype=int),
        rng.integers(0, 2, (3, 4)).astype(bool),
        rng.integers(0, 9, (3, 4)).astype(np.uint8),
        rng.normal(size=(3, 4)).astype(np.float32),
    ],
    ids=["float", "int", "fraction", "near overflow", "huge", "zero", "bool", "uint8", "float32"],
)
def test_matrix_products_equal_their_definition(matrix):
    vector = PolynomialArray([x + 2 * y, x * y - 1, 3, z**2 / 3])
    if matrix.dtype.kind == "f":
        vector = vector.as_float()
    items = matrix.tolist()
    expected = [chain(c * p for c, p in zip(row, vector)) for row in items]
    for result in (matrix @ vector, vector @ matrix.T, np.dot(matrix, vector), np.matmul(matrix, vector)):
        assert type(result) is PolynomialArray and result.shape == (3,)
        for best, wanted in zip(result, expected):
            assert best.is_exact == wanted.is_exact or wanted == 0
            assert max(map(abs, (best - wanted).coefs.tolist()), default=0) < 1e-12
    block = np.stack([vector, vector * x], axis=1)
    result = matrix @ block
    assert type(result) is PolynomialArray and result.shape == (3, 2)
    difference = result[:, 1] - (matrix @ vector) * x
    assert all(max(map(abs, p.coefs.tolist()), default=0) < 1e-12 for p in difference)


def test_quadratic_forms_and_products_of_polynomial_matrices():
    q = rng.integers(-3, 4, (4, 4))
    form = xs @ q @ xs
    assert isinstance(form, Polynomial) and form.is_exact
    assert form == chain(int(q[i, j]) * xs[i] * xs[j] for i in range(4) for j in range(4))
    a, b = variables("a", (2, 3)), variables("b", (3, 4))
    product = a @ b
    assert type(product) is PolynomialArray and product.shape == (2, 4)
    assert product[1, 2] == chain(a[1, k] * b[k, 2] for k in range(3))
    assert same(a.T @ a, (a.T @ a).T)
    assert isinstance(xs @ xs, Polynomial) and xs @ xs == chain(v**2 for v in xs) == xs.dot(xs)
    stacked = np.ones((5, 2, 3), dtype=int) @ np.stack([b] * 5)
    assert stacked.shape == (5, 2, 4) and stacked[3, 0, 1] == b[:, 1].sum()
    refuse(*spread(np.matmul, ((xs, b), (q[:3], b), (np.float64(2), xs)), "matmul"))
    empty = np.zeros((2, 0)) @ variables("e", 0)
    assert empty.tolist() == [polynomial(0)] * 2


def test_sparse_matrices():
    dense = np.array([[1.5, 0, 0, 2], [0, 0, 0, 0], [0, -1, 3, 0]])
    for matrix in (sp.csr_matrix(dense), sp.csc_array(dense)):
        result = xs @ matrix.T
        assert type(result) is PolynomialArray and same(result, dense @ xs)


def test_sums_and_means_are_exact_and_by_axis():
    grid = PolynomialArray([[x, y, 1], [x, -y, 2]])
    assert grid.sum() == 2 * x + 3 and isinstance(grid.sum(), Polynomial)
    assert same(grid.sum(axis=0), [2 * x, 0 * x, 3]) and grid.sum(axis=-1, keepdims=True).shape == (2, 1)
    assert np.sum(grid) == grid.sum() and same(np.sum(grid, axis=0), grid.sum(axis=0))
    assert grid.mean() == (2 * x + 3) / 6 and same(np.mean(grid, axis=0), grid.mean(axis=0))
    assert grid.mean(axis=1)[0] == (x + y + 1) / 3
    assert np.add.reduce(grid, axis=0)[2] == 3 and np.sum(grid, initial=x) == 3 * x + 3
    assert np.sum(grid, where=[[True, False, True], [False, True, False]]) == x + 1 - y
    out = PolynomialArray([0, 0])
    assert np.sum(grid, axis=1, out=out) is out and out[1] == x - y + 2
    assert variables("e", 0).sum() == 0 and grid.prod() == x * y * 1 * x * -y * 2
    refuse((lambda: grid.sum(axis=2), None, np.exceptions.AxisError))
    n = 3000
    assert (variables("s", n) * 1).sum().coefs.size == n


def test_comparisons_give_plain_arrays_of_constraints():
    for result, kind in ((xs <= 1, Inequality), (xs >= xs[::-1], Inequality), (1 >= xs, Inequality)):
        assert type(result) is np.ndarray and result.dtype == object and result.shape == (4,)
        assert all(isinstance(c, kind) for c in result)
    assert (xs <= np.arange(4))[3].polynomial == 3 - xs[3]
    assert (np.arange(4) <= xs)[3].polynomial == xs[3] - 3
    assert (x <= np.arange(4))[3].polynomial == 3 - x and (np.arange(4) >= x)[3].polynomial == 3 - x
    equal = xs**2 == 1
    assert all(isinstance(c, Equality) for c in equal) and equal[0].polynomial == xs[0] ** 2 - 1
    assert (xs != xs[0]).tolist() == [False, True, True, True] and not np.any(xs != xs.copy())
    assert np.all(xs == xs.copy()) and not np.any(xs == xs + 1)


def test_mapping_over_elements():
    grid = PolynomialArray([x**2 * y, x + 0.5])
    assert same(grid.diff(x), [2 * x * y, 1 + 0 * x]) and grid.degree == 3 and grid.variables == (x, y)
    assert grid.jacobian([x, y]).shape == (2, 2) and grid.jacobian()[0, 1] == x**2
    assert same(grid.subs({"x": 2}), [4 * y, 2.5]) and grid.as_exact()[1] == x + Fraction(1, 2)
    assert not grid.is_exact and grid.as_exact().is_exact and not grid.as_float()[0].is_exact
    values = grid.evaluate({"x": np.arange(3), "y": 2.0})
    assert values.shape == (3, 2) and np.allclose(values[2], [8, 2.5])
    assert grid(np.ones((5, 7, 2))).shape == (5, 7, 2)
    assert xs.evaluate({v.name: k for k, v in enumerate(xs)}).tolist() == [0, 1, 2, 3]


def test_construction_reads_numbers_and_strings():
    array = PolynomialArray([[1, "x**2/3"], [x, 0.5]])
    assert array[0, 1] == x**2 / 3 and array[1, 1] == 0.5
    assert PolynomialArray(x).shape == () and PolynomialArray(np.eye(2)).shape == (2, 2)


def test_pickling_and_copying():
    grid = PolynomialArray([[x, y], [x / 3, 2.5 * z]])
    again = pickle.loads(pickle.dumps(grid))
    assert type(again) is PolynomialArray and same(again, grid)
    copied = grid.copy()
    copied[0, 0] = z
    assert grid[0, 0] == x


test_refusals = refusals(
    (lambda: np.sqrt(x), "a root of p, r with r", TypeError),
    (lambda: np.array([x, y]) >= 0, "PolynomialArray.values. >= 0", TypeError),
    *each(
        lambda refused: refused(),
        (
            lambda: np.array([1.0]) / x,
            lambda: np.array(["a"]) * x,
        ),
        None,
        TypeError,
    ),
    (lambda: np.full((2, 4), np.nan) @ xs, "NaN"),
    (lambda: xs @ sp.csr_matrix(np.eye(4) * 1j), "complex", TypeError),
    (variables("e", 0).mean, "mean"),
    (lambda: np.all(xs <= 1), "truth value", TypeError),
    (lambda: xs < 1, "strict", TypeError),
    (lambda: max(x, y), "a variable t with t >= p and t >= q", TypeError),
    (lambda: x ^ 2, r"written x\*\*2", TypeError),
    (lambda: abs(x), "t >= -p", TypeError),
    (lambda: PolynomialArray([None]), None, TypeError),
)
