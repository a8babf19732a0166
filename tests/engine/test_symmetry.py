"""Permutation symmetry: groups found, small blocks that lose nothing, answers mapped back and certified."""

import itertools

import networkx as nx
import numpy as np
import pytest

import sosdp as sd
from certificates import extract
from sosdp import interchange
from sosdp.conic.svec import svec_length, triangle
from sosdp.reduction.permutation import Data, find_symmetries, orbit_numbers, read_generators
from sosdp.relaxation.assemble.scaling import find_scaling, scale
from sosdp.relaxation.assemble.symmetry import _decompose
from sosdp.relaxation.certify.bound import certify
from tests.refusals import refuse


def ids_of(*polynomials):
    return np.unique(np.concatenate([np.asarray(p.variable_ids) for p in polynomials]))


def group_order(actions, ids):
    """Number of elements of the generated group, by closure."""
    place = {int(v): k for k, v in enumerate(ids)}
    generators = [tuple(place[int(a.image[v])] for v in ids) for a in actions]
    seen = {tuple(range(len(ids)))}
    frontier = list(seen)
    while frontier:
        g = frontier.pop()
        for h in generators:
            product = tuple(h[k] for k in g)
            if product not in seen:
                seen.add(product)
                frontier.append(product)
    return len(seen)


def quartic(n):
    x = sd.variables("syq", n)
    pairs = sum(x[i] * x[j] for i in range(n) for j in range(i))
    return x, sum(v**4 for v in x) + pairs - sum(x) - sum(v**3 for v in x) / 2


def test_generators_in_every_notation():
    x = sd.variables("syg", 4)
    ids = ids_of(*x)
    swap = np.arange(ids[-1] + 1)
    swap[ids[[0, 1]]] = ids[[1, 0]]
    for notation in ([{x[0]: x[1], x[1]: x[0]}], [[(x[0], x[1])]], [(x[0], x[1])], {x[0]: x[1], x[1]: x[0]}):
        (image,) = read_generators(notation, ids)
        assert np.array_equal(image, swap)
    w = sd.variables("syw", (3, 2))
    generators = read_generators(interchange(w) + interchange(w.T), ids_of(*w.reshape(-1)))
    assert len(generators) == 3  # a swap and a shift of the samples, a swap of the labels
    assert np.unique(orbit_numbers(generators)[ids_of(*w.reshape(-1))]).size == 1
    assert interchange([x[0]]) == []


@pytest.mark.parametrize(
    ("generator", "message"),
    [
        ({"syg0": "syg1"}, "must be a permutation"),
        ([("syg0", "syg1"), ("syg0", "syg2")], "two images"),
        ({"syg0": "nowhere", "nowhere": "syg0"}, "does not occur"),
        ({"2*syg0": "syg1"}, "is not a variable"),
        ({"syg0": "syg3", "syg3": "syg0"}, "it changes the objective"),
        ({"syg0": "syg2", "syg2": "syg0"}, "it changes the constraint"),
    ],
)
def test_what_is_not_a_symmetry_is_refused_with_its_reason(generator, message):
    x = sd.variables("syg", 4)
    f = x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2 * x[3] ** 2
    refuse((lambda: sd.minimize(f, sd.System(x[0] >= 1, x[1] >= 1), symmetries=[generator]), message))


def test_options_that_do_not_fit_are_named():
    x, f = quartic(4)
    refuse(
        (lambda: sd.minimize(f, symmetry="permutation"), "needs generators"),
        (lambda: sd.minimize(f, sparsity="chordal", symmetries=interchange(x)), "sparsity='dense'"),
    )
    chain = (
        sum(x[i] ** 2 * x[i + 1] ** 2 + x[i] ** 4 for i in range(3)) + x[3] ** 4 - x[0] * x[1] - x[2] * x[3]
    )
    flip = [{x[0]: x[3], x[3]: x[0], x[1]: x[2], x[2]: x[1]}]
    refuse((lambda: sd.minimize(chain, sparsity="correlative", symmetries=flip), "cliques"))
    assert sd.minimize(chain, symmetries=flip).sizes["orbit_moments"] > 0


