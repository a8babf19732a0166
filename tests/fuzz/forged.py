"""Random certificates, true by construction, and forgeries of them: the checker must tell one from the other.

Multipliers are drawn first and the claim is what they expand to, in fractions. A forgery changes numbers,
monomials, multipliers or the claim, some so that the identity still holds (entries of a Gram matrix moved
along one monomial, a bound with its constant), some so that it proves a weaker claim. What the file then
proves is decided by a second opinion in plain fractions, and by the value at a point of the set: every claim
that is accepted must be true there.
"""

import copy
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

from certificates.check import check_certificate
from tests.certificates.independent import Poly, add, monomial, poly, proves, semidefinite, times, value

ONE: Poly = {(): Fraction(1)}


def number(draw: random.Random, small: bool = False) -> Fraction:
    """A short rational, now and then a very long or tiny one."""
    if small or draw.random() < 0.9:
        return Fraction(draw.randint(-4, 4), draw.choice((1, 1, 1, 2, 3)))
    return Fraction(draw.randint(-9, 9), 1) * draw.choice(
        (10**40, Fraction(1, 10**40), Fraction(10**17, 10**17 + 1))
    )


def written(p: Poly) -> list:
    """A polynomial as a file has it."""
    return [[str(c), [[v, m.count(v)] for v in sorted(set(m))]] for m, c in sorted(p.items()) if c]


def some(draw: random.Random, variables: int, degree: int) -> Poly:
    """A polynomial of a few terms."""
    result: Poly = {}
    for _ in range(draw.randint(1, 4)):
        term = tuple(sorted(draw.randrange(variables) for _ in range(draw.randint(0, degree))))
        add(result, {term: number(draw)})
    return result


def square_matrix(draw: random.Random, side: int) -> list[list[Fraction]]:
    """A positive semidefinite matrix of fractions, often of low rank."""
    rows = [[number(draw, True) for _ in range(side)] for _ in range(draw.randint(1, side))]
    weights = [abs(number(draw)) for _ in rows]
    return [
        [sum((w * r[i] * r[j] for w, r in zip(weights, rows, strict=True)), Fraction(0)) for j in range(side)]
        for i in range(side)
    ]


def honest(draw: random.Random) -> tuple[dict[str, Any], list[Fraction]]:
    """A certificate that is valid, and a point of its set."""
    variables = draw.randint(1, 3)
    point = [number(draw, True) for _ in range(variables)]
    inequalities, equalities, matrices = [], [], []
    for _ in range(draw.randint(0, 2)):
        g = some(draw, variables, 2)
        add(g, ONE, -value(g, point) + draw.choice((0, 0, 1, Fraction(1, 10**30))))
        inequalities.append(g)
    for _ in range(draw.randint(0, 1)):
        h = some(draw, variables, 2)
        add(h, ONE, -value(h, point))
        equalities.append(h)
    if draw.random() < 0.3:
        entries = [[some(draw, variables, 1) for _ in range(2)] for _ in range(2)]
        entries[1][0] = entries[0][1]
        wanted = square_matrix(draw, 2)
        for i, j in ((0, 0), (0, 1), (1, 1)):
            add(entries[i][j], ONE, wanted[i][j] - value(entries[i][j], point))
        matrices.append(entries)
    blocks: list[dict[str, Any]] = []
    total: Poly = {}
    kinds = ["sos"] + ["inequality"] * bool(inequalities) + ["product"] * (len(inequalities) > 1)
    kinds += ["equality"] * bool(equalities) + ["psd"] * bool(matrices)
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(kinds)
        if kind == "equality":
            factor = some(draw, variables, 1)
            add(total, times(factor, equalities[0]))
            blocks.append({"kind": kind, "index": [0], "polynomial": written(factor)})
            continue
        basis = sorted(
            {tuple(sorted(draw.randrange(variables) for _ in range(draw.randint(0, 1)))) for _ in range(3)}
        )
        entry = None
        if kind == "psd":
            entry = [draw.randrange(2) for _ in basis]
        gram = square_matrix(draw, len(basis))
        block: dict[str, Any] = {"kind": kind, "basis": [written({m: Fraction(1)})[0][1] for m in basis]}
        block["gram"] = [[str(v) for v in row] for row in gram]
        by = ONE
        if kind == "inequality":
            block["index"] = [draw.randrange(len(inequalities))]
            by = inequalities[block["index"][0]]
        elif kind == "product":
            block["index"] = [0, 1]
            by = times(inequalities[0], inequalities[1])
        elif kind == "psd":
            block["index"], block["entry"] = [0], entry
        for i, a in enumerate(basis):
            for j, b in enumerate(basis):
                of = by if entry is None else matrices[0][entry[i]][entry[j]]
                add(total, times({tuple(sorted(a + b)): gram[i][j]}, of))
        blocks.append(block)
    kind, bound = draw.choice(("lower_bound", "upper_bound", "sos")), number(draw)
    sign = -1 if kind == "upper_bound" else 1
    objective: Poly = {}
    add(objective, total, sign)
    claim: dict[str, Any] = {"kind": kind}
    if kind != "sos":
        add(objective, ONE, bound)
        claim["bound"] = str(bound)
    claim["objective"] = written(objective)
    claim["inequalities"] = [written(g) for g in inequalities]
    claim["equalities"] = [written(h) for h in equalities]
    claim["psd"] = [[[written(p) for p in row] for row in m] for m in matrices]
    names = ["x", "y", "z"][:variables]
    content = {"format": "sosdp-certificate/1", "claim": claim, "variables": names, "multipliers": blocks}
    return content, point


