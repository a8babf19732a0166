"""Problems with known answers: name -> (what solves it, the level's value, how near it is wanted).

Values: published tables (Pal and Vertesi 2009 for I3322 and I4422, Doherty et al. 2008 for magic square,
Acin et al. 2016 for guessing), closed forms, or exact diagonalisation; of levels that are not exact,
ncpol2sdpa 1.14.
"""

import itertools
import math
from fractions import Fraction

import sosdp as sd


def chsh(beta=0):
    A, B = sd.observables("A", 2), sd.observables("B", 2)
    return A[0] * beta + A[0] * (B[0] + B[1]) + A[1] * (B[0] - B[1])


def collins_gisin(matrix):
    """[constant, B marginals; A marginals, joint] of first outcomes."""
    A, B = sd.projectors("A", len(matrix) - 1), sd.projectors("B", len(matrix[0]) - 1)
    left, right = [1, *(r[0] for r in A)], [1, *(r[0] for r in B)]
    return sum(left[i] * right[j] * c for i, row in enumerate(matrix) for j, c in enumerate(row))


CH = [[0, -1, 0], [-1, 1, 1], [0, 1, -1]]
I3322 = [[0, -2, -1, 0], [-1, 1, 1, 1], [0, 1, 1, -1], [0, 1, -1, 0]]
I4422 = [[0, -3, -2, -1, 0], [-1, 1, 1, 1, 1], [0, 1, 1, 1, -1], [0, 1, 1, -1, 0], [0, 1, -1, 0, 0]]


def cglmp(d):
    A, B = sd.projectors("A", 2, d), sd.projectors("B", 2, d)

    def p(x, y, k):
        return sum(A[x][(b + k) % d] * B[y][b] for b in range(d))

    def q(y, x, k):
        return sum(A[x][b] * B[y][(b + k) % d] for b in range(d))

    total = 0
    for k in range(d // 2):
        w = 1 - Fraction(2 * k, d - 1)
        total = total + (p(0, 0, k) + q(0, 1, k + 1) + p(1, 1, k) + q(1, 0, k)) * w
        total = total - (p(0, 0, -k - 1) + q(0, 1, -k) + p(1, 1, -k - 1) + q(1, 0, -k - 1)) * w
    return total


def magic_square():
    even = [t for t in itertools.product((0, 1), repeat=3) if sum(t) % 2 == 0]
    odd = [t for t in itertools.product((0, 1), repeat=3) if sum(t) % 2 == 1]
    A, B = sd.projectors("A", 3, 4), sd.projectors("B", 3, 4)
    total = 0
    for r, c in itertools.product(range(3), repeat=2):
        for (i, s), (j, t) in itertools.product(enumerate(even), enumerate(odd)):
            if s[c] == t[r]:
                total = total + A[r][i] * B[c][j]
    return total / 9


def three(kind):
    A, B, C = (sd.observables(p, 2) for p in "ABC")

    def e(x, y, z):
        return A[x] * B[y] * C[z]

    if kind == "mermin":
        return e(0, 0, 1) + e(0, 1, 0) + e(1, 0, 0) - e(1, 1, 1)
    return (
        -e(0, 0, 0) + e(0, 0, 1) + e(0, 1, 0) + e(1, 0, 0) + e(0, 1, 1) + e(1, 0, 1) + e(1, 1, 0) - e(1, 1, 1)
    )


def elegant():
    A, B = sd.observables("A", 3), sd.observables("B", 4)
    signs = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]
    return sum(A[i] * B[j] * signs[j][i] for i in range(3) for j in range(4))


def chained(n):
    """The chained inequality: 2 n cos(pi / 2n)."""
    A, B = sd.observables("A", n), sd.observables("B", n)
    return sum(A[i] * B[i] + (A[i + 1] if i + 1 < n else -A[0]) * B[i] for i in range(n))