def test_the_whole_group_is_found():
    rng = np.random.default_rng(8)
    x = sd.variables("syf", 5)
    ids = ids_of(*x)
    orders = set()
    for _ in range(15):
        graph = nx.gnm_random_graph(5, int(rng.integers(3, 8)), seed=int(rng.integers(1000)))
        f = sum(v**2 for v in x) + sum(x[i] * x[j] ** 2 + x[j] * x[i] ** 2 for i, j in graph.edges)
        brute = sum(
            all(graph.has_edge(p[i], p[j]) == graph.has_edge(i, j) for i in range(5) for j in range(i))
            for p in itertools.permutations(range(5))
        )
        assert group_order(find_symmetries(Data([f], sd.System()), ids), ids) == brute
        orders.add(brute)
    assert len(orders) > 2
    z = sd.variables("syp", 10)
    petersen = sum(z[i] * z[j] for i, j in nx.petersen_graph().edges)
    actions = find_symmetries(Data([petersen], sd.System(z**2 == 1)), ids_of(*z))
    assert group_order(actions, ids_of(*z)) == 120
    assert find_symmetries(Data([sum((k + 1) * v for k, v in enumerate(x))], sd.System()), ids) == []


def test_equalities_may_change_sign_and_constraints_change_places():
    x, y, u, v = sd.variables("x y u v")
    system = sd.System(
        (x - y).equals(u - v), x >= 0, y >= 0, sd.PSD([[1, u], [u, 1]]), sd.PSD([[1, v], [v, 1]])
    )
    data = Data([x**2 + y**2 + u**2 + v**2], system)
    # swapping x with y and u with v turns the equality into its negative
    assert group_order(find_symmetries(data, ids_of(x, y, u, v)), ids_of(x, y, u, v)) == 2
    f = -(x**2) - y**2 - u * v
    box = sd.System(system, x <= 2, y <= 2)
    plain = sd.minimize(f, box, 4, sparsity="dense")
    small = sd.minimize(f, box, 4, symmetry="auto")
    assert small.sizes["orbit_moments"] < plain.sizes["moments"]
    assert small.bound == pytest.approx(plain.bound, abs=1e-6)
    assert small.certified_bound == pytest.approx(small.bound, abs=1e-6)


# -- block diagonalisation loses nothing


def quaternion_regular():
    """Left multiplications by i and j on the eight quaternion units: irreducible over H, of dimension 4."""
    units = {"1": 0, "i": 1, "j": 2, "k": 3}
    table = {"ii": "-1", "ij": "k", "ik": "-j", "ji": "-k", "jj": "-1", "jk": "i"}
    out = []
    for left in "ij":
        image = np.empty(8, dtype=int)
        for name, number in units.items():
            product = left if name == "1" else table[left + name]
            target = units[product.lstrip("-")] + (4 if product.startswith("-") else 0)
            image[number], image[number + 4] = target, (target + 4) % 8
        out.append(image)
    return out


def cyclic(n, copies):
    return [np.concatenate([c * n + (np.arange(n) + 1) % n for c in range(copies)])]


def symmetric_on_pairs(n):
    pairs = list(itertools.combinations(range(n), 2))
    place = {p: k for k, p in enumerate(pairs)}
    out = []
    for g in ([1, 0, *range(2, n)], [*range(1, n), 0]):
        moved = [place[tuple(sorted((g[a], g[b])))] for a, b in pairs]
        out.append(np.concatenate([g, np.array(moved) + n, [n + len(pairs)]]))
    return out


def twice(images):
    return [np.concatenate([i, i + i.size]) for i in images]


@pytest.mark.parametrize(
    ("images", "sides"),
    [
        (symmetric_on_pairs(5), [3, 2, 1]),
        (cyclic(5, 1), [1, 1, 1]),
        (cyclic(5, 2), [2, 4, 4]),
        (quaternion_regular(), [1, 1, 1, 1, 1]),
        (twice(quaternion_regular()), [2, 2, 2, 2, 8]),
        ([np.array([1, 0, 3, 2, 4])], [3, 2]),
    ],
)
def test_compressed_blocks_have_the_extreme_eigenvalues(images, sides):
    side = images[0].size
    row, column = triangle(side)
    place = np.zeros((side, side), dtype=int)
    place[row, column] = place[column, row] = np.arange(row.size)
    pair = orbit_numbers([place[g[row], g[column]] for g in images])
    pieces = _decompose(0, side, pair)
    assert sorted(p.side for p in pieces) == sorted(sides)
    rng = np.random.default_rng(3)
    for _ in range(5):
        matrix = rng.normal(size=pair.max() + 1)[pair][place]
        assert np.allclose(matrix[np.ix_(images[0], images[0])], matrix)
        whole = np.linalg.eigvalsh(matrix)
        parts = np.concatenate([np.linalg.eigvalsh(p.basis.T @ matrix @ p.basis) for p in pieces])
        # the same eigenvalues, with smaller multiplicities
        assert np.abs(whole[:, None] - parts[None, :]).min(axis=1).max() < 1e-9
        assert np.abs(whole[:, None] - parts[None, :]).min(axis=0).max() < 1e-9