def _weaker(content: dict, draw: random.Random) -> None:
    """The bound and the constant of a Gram matrix moved together, one way or the other."""
    claim = content["claim"]
    plain = [b for b in content["multipliers"] if b["kind"] == "sos" and [] in b["basis"]]
    if "bound" not in claim or not plain:
        return
    block = draw.choice(plain)
    k = block["basis"].index([])
    step = draw.choice((1, -1, Fraction(1, 10**30), -Fraction(1, 10**30)))
    sign = 1 if claim["kind"] == "lower_bound" else -1
    block["gram"][k][k] = str(Fraction(block["gram"][k][k]) + step)
    claim["bound"] = str(Fraction(claim["bound"]) - sign * step)


def _moved(content: dict, draw: random.Random) -> None:
    """Entries of a Gram matrix moved along one monomial: the identity holds as before."""
    grams = [
        b
        for b in content["multipliers"]
        if b["kind"] in ("sos", "inequality") and len(b.get("basis", ())) > 1
    ]
    if not grams:
        return
    block = draw.choice(grams)
    basis, gram = [monomial(m) for m in block["basis"]], block["gram"]
    basis.append(draw.choice(basis))  # a monomial twice: nothing forbids it
    block["basis"].append(written({basis[-1]: Fraction(1)})[0][1])
    for row in gram:
        row.append("0")
    gram.append(["0"] * len(basis))
    places: dict[tuple, list[tuple[int, int]]] = {}
    for i, a in enumerate(basis):
        for j, b in enumerate(basis[: i + 1]):
            places.setdefault(tuple(sorted(a + b)), []).append((i, j))
    several = [p for p in places.values() if len(p) > 1]
    (i, j), (k, m) = draw.sample(draw.choice(several), 2)
    step = draw.choice((Fraction(1), Fraction(-1), Fraction(1, 10**25)))
    for (r, c), amount in (((i, j), step), ((k, m), -step)):
        amount = amount if r == c else amount / 2
        gram[r][c] = str(Fraction(gram[r][c]) + amount)
        if r != c:
            gram[c][r] = gram[r][c]


def _number(content: dict, draw: random.Random) -> None:
    """One number changed, symmetrically in a Gram matrix."""
    places: list[tuple[Any, Any]] = []

    def walk(tree: Any) -> None:
        for key, item in tree.items() if isinstance(tree, dict) else enumerate(tree):
            if isinstance(item, dict | list):
                walk(item)
            elif key not in ("kind", "format") and not (isinstance(item, str) and item in "xyz"):
                places.append((tree, key))

    walk(content)
    tree, key = draw.choice(places)
    old = tree[key]
    if isinstance(old, int):
        tree[key] = draw.choice((old + 1, old - 1, -1 - old))
    else:
        steps = (Fraction(old) * 2, -Fraction(old), Fraction(old) + Fraction(1, 10**50), Fraction(0))
        tree[key] = str(draw.choice(steps))
    for block in content["multipliers"]:
        for i, row in enumerate(block.get("gram", [])):
            for j in range(len(row)):
                if block["gram"][j][i] != row[j] and draw.random() < 0.8:
                    block["gram"][j][i] = block["gram"][i][j] = tree[key]