def parity(n):
    """Re prod (A_k[0] + i A_k[1]): 2**(n - 1)."""
    p = math.prod(a[0] + 1j * a[1] for a in (sd.observables(name, 2) for name in "ABCDEF"[:n]))
    return (p + p.H) / 2


def cycle_of_tests(n, *more, level=1):
    """Projectors of which neighbours exclude each other (contextuality): the Lovasz number of the cycle."""
    p = [row[0] for row in sd.projectors("P", n)]
    orthogonal = [sd.relation(a * b, 0) for i, j in cycle(n) for a, b in ((p[i], p[j]), (p[j], p[i]))]
    return sd.maximize(sum(p), [*orthogonal, *(sd.E(sum(p)) == v for v in more)], level=level)


def anticommuting(n):
    """n anticommuting involutions: their sum has norm sqrt(n)."""
    a = sd.observables("A", n)
    laws = [sd.relation(a[j] * a[i], -a[i] * a[j]) for j in range(n) for i in range(j)]
    return sd.maximize(sum(a), laws, level=1)


def harper(phase, level):
    """U + V + adjoints for V U = phase U V."""
    u, v = sd.unitaries("U", 2)
    turned = sd.relation(v * u, phase * u * v)
    return sd.maximize(u + u.H + v + v.H, [turned], level=level, complete=True)


def spins(n, hamiltonian):
    """A few spins at the level of their number, where nothing is lost."""
    return sd.minimize(hamiltonian(sd.paulis(n)), level=n)


def quadratic(n, hopping, pairing, potential, edges):
    """Fermions that only hop and pair: level 1 is exact."""
    c = sd.fermions(n)
    h = sum(hopping * c[i].H * c[j] + pairing * c[i] * c[j] for i, j in edges)
    return sd.minimize(h + h.H + sum(potential * a.H * a for a in c), level=1)


def modes(hamiltonian, count=1, level=1):
    """Bosons, unbounded, where squares have an inside below the bound."""
    return sd.minimize(hamiltonian(*sd.bosons(count)), level=level)


def atom(g):
    """Jaynes and Cummings in resonance, weakly coupled: the vacuum, -1/2."""
    b, (s,) = sd.bosons(1)[0], sd.paulis(1)
    low = (s.x - 1j * s.y) / 2
    return sd.minimize(b.H * b + s.z / 2 + g * (b.H * low + low.H * b), level=1)


def two(objective, constraints, level=1, sense="minimize", **options):
    """A polynomial in two Hermitian letters of one party."""
    x, y = sd.operators("x y", party="P")
    return getattr(sd, sense)(objective(x, y), constraints(x, y), level=level, **options)


def bell(expression, level, *values):
    """The largest value of a Bell expression; or whether it takes a value."""
    return sd.maximize(expression, [sd.E(expression) == v for v in values], level=level)


def triangle():
    """The trace of three involutions in pairs: -3/2."""
    x, y, z = sd.observables("x", 3)
    return sd.minimize((x * y + y * z + z * x + y * x + z * y + x * z) / 2, level=1, trace=True)


def commutator():
    x, y = sd.observables("x", 2)
    return sd.minimize((x * y - y * x) ** 2, level=2, trace=True)


def discrimination(overlap, level=2):
    """Two pure states: (1 + sqrt(1 - s**2)) / 2."""
    u = sd.unitaries("U", 1)[0]
    m = sd.projectors("M", 1, 2, party="U")[0]
    g = (m[0] + u.adjoint * m[1] * u) / 2
    return sd.maximize(g, [sd.E(u) == overlap], level=level)


def guessing(value, level=2):
    A, B, E = sd.projectors("A", 2), sd.projectors("B", 2), sd.projectors("E", 1)
    x, y = [2 * r[0] - 1 for r in A], [2 * r[0] - 1 for r in B]
    s = x[0] * (y[0] + y[1]) + x[1] * (y[0] - y[1])
    return sd.maximize(A[0][0] * E[0][0] + A[0][1] * E[0][1], [sd.E(s) == value], level=level)