def programs():
    rng = np.random.default_rng(21)
    x, f = quartic(5)
    yield f, sd.System(), 4, {}
    yield f, sd.System(sum(v**2 for v in x) <= 3, sum(x).equals(1), *(v >= -1 for v in x)), 4, {}
    yield f, sd.System(*(v**2 <= 1 for v in x)), 4, {"products": "schmudgen"}
    c = sd.variables("syc", 6)
    turn = sum(c[i] ** 4 + c[i] * c[(i + 1) % 6] ** 2 - c[i] * c[(i + 2) % 6] for i in range(6))
    yield turn, sd.System(sum(v**2 for v in c) <= 4), 4, {}
    weights = rng.integers(1, 4, size=3)
    cycle = sum(int(weights[d - 1]) * c[i] * c[(i + d) % 6] for d in (1, 2, 3) for i in range(6))
    yield cycle, sd.System(c**2 == 1), 4, {}
    w = sd.variables("sys", (3, 2))
    same = sum(w[i, k] * w[j, k] for k in range(2) for i in range(3) for j in range(i))
    one_label = sd.System(w.reshape(-1) ** 2 == w.reshape(-1), [w[i].sum().equals(1) for i in range(3)])
    yield same, one_label, 4, {}
    matrices = [sd.PSD([[1, v], [v, 1 - v]]) for v in x]
    yield -sum(x) + 0.5 * sum(v**2 for v in x), sd.System(*matrices), 4, {}


@pytest.mark.few(3)
@pytest.mark.parametrize("number", range(7))
def test_the_bound_is_that_of_the_dense_relaxation(number):
    f, system, degree, options = list(programs())[number]
    plain = sd.minimize(f, system, degree, sparsity="dense", **options)
    small = sd.minimize(f, system, degree, symmetry="auto", **options)
    accuracy = 2e-6 * max(1.0, abs(plain.bound))
    assert small.status == "optimal"
    assert small.bound == pytest.approx(plain.bound, abs=accuracy)
    assert small.certified_bound == pytest.approx(small.bound, abs=10 * accuracy)
    assert small.sizes["orbit_moments"] < plain.sizes["moments"]
    assert sum(k * k for k in small.sizes["blocks"]) < sum(k * k for k in plain.sizes["blocks"])
    # what comes back is an invariant pseudo-expectation of the whole relaxation
    for block, rows in zip(small.identity.blocks, small.identity.slices(), strict=True):
        entries = np.zeros((block.side, block.side))
        i, j = triangle(block.side)
        entries[i, j] = (small.identity.gram[rows] @ small.moments) / np.where(i == j, 1.0, np.sqrt(2))
        entries[j, i] = entries[i, j]
        assert np.linalg.eigvalsh(entries)[0] >= -1e-6 * max(1.0, np.abs(entries).max())
    assert small(f) == pytest.approx(small.bound, abs=100 * accuracy)


def test_symmetric_quartic_of_ten_variables_is_tiny():
    x, f = quartic(10)
    small = sd.minimize(f, symmetries=interchange(x))
    assert small.sizes["blocks"] == [4, 3, 1] and small.sizes["pruned_side"] == 66
    assert small.sizes["orbit_moments"] == 12  # partitions of 0..4 into parts
    answer = sd.minimize(f, symmetry="auto")
    assert answer.sizes["blocks"] == [4, 3, 1]
    assert answer.bound == pytest.approx(small.bound, abs=1e-6)
    # the minimum over the diagonal bounds from above
    t = np.linspace(-2, 2, 4001)
    assert small.certified_bound <= f.evaluate({str(v): t for v in x}).min()


def test_term_sparsity_and_permutations_together():
    x = sd.variables("syt", 6)
    f = sum(v**4 - v**2 for v in x) + sum(x[i] ** 2 * x[(i + 1) % 6] ** 2 for i in range(6)) / 2
    plain = sd.minimize(f, sparsity="dense", symmetry="none")
    blocks = sd.minimize(f, sparsity="term", symmetry="sign")
    both = sd.minimize(f, sparsity="term", symmetry="auto")
    assert both.sizes["orbit_moments"] < blocks.sizes["moments"] < plain.sizes["moments"]
    assert len(both.sizes["blocks"]) < len(blocks.sizes["blocks"])
    assert both.bound == pytest.approx(plain.bound, abs=1e-6)
    assert both.bound == pytest.approx(blocks.bound, abs=1e-6)
    assert both.certified_bound == pytest.approx(both.bound, abs=1e-5)