def _claim(content: dict, draw: random.Random) -> None:
    """Another kind of claim, a constraint left out, turned or exchanged, a bound moved."""
    claim = content["claim"]
    action = draw.randrange(5)
    lists = [claim[k] for k in ("inequalities", "equalities", "psd") if claim.get(k)]
    if action == 0:
        claim["kind"] = draw.choice(("lower_bound", "upper_bound", "sos", "infeasible"))
        if claim["kind"] in ("sos", "infeasible"):
            claim.pop("bound", None)
        else:
            claim.setdefault("bound", "0")
        if claim["kind"] == "infeasible":
            claim.pop("objective")
    elif action == 1 and lists:
        chosen = draw.choice(lists)
        del chosen[draw.randrange(len(chosen))]
    elif action == 2 and claim["inequalities"]:
        k = draw.randrange(len(claim["inequalities"]))
        claim["inequalities"][k] = written({m: -c for m, c in poly(claim["inequalities"][k]).items()})
    elif action == 3:
        claim["inequalities"], claim["equalities"] = claim["equalities"], claim["inequalities"]
    elif "bound" in claim:
        claim["bound"] = str(Fraction(claim["bound"]) + draw.choice((1, -1, Fraction(1, 10**60))))


def _multiplier(content: dict, draw: random.Random) -> None:
    """A multiplier twice, gone, negative, of another kind or of another constraint."""
    blocks = content["multipliers"]
    if not blocks:
        return
    block, action = draw.choice(blocks), draw.randrange(5)
    if action == 0:
        blocks.append(copy.deepcopy(block))
    elif action == 1:
        blocks.remove(block)
    elif action == 2 and "gram" in block:
        block["gram"] = [[str(-Fraction(v)) for v in row] for row in block["gram"]]
    elif action == 3:
        block["kind"] = draw.choice(
            ("sos", "inequality", "product", "psd", "expectation", "square", "equality")
        )
        if block["kind"] == "sos":
            block.pop("index", None)
    else:
        block["index"] = draw.choice(([0], [1], [-1], [0, 0], [True], [0.0], [], ["0"], [10**30]))


_FORGE = (_weaker, _moved, _number, _claim, _multiplier)


def misjudged(seed: int) -> list[str]:
    """Where the checker errs about the certificate of a seed, as it was made and forged."""
    draw = random.Random(f"forged {seed}")
    content, point = honest(draw)
    wrong = []
    verdict = check_certificate(content)
    if not verdict:
        wrong.append(f"honest, but {verdict}")
    for _ in range(4):
        forged = copy.deepcopy(content)
        for _ in range(draw.choice((1, 1, 2))):
            draw.choice(_FORGE)(forged, draw)
        verdict = check_certificate(json.loads(json.dumps(forged)))
        if verdict.status == "unreadable":
            continue
        if bool(verdict) != proves(forged):
            wrong.append(f"{verdict}, which is false: {json.dumps(forged)}")
        if verdict and not _holds(forged["claim"], point):
            wrong.append(f"valid, but false at {point}: {json.dumps(forged)}")
    return wrong


def _holds(claim: dict, point: list[Fraction]) -> bool:
    """Whether a claim is true of a point (also where the point is not in its set)."""
    inside = all(value(poly(p), point) == 0 for p in claim["equalities"])
    inside = inside and all(value(poly(p), point) >= 0 for p in claim["inequalities"])
    inside = inside and all(
        semidefinite([[value(poly(p), point) for p in r] for r in m]) for m in claim["psd"]
    )
    if not inside:
        return True
    if claim["kind"] == "infeasible":
        return False
    reached, bound = value(poly(claim["objective"]), point), Fraction(claim.get("bound", 0))
    return reached <= bound if claim["kind"] == "upper_bound" else reached >= bound


def misjudged_file(seed: int, folder: Path) -> list[str]:
    """The same through `sosdp verify` and the kernel: exit code 0 exactly for what is proven."""
    from tests.fuzz.hostile import called

    draw = random.Random(f"forged file {seed}")
    content, _ = honest(draw)
    draw.choice(_FORGE)(content, draw)
    path = folder / "c.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    code, out, err = called(["verify", str(path), "--kernel"])
    if code == 0 and (not proves(content) or "kernel:" not in out):
        return [f"exit code 0: {out} {json.dumps(content)}"]
    if code == 1 and proves(content):
        return [f"exit code 1: {out} {json.dumps(content)}"]
    return []