def global_guessing(p, level=2):
    A, B, E = sd.projectors("A", 2), sd.projectors("B", 2), sd.projectors("E", 1, 4)
    g = sum(A[0][i] * B[0][j] * E[0][2 * i + j] for i in range(2) for j in range(2))
    fixed = [sd.E(t) == 0.5 for t in (A[0][0], A[1][0], B[0][0], B[1][0])]
    for x, y in itertools.product(range(2), repeat=2):
        sign = -1 if x == y == 1 else 1
        fixed.append(sd.E(A[x][0] * B[y][0]) == 0.25 * (1 + sign * p / math.sqrt(2)))
    return sd.maximize(g, fixed, level=level)


def hardy(level):
    """The largest probability of Hardy's paradox, with three that are zero: (5 sqrt(5) - 11) / 2."""
    A, B = sd.projectors("A", 2), sd.projectors("B", 2)
    zero = [sd.E(A[0][1] * B[1][1]) == 0, sd.E(A[1][1] * B[0][1]) == 0, sd.E(A[1][0] * B[1][0]) == 0]
    return sd.maximize(A[0][1] * B[0][1], zero, level=level)


def ring(n, reach=1, symmetric=True, window=0):
    """Heisenberg ring, H = sum S_i S_{i+1}, words on at most two sites at distance <= reach."""
    s = sd.paulis(n)
    h = sum(s[i][k] * s[(i + 1) % n][k] for i in range(n) for k in range(3)) / 4
    basis = [p for site in s for p in site]
    for i, d in itertools.product(range(n), range(1, reach + 1)):
        basis += [p * q for p in s[i] for q in s[(i + d) % n]]
    if window:
        basis = [1]
        for i in range(window):
            basis = basis + [w * p for w in basis for p in s[i]]
    shift, mirror = {s[i]: s[(i + 1) % n] for i in range(n)}, {s[i]: s[-i % n] for i in range(n)}
    return sd.minimize(h, basis=basis, symmetry=[shift, mirror] if symmetric else None, sparsity="term")


def ising(n, g):
    s = sd.paulis(n)
    h = sum(-s[i].z * s[(i + 1) % n].z - g * s[i].x for i in range(n))
    basis = [p for site in s for p in site] + [p * q for i in range(n) for p in s[i] for q in s[(i + 1) % n]]
    return sd.minimize(h, basis=basis, symmetry=[{s[i]: s[(i + 1) % n] for i in range(n)}], sparsity="term")


def max_cut(n, edges, level=2):
    s = sd.paulis(n)
    h = sum((1 - sum(s[i][k] * s[j][k] for k in range(3))) / 2 for i, j in edges)
    return sd.maximize(h, level=level, sparsity="term")


def hubbard(sites, u, level=2):
    c = sd.fermions(2 * sites)
    h = 0
    for s in (0, sites):
        for i in range(sites - 1):
            h = h - (c[s + i].adjoint * c[s + i + 1] + c[s + i + 1].adjoint * c[s + i])
    for i in range(sites):
        up, down = c[i].adjoint * c[i], c[sites + i].adjoint * c[sites + i]
        h = h + u * up * down - (up + down) * (u / 2)
    return sd.minimize(h, level=level, sparsity="term")


def bmv(m, k):
    """Words of degree m in A = X**2, B = Y**2 of degree k in B, summed; basis: words of half the degrees."""
    x, y = sd.operators("X Y")
    total, basis = 0, []
    for w in set(itertools.permutations([x] * (m - k) + [y] * k)):
        word, half = 1, 1
        for p in w:
            word, half = word * p * p, half * p
        total, basis = total + word, [*basis, half]
    return sd.minimize(total, basis=basis, trace=True)


def motzkin(radius=None, level=3):
    x, y = sd.operators("X Y")
    f = x * y**4 * x + y * x**4 * y - 3 * x * y**2 * x + 1
    return sd.minimize(f, [] if radius is None else [radius - x**2 - y**2 >= 0], level=level, trace=True)