def test_max_cut_of_the_petersen_graph_with_an_exact_certificate():
    s = sd.variables("sym", 10)
    cut = sum((1 - s[i] * s[j]) / 2 for i, j in nx.petersen_graph().edges)
    result = sd.maximize(cut, sd.System(s**2 == 1), 4, symmetry="auto")
    assert max(result.sizes["blocks"]) == 3 and result.sizes["dense_side"] == 56
    assert result.bound == pytest.approx(12, abs=1e-5)
    assert result.certified_bound >= 12
    proof = extract(result).exact(slack=1e-4)
    assert proof.verdict and 12 <= proof.claim.bound <= 12 + 1e-2


def test_pigeonhole_is_refuted_with_an_exact_certificate():
    p = sd.variables("syh", (4, 3))
    holes = [p[i, k] * p[j, k] == 0 for k in range(3) for i in range(4) for j in range(i)]
    flat = p.reshape(-1)
    system = sd.System(flat**2 == flat, [p[i].sum().equals(1) for i in range(4)], holes)
    result = sd.feasible(system, 4, symmetry="auto")
    assert result.status == "infeasible" and max(result.sizes["blocks"]) <= 4
    assert extract(result).exact().verdict


def test_sums_of_squares_and_constraints_in_expectation():
    x, f = quartic(4)
    assert sd.prove_sos(f + 4, symmetry="auto").status == "proved"
    assert sd.prove_sos(f - 4, symmetry="auto").status == "refuted"
    relax = sd.Relaxation(sd.System(sum(v**2 for v in x) <= 4), 4, symmetry="auto")
    plain = sd.Relaxation(sd.System(sum(v**2 for v in x) <= 4), 4)
    for r in (relax, plain):
        constraints = [r.E(v) >= 0.25 for v in x]
        answer = r.minimize(r.E(f) + (r.E(sum(x)) ** 2), constraints)
        if r is relax:
            small = answer
    assert small.sizes["orbit_moments"] < answer.sizes["moments"]
    assert small.bound == pytest.approx(answer.bound, abs=1e-5)
    assert small.certified_bound == pytest.approx(small.bound, abs=1e-4)
    # a constraint on one variable alone leaves the other three interchangeable
    one = relax.minimize(f, [relax.E(x[0]) >= 0.9])
    assert one.bound == pytest.approx(plain.minimize(f, [plain.E(x[0]) >= 0.9]).bound, abs=1e-5)
    assert np.allclose(one(x)[1:], one(x)[1], atol=1e-12) and one(x[0]) > one(x[1])


def test_any_multipliers_of_the_reduced_program_give_true_bounds():
    rng = np.random.default_rng(4)
    x, f = quartic(4)
    system = sd.System(sum(v**2 for v in x) <= 2, sum(x) >= -1)
    points = rng.normal(size=(20000, 4))
    points *= np.sqrt(2) * rng.random((20000, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    points = points[points.sum(axis=1) >= -1]
    values = f.evaluate({str(v): points[:, k] for k, v in enumerate(x)})
    relax = sd.Relaxation(system, 4, symmetry="auto")
    solved = relax.minimize(f)
    identity, _ = relax.assemble(f)
    scaling = find_scaling(identity, relax.bounds)
    scaled = scale(identity, scaling)
    reduced = scaled.symmetry.reduce(scaled)
    length = sum(svec_length(n) for n in reduced.sides)
    wrong = 0
    for size in (1e-8, 1e-3, 1.0):
        for _ in range(10):
            raw = _raw(rng.normal(size=length) * size, reduced, solved.bound + size)
            lifted = scaled.symmetry.lift(solved.program, raw)
            # the lifted multipliers produce the same polynomial, orbit by orbit
            fold = np.bincount(scaled.symmetry.column, weights=scaled.gram.T @ lifted.gram)
            assert np.allclose(fold, reduced.gram.T @ raw.gram, atol=1e-9 * size)
            result = certify(scaled, lifted.gram, lifted.free, raw.unknowns, scaling.bounds)
            assert raw.unknowns[0] - result.loss <= values.min()
            wrong += raw.unknowns[0] > values.min()
    assert wrong > 0


def _raw(gram, reduced, gamma):
    from sosdp.relaxation.assemble.identity import RawSolution

    moments = np.zeros(reduced.columns.shape[0])
    free, unknowns = np.zeros(reduced.free.shape[0]), np.array([gamma])
    return RawSolution("optimal", gram, free, unknowns, moments, gamma, "noise", 0, 0.0, "")
