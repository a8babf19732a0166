"""Models of letters in matrices: what words are compared with."""

import numpy as np

import sosdp as sd
from sosdp.algebra.operator import LETTERS

PAULI = {"x": np.array([[0, 1], [1, 0]]), "y": np.array([[0, -1j], [1j, 0]]), "z": np.diag([1, -1])}


def kron(factors):
    out = np.eye(1)
    for f in factors:
        out = np.kron(out, f)
    return out


def unitary(rng, n):
    return np.linalg.qr(rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n)))[0]


def measurement(rng, n, outputs):
    """Orthogonal projectors that sum to 1, of random ranks and basis."""
    u, cut = unitary(rng, n), rng.integers(0, outputs, size=n)
    return [u @ np.diag((cut == a).astype(float)) @ u.conj().T for a in range(outputs)]


def register(model, operators, matrices):
    """Note the matrix of each letter in a model {letter: matrix}."""
    for p, m in zip(operators, matrices, strict=True):
        (word, c), *rest = p.terms.items()
        if rest or len(word) != 1:
            continue  # the last outcome
        letter = LETTERS.letters[word[0]]
        value = m / complex(float(c[0]), float(c[1]))
        number, star = letter.star
        model[star] = value.conj().T / complex(float(number[0]), float(number[1]))
        model[word[0]] = value


def value(p, model):
    """The matrix of a polynomial in a model."""
    n = next(iter(model.values())).shape[0]
    total = np.zeros((n, n), dtype=complex)
    for word, c in p.terms.items():
        m = np.eye(n, dtype=complex)
        for i in word:
            m = m @ model[i]
        total += complex(float(c[0]), float(c[1])) * m
    return total


def jordan_wigner(modes):
    z, low = np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [0.0, 0.0]])
    return [kron([z if k < i else low if k == i else np.eye(2) for k in range(modes)]) for i in range(modes)]


def spins(n):
    """Sites, and the model of their letters."""
    sites, model = sd.paulis(n), {}
    for i, site in enumerate(sites):
        ms = [kron([PAULI[k] if j == i else np.eye(2) for j in range(n)]) for k in "xyz"]
        register(model, site, ms)
    return sites, model


def ground(h, model):
    return float(np.linalg.eigvalsh(value(h, model))[0])


def families(rng):
    """Families of every kind, each with letters and a model: name -> (operators, model)."""
    result = {}
    A, B = sd.projectors("A", 2, 3), sd.projectors("B", 1, [2])
    model = {}
    for x in range(2):
        register(model, A[x], [np.kron(m, np.eye(2)) for m in measurement(rng, 4, 3)])
    register(model, B[0], [np.kron(np.eye(4), m) for m in measurement(rng, 2, 2)])
    result["projectors"] = [p for row in (*A, *B) for p in row[:-1]], model
    O, model = sd.observables("O", 3), {}
    register(model, O, [2 * measurement(rng, 4, 2)[0] - np.eye(4) for _ in O])
    result["observables"] = O, model
    U, model = sd.unitaries("U", 2), {}
    register(model, U, [unitary(rng, 3) for _ in U])
    result["unitaries"] = [*U, *(u.adjoint for u in U)], model
    sites, model = spins(2)
    result["paulis"] = [p for site in sites for p in site], model
    c, model = sd.fermions(2), {}
    register(model, c, jordan_wigner(2))
    result["fermions"] = [*c, *(p.adjoint for p in c)], model
    x, model = sd.operators("x y", hermitian=False), {}
    register(model, x, [rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)) for _ in x])
    result["operators"] = [*x, *(p.adjoint for p in x)], model
    return result