def pna(level):
    """min <xy + yx> with x**2 = x and y**2 <= y + 1/2: -3/4 (Pironio, Navascues and Acin 2010)."""
    x = sd.projectors("x", 1, party="P")[0][0]
    y = sd.operators("y", party="P")
    return sd.minimize(x * y + y * x, [-(y**2) + y + 0.5 >= 0], level=level)


def quartic(level=2):
    x, y = sd.operators("X Y")
    return sd.minimize(x**4 + y**4 + x * y + y * x, level=level)


def oscillator(level):
    """p**2 + x**4: 1.0603620905."""
    b = sd.bosons(1)[0]
    s, d = b + b.adjoint, b - b.adjoint
    return sd.minimize(-(d * d) / 2 + (s * s * s * s) / 4, level=level)


def cycle(n):
    return [(i, (i + 1) % n) for i in range(n)]


CASES = {
    "chsh 1": (lambda: sd.maximize(chsh(), level=1), 2 * math.sqrt(2), 1e-6),
    "chsh 1+AB": (lambda: sd.maximize(chsh(), level="1+AB"), 2 * math.sqrt(2), 1e-6),
    "tilted chsh 1+AB": (lambda: sd.maximize(chsh(1), level="1+AB"), math.sqrt(10), 1e-6),
    "I3322 1": (lambda: sd.maximize(collins_gisin(I3322), level=1), 0.375, 1e-6),
    "I3322 1+AB": (lambda: sd.maximize(collins_gisin(I3322), level="1+AB"), 0.2514709, 1e-6),
    "I3322 2": (lambda: sd.maximize(collins_gisin(I3322), level=2), 0.2509397, 1e-6),
    "I3322 3": (lambda: sd.maximize(collins_gisin(I3322), level=3), 0.25087556, 2e-6),
    "I4422 1+AB": (lambda: sd.maximize(collins_gisin(I4422), level="1+AB"), 0.29401797, 1e-6),
    "I4422 2": (lambda: sd.maximize(collins_gisin(I4422), level=2), 0.28826688, 1e-6),
    "CGLMP 3 1+AB": (lambda: sd.maximize(cglmp(3), level="1+AB"), 1 + math.sqrt(11 / 3), 1e-6),
    "CGLMP 4 1+AB": (lambda: sd.maximize(cglmp(4), level="1+AB"), 2.972698, 1e-5),
    "magic square 1+AB": (lambda: sd.maximize(magic_square(), level="1+AB"), 1.0, 1e-6),
    "mermin": (lambda: sd.maximize(three("mermin"), level="1+AB+AC+BC"), 4.0, 1e-6),
    "svetlichny": (lambda: sd.maximize(three("svetlichny"), level="1+AB+AC+BC"), 4 * math.sqrt(2), 1e-6),
    "elegant 1": (lambda: sd.maximize(elegant(), level=1), 4 * math.sqrt(3), 1e-6),
    "discrimination 0.6": (lambda: discrimination(0.6), 0.9, 1e-6),
    "guessing 2.5": (lambda: guessing(2.5), 0.5 + 0.5 * math.sqrt(2 - 2.5**2 / 4), 1e-6),
    "global guessing 0.9": (lambda: global_guessing(0.9), 0.7461757, 1e-6),
    "hardy 2": (lambda: hardy(2), (5 * math.sqrt(5) - 11) / 2, 1e-3),
    "pna 1": (lambda: pna(1), -0.75, 1e-6),
    "pna 2": (lambda: pna(2), -0.75, 1e-6),
    "quartic": (lambda: quartic(), -0.5, 1e-6),
    "BMV 4,2": (lambda: bmv(4, 2), 0.0, 1e-6),
    "BMV 7,3": (lambda: bmv(7, 3), 0.0, 1e-6),
    "motzkin ball": (lambda: motzkin(2), 0.0, 1e-5),
    "hubbard 2": (lambda: hubbard(2, 4.0), -4.828427, 1e-5),
    "hubbard 3": (lambda: hubbard(3, 4.0), -7.299335, 1e-5),
    "max-cut K4": (lambda: max_cut(4, list(itertools.combinations(range(4), 2))), 6.0, 1e-5),
    "max-cut ring 5": (lambda: max_cut(5, cycle(5)), 6.39706437, 1e-5),
    "ising 8": (lambda: ising(8, 1), -10.27716, 1e-5),
    "heisenberg 6": (lambda: ring(6, 3), -2.802776, 1e-5),
    "heisenberg 12": (lambda: ring(12), -5.437785, 1e-5),
    "heisenberg 16": (lambda: ring(16), -7.2151467, 1e-5),
    "heisenberg 20": (lambda: ring(20), -8.998783, 1e-5),
    "heisenberg 20, windows": (lambda: ring(20, window=3), -10.0, 1e-5),
    "chained 3": (lambda: bell(chained(3), 1), 3 * math.sqrt(3), 1e-6),
    "chained 4": (lambda: bell(chained(4), 1), 8 * math.cos(math.pi / 8), 1e-6),
    "chained 6, 1+AB": (lambda: bell(chained(6), "1+AB"), 12 * math.cos(math.pi / 12), 1e-5),
    "tilted chsh 0.5": (lambda: bell(chsh(0.5), "1+AB"), math.sqrt(8.5), 1e-6),
    "clauser horne 1": (lambda: bell(collins_gisin(CH), 1), (math.sqrt(2) - 1) / 2, 1e-6),
    "elegant 1+AB": (lambda: bell(elegant(), "1+AB"), 4 * math.sqrt(3), 1e-6),
    "parity 3": (lambda: bell(parity(3), "1+AB+AC+BC"), 4.0, 1e-6),
    "parity 4": (lambda: bell(parity(4), "1+AB+AC+AD+BC+BD+CD"), 8.0, 1e-5),
    "pentagon": (lambda: cycle_of_tests(5), math.sqrt(5), 1e-6),
    "heptagon": (lambda: cycle_of_tests(7), 7 / (1 + 1 / math.cos(math.pi / 7)), 1e-6),
    "discrimination 0.3": (lambda: discrimination(0.3), (1 + math.sqrt(0.91)) / 2, 1e-6),
    "guessing 2.2": (lambda: guessing(2.2), 0.5 + 0.5 * math.sqrt(2 - 2.2**2 / 4), 1e-6),
    "anticommuting 3": (lambda: anticommuting(3), math.sqrt(3), 1e-6),
    "anticommuting 5": (lambda: anticommuting(5), math.sqrt(5), 1e-6),
    "harper 1/2": (lambda: harper(-1, 2), 2 * math.sqrt(2), 1e-5),
    "harper 1/4": (lambda: harper(1j, 2), 2 * math.sqrt(2), 1e-3),
    "trace of a triangle": (triangle, -1.5, 1e-6),
    "trace of a commutator": (commutator, -4.0, 1e-6),
    "dimer": (lambda: spins(2, lambda s: sum(a * b for a, b in zip(*s)) / 4), -0.75, 1e-6),
    "spin in a field": (lambda: spins(1, lambda s: s[0].x + s[0].y + s[0].z), -math.sqrt(3), 1e-6),
    "ising 3": (lambda: spins(3, lambda s: -sum(s[i].z * s[j].z + s[i].x for i, j in cycle(3))), -4.0, 1e-6),
    "twisted 3": (
        lambda: spins(3, lambda s: sum(s[i].x * s[j].y - s[i].y * s[j].x + s[i].z / 3 for i, j in cycle(3))),
        -3.79743495,
        1e-6,
    ),
    "xxz 3": (
        lambda: spins(
            3,
            lambda s: sum(
                s[i].x * s[i + 1].x + s[i].y * s[i + 1].y + 0.7 * s[i].z * s[i + 1].z for i in (0, 1)
            ),
        ),
        -3.61376046,
        1e-6,
    ),
    "hopping 4": (lambda: quadratic(4, -1, 0, 0, cycle(4)[:3]), -math.sqrt(5), 1e-6),
    "hopping ring 5": (lambda: quadratic(5, -1, 0, 0, cycle(5)), -1 - math.sqrt(5), 1e-6),
    "pairing 3": (lambda: quadratic(3, -1, 0.5, 0.25, cycle(3)[:2]), -1.29193622, 1e-6),
    "hubbard 2, u = 8": (lambda: hubbard(2, 8.0), -4 - 2 * math.sqrt(5), 1e-5),
    "hubbard 2, u = 1": (lambda: hubbard(2, 1.0), -0.5 - math.sqrt(17) / 2, 1e-5),
    "displaced": (lambda: modes(lambda b: b.H * b + b + b.H), -1.0, 1e-5),
    "squeezed": (lambda: modes(lambda b: 2 * b.H * b + (b * b + b.H * b.H) / 2), math.sqrt(3) / 2 - 1, 1e-5),
    "two modes": (
        lambda: modes(lambda a, b: a.H * a + b.H * b + (a.H * b + b.H * a) / 2 + a + a.H, 2),
        -4 / 3,
        1e-5,
    ),
    "atom in a cavity": (lambda: atom(0.5), -0.5, 1e-5),
    "max-cut K3": (lambda: max_cut(3, cycle(3)), 3.0, 1e-5),
    "max-cut path 3": (lambda: max_cut(3, cycle(3)[:2]), 3.0, 1e-5),
    "max-cut star 5": (lambda: max_cut(5, [(0, i) for i in range(1, 5)]), 5.0, 1e-5),
    "max-cut ring 4": (lambda: max_cut(4, cycle(4)), 6.0, 1e-5),
    "contractions": (
        lambda: two(lambda x, y: x * y + y * x, lambda x, y: [1 - x * x >= 0, 1 - y * y >= 0]),
        -2.0,
        1e-6,
    ),
    "ball": (lambda: two(lambda x, y: x * y + y * x, lambda x, y: [1 - x * x - y * y >= 0]), -1.0, 1e-6),
    "moved ball": (
        lambda: two(lambda x, y: x + y, lambda x, y: [1 - (x - 30) ** 2 - (y + 7) ** 2 >= 0]),
        23 - math.sqrt(2),
        1e-5,
    ),
    "small ball": (
        lambda: two(lambda x, y: x * y + y * x, lambda x, y: [1e-8 - x * x - y * y >= 0]),
        -1e-8,
        1e-13,
    ),
    "commuting motzkin": (
        lambda: two(
            lambda x, y: x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1,
            lambda x, y: [2 - x * x - y * y >= 0, sd.relation(x * y, y * x)],
            3,
        ),
        0.0,
        1e-5,
    ),
    "involution in the mean": (
        lambda: (lambda o: sd.minimize(-1 - 2 * o, [sd.E(o) <= Fraction(9, 32)]))(*sd.observables("O", 1)),
        -25 / 16,
        1e-6,
    ),
    "projector on one side": (
        lambda: (lambda p: sd.minimize(-p[0], [p[1] <= 0]))(*sd.projectors("P", 1, 3)),
        -1.0,
        1e-6,
    ),
    "chsh = 2.83": (lambda: bell(chsh(), 1, 2.83), "infeasible", 0),
    "chained 3 = 5.2": (lambda: bell(chained(3), 1, 5.2), "infeasible", 0),
    "I3322 = 0.2516": (lambda: bell(collins_gisin(I3322), "1+AB", 0.2516), "infeasible", 0),
    "CGLMP 3 = 2.92": (lambda: bell(cglmp(3), "1+AB", 2.92), "infeasible", 0),
    "pentagon = 2.24": (lambda: cycle_of_tests(5, 2.24), "infeasible", 0),
    "mermin = 4.01": (lambda: bell(three("mermin"), "1+AB+AC+BC", 4.01), "infeasible", 0),
}
