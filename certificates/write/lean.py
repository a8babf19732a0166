"""A proof as Lean 4 source (with Mathlib): explicit squares, one identity closed by `ring`, nothing searched.

The theorem quantifies over real variables, takes the constraints as hypotheses and ends in the claim.  Every
Gram matrix becomes weighted squares by exact LDL^T; that they are nonnegative is `sq_nonneg`, `mul_nonneg`
and `add_nonneg` term by term; multiples of equalities are subtracted by `linear_combination`.  So no
`positivity`, `nlinarith` or `linarith` has to find anything.  `read_lean` parses the text back, and `agrees`
compares what it says with the proof, polynomial by polynomial; `proof_lean` returns no text that does not
agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from certificates.exact import fraction, terms_of, value_at
from certificates.identity import Identity, Multiplier
from sosdp.algebra.build import polynomial
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_name

LARGEST = 12  # side of a Gram matrix above which the text would be unreadable, and `ring` slow
_SQUARES = ("sos", "inequality", "product")
_KEYWORDS = frozenset(
    "abbrev admit at attribute axiom break by calc catch class continue decreasing_by def default deriving "
    "do elab else end example exists exit export extends false finally for forall from fun have hiding if "
    "import in include inductive infix infixl infixr initialize instance lambda let local macro macro_rules "
    "match mut mutual namespace nat_lit nofun nomatch noncomputable nonrec notation obtain omit opaque open "
    "partial postfix prefix private Prop protected public rec reduce renaming repeat return scoped section "
    "set_option show sorry Sort structure suffices syntax tactic termination_by then theorem this true try "
    "Type unif_hint universe unless unsafe until using variable where while with".split()
)
# every name that the text itself uses: a variable of that name would take its place
_USED = frozenset(
    "absurd add_nonneg False key le_of_le_of_eq le_refl mul_eq_zero_of_right mul_nonneg "
    "positive sq_nonneg sub_nonneg symm total".split()
)
FIRST = "-- No Lean compiler of this project has seen this text; `read_lean` has read it back."
_FACT = re.compile(r"[hestz]\d+")


class NoLean(ValueError):
    """The proof has no Lean form; the message says why."""


def proof_lean(proof: Identity, name: str = "claim") -> str:
    """Lean 4 source of a theorem with its proof.

    Raises NoLean for claims that are not of the kind "on the set, polynomial >= number" (distributions, found
    coefficients, refusals), for matrix inequalities, and for Gram matrices of side above 12.
    A point that attains the bound becomes a second theorem, closed by `norm_num`; that it is the only one is
    not stated. Cost: an exact LDL^T for each Gram matrix.
    """
    claim = proof.claim
    if claim.kind not in ("lower_bound", "upper_bound", "sos", "infeasible") or len(claim.targets) != 1:
        raise NoLean(f"a claim of kind {claim.kind!r} is not a single polynomial inequality")
    if claim.expectations or claim.squares:
        raise NoLean("claims about distributions have no Lean form here")
    if claim.matrices:
        raise NoLean("matrix inequalities have no Lean form here")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_']*", name) or name in _KEYWORDS:
        raise NoLean(f"{name!r} is no name for a theorem")
    squares = [m for m in proof.multipliers if m.kind in _SQUARES]
    cofactors = [m for m in proof.multipliers if m.kind == "equality"]
    side = max((len(m.basis) for m in squares), default=0)
    if side > LARGEST:
        raise NoLean(f"a Gram matrix of side {side} is too large for a readable proof (at most {LARGEST})")
    called = lean_names(proof)
    hypotheses = [f"(h{k} : 0 ≤ {_text(g, called)})" for k, g in enumerate(claim.inequalities)]
    hypotheses += [f"(e{k} : {_text(h, called)} = 0)" for k, h in enumerate(claim.equalities)]
    names = " ".join(sorted(called.values())) or "_x"
    lines = [FIRST, "import Mathlib.Tactic", "", f"theorem {name} ({names} : ℝ)"]
    lines += [f"    {h}" for h in hypotheses]
    lines[-1] += f" :\n    {_conclusion(proof, called)} := by"
    summands, nonneg = [], []
    for k, multiplier in enumerate(squares):
        found = _nonnegative(k, multiplier, proof, called)
        if found is not None:
            lines += found[2]
            summands.append(found[0])
            nonneg.append(found[1])
    zeros = []
    for k, multiplier in enumerate(cofactors):
        assert multiplier.polynomial is not None
        number = multiplier.index[0]
        text = f"({_text(multiplier.polynomial, called)}) * ({_text(claim.equalities[number], called)})"
        lines.append(f"  have z{k} : {text} = 0 := mul_eq_zero_of_right _ e{number}")
        zeros.append(text)
    total = " + ".join(summands) if summands else "0"
    proven = nonneg[0] if nonneg else "le_refl 0"
    for one in nonneg[1:]:
        proven = f"add_nonneg ({proven}) {one}"
    lines.append(f"  have total : (0 : ℝ) ≤ {total} := {proven}")
    target = _target(proof, called)
    # the difference of the two sides is the sum of what vanishes: `ring` after subtracting it
    how = "linear_combination " + " + ".join(f"z{k}" for k in range(len(zeros))) if zeros else "ring"
    lines.append(f"  have key : {target} = {total} := by {how}")
    lines.append(f"  have positive : 0 ≤ {target} := le_of_le_of_eq total key.symm")
    if claim.kind == "infeasible":
        lines.append("  exact absurd positive (by norm_num)")
    elif claim.kind == "sos":
        lines.append("  exact positive")
    else:
        lines.append("  exact sub_nonneg.mp positive")
    text = "\n".join(lines + _attained(proof, name, called)) + "\n"
    wrong = agrees(text, proof)
    if wrong:
        raise NoLean(f"the text written does not say what the proof says: {wrong}")
    return text


def _attained(proof: Identity, name: str, names: Mapping[int, str]) -> list[str]:
    """The theorem that the point of the claim is in the set and has the bound as its value."""
    claim = proof.claim
    if claim.point is None:
        return []
    values = {variable: _number(value) for variable, value in claim.point}
    assert claim.bound is not None
    facts = [f"{_text(claim.objectives[0], values)} = {_number(claim.bound)}"]
    facts += [f"0 ≤ {_text(g, values)}" for g in claim.inequalities]
    facts += [f"{_text(h, values)} = 0" for h in claim.equalities]
    at = ", ".join(f"{names[v]} = {value}" for v, value in claim.point)
    return ["", f"-- where {at}", f"theorem {name}_attained : {' ∧ '.join(facts)} := by norm_num"]


def _nonnegative(
    k: int, multiplier: Multiplier, proof: Identity, names: Mapping[int, str]
) -> tuple[str, str, list[str]] | None:
    """Text of a summand, the name of the fact that it is nonnegative, and the lines that prove it."""
    parts = multiplier.squares()
    if not parts:
        return None
    terms = [f"{_number(weight)} * ({_text(q, names)})^2" for weight, q in parts]
    one = "mul_nonneg (by norm_num) (sq_nonneg _)"
    reason = one
    for _ in parts[1:]:
        reason = f"add_nonneg ({reason}) ({one})"
    text = f"({' + '.join(terms)})"
    lines = [f"  have s{k} : 0 ≤ {text} := {reason}"]
    fact = f"s{k}"
    for factor in multiplier.index:
        text = f"{text} * ({_text(proof.claim.inequalities[factor], names)})"
        fact = f"mul_nonneg ({fact}) h{factor}" if " " in fact else f"mul_nonneg {fact} h{factor}"
    if multiplier.index:
        lines.append(f"  have t{k} : 0 ≤ {text} := {fact}")
        fact = f"t{k}"
    return text, fact, lines


def _conclusion(proof: Identity, names: Mapping[int, str]) -> str:
    claim = proof.claim
    if claim.kind == "infeasible":
        return "False"
    p = _text(claim.objectives[0], names)
    if claim.kind == "sos":
        return f"0 ≤ {p}"
    assert claim.bound is not None
    return f"{_number(claim.bound)} ≤ {p}" if claim.kind == "lower_bound" else f"{p} ≤ {_number(claim.bound)}"


def _target(proof: Identity, names: Mapping[int, str]) -> str:
    claim = proof.claim
    if claim.kind == "infeasible":
        return "(-1 : ℝ)"
    p = _text(claim.objectives[0], names)
    if claim.kind == "sos":
        return p
    assert claim.bound is not None
    number = _number(claim.bound)
    return f"({p}) - {number}" if claim.kind == "lower_bound" else f"{number} - ({p})"


def _ids(proof: Identity) -> list[int]:
    found: set[int] = set()
    for p in proof.claim.polynomials():
        found |= {int(v) for v in p.variable_ids}
    for multiplier in proof.multipliers:
        found |= {v for row in multiplier.basis for v in row}
        if multiplier.polynomial is not None:
            found |= {int(v) for v in multiplier.polynomial.variable_ids}
    return sorted(found)


def lean_names(proof: Identity) -> dict[int, str]:
    """A Lean identifier for every variable, all different, and none that the text uses for something else."""
    ids = _ids(proof)
    taken = {variable_name(v) for v in ids}
    out = {}
    for v in ids:
        name = variable_name(v)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise NoLean(f"the variable name {name!r} is no Lean identifier")
        while _reserved(name) or (name != variable_name(v) and name in taken):
            name += "_"
        taken.add(name)
        out[v] = name
    return out


def _reserved(name: str) -> bool:
    return name in _KEYWORDS or name in _USED or _FACT.fullmatch(name) is not None or name == "_"


def _number(value: Fraction) -> str:
    value = Fraction(str(value))
    return f"({value.numerator}/{value.denominator} : ℝ)" if value.denominator > 1 else f"({value} : ℝ)"


def _text(polynomial: Polynomial, names: Mapping[int, str]) -> str:
    rows = [polynomial.monos[k][polynomial.monos[k] > 0].tolist() for k in range(len(polynomial.coefs))]
    terms = []
    for k in sorted(range(len(rows)), key=lambda k: (-len(rows[k]), rows[k])):
        row, coefficient = rows[k], Fraction(str(polynomial.coefs[k]))
        powers = [names[v] + (f"^{row.count(v)}" if row.count(v) > 1 else "") for v in sorted(set(row))]
        terms.append(" * ".join(powers if powers and coefficient == 1 else [_number(coefficient), *powers]))
    return " + ".join(terms) if terms else "(0 : ℝ)"


@dataclass(frozen=True)
class LeanStatement:
    """What a Lean text says: hypotheses, conclusion (left <= right, or None for False), the identity of
    `key`, every stated sum of weighted squares as [(weight, polynomial), ...], and facts about a point."""

    inequalities: tuple[Polynomial, ...]
    equalities: tuple[Polynomial, ...]
    conclusion: tuple[Polynomial, Polynomial] | None
    identity: tuple[Polynomial, Polynomial]
    squares: tuple[tuple[tuple[Fraction, Polynomial], ...], ...]
    summands: tuple[Polynomial, ...]
    zeros: tuple[Polynomial, ...]
    total: Polynomial
    positive: Polynomial
    attained: tuple[str, ...] = ("",)


def read_lean(text: str) -> LeanStatement:
    """Parse what `proof_lean` writes; ValueError with the place for anything else."""
    text, _, attained = text.partition("\n\n-- where ")
    head, _, body = text.partition(" := by\n")
    found = re.findall(r"\(h\d+ : 0 ≤ (.*?)\)(?: :)?$|\(e\d+ : (.*?) = 0\)(?: :)?$", head, re.MULTILINE)
    inequalities = [_parse(g) for g, _ in found if g]
    equalities = [_parse(e) for _, e in found if e]
    claim = head.rsplit(" :\n", 1)[-1].strip()
    conclusion = None
    if claim != "False":
        left, _, right = claim.partition(" ≤ ")
        conclusion = (_parse(left), _parse(right))
    key = re.search(
        r"^  have key : (.*) = (.*) := by (?:ring|(linear_combination) (.*))$", body, re.MULTILINE
    )
    if key is None:
        raise ValueError("the text has no identity `key`")
    squares = []
    for line in re.findall(r"^  have s\d+ : 0 ≤ \((.*)\) := ", body, re.MULTILINE):
        parts = re.findall(r"(\([-0-9/]+ : ℝ\)) \* \(((?:[^()]|\([-0-9/]+ : ℝ\))*)\)\^2", line)
        squares.append(tuple((Fraction(_parse(w).constant), _parse(q)) for w, q in parts))
    facts = dict(re.findall(r"^  have (\w+) : (?:\(0 : ℝ\)|0) ≤ (.*?) := ", body, re.MULTILINE))
    if "total" not in facts or "positive" not in facts:
        raise ValueError("the text does not say that the sum, or the target, is nonnegative")
    sums = [_parse(facts[name]) for name in facts if name[0] == "s"]
    if sums != [sum((w * q * q for w, q in parts), Polynomial(0)) for parts in squares]:
        raise ValueError("a fact about squares states something else than weighted squares")
    summands = [str(facts.get(f"t{name[1:]}", facts[name])) for name in facts if name[0] == "s"]
    zeros = re.findall(r"^  have z\d+ : (.*) = 0 := ", body, re.MULTILINE)
    if (key.group(4) or "") != " + ".join(f"z{k}" for k in range(len(zeros))):
        raise ValueError("the identity `key` does not use every vanishing multiple once")
    return LeanStatement(
        tuple(inequalities),
        tuple(equalities),
        conclusion,
        (_parse(key.group(1)), _parse(key.group(2))),
        tuple(squares),
        tuple(_parse(one) for one in summands),
        tuple(_parse(one) for one in zeros),
        _parse(facts["total"]),
        _parse(facts["positive"]),
        tuple(re.split(r" ∧ ", attained.partition("_attained : ")[2].partition(" := by norm_num")[0])),
    )


def agrees(text: str, proof: Identity) -> str:
    """Why a Lean text does not say what the proof says ('' when it does), by parsing it back exactly."""
    claim, called = proof.claim, lean_names(proof)
    if "_x" not in text.partition(" : ℝ)")[0] or called:
        binder = text.partition(" (")[2].partition(" : ℝ)")[0].split()
        if binder != sorted(called.values()) or len(set(binder)) < len(binder):
            return "the variables are not those of the proof"
    if any(_reserved(name) for name in called.values()):
        return "a variable has a name that the text uses for something else"
    back = {name: variable_name(v) for v, name in called.items()}
    read = read_lean(re.sub(r"[A-Za-z_][A-Za-z0-9_']*", lambda found: back.get(found[0], found[0]), text))
    if read.inequalities != claim.inequalities or read.equalities != claim.equalities:
        return "the hypotheses are not the constraints of the claim"
    if claim.kind == "infeasible":
        if read.conclusion is not None:
            return "the conclusion is not False"
    elif read.conclusion is None or read.conclusion[1] - read.conclusion[0] != claim.targets[0]:
        return "the conclusion is not the claim"
    if read.identity[0] != claim.targets[0]:
        return "the left side of the identity is not what has to be nonnegative"
    if read.identity[1] + sum(read.zeros, Polynomial(0)) != read.identity[0]:
        return "the identity does not hold"
    stated = [m.squares() for m in proof.multipliers if m.kind in _SQUARES]
    if [list(s) for s in read.squares] != [s for s in stated if s] or any(
        w < 0 for s in read.squares for w, _ in s
    ):
        return "the squares are not those of the multipliers"
    expected = []
    for multiplier in proof.multipliers:
        if multiplier.kind in _SQUARES and multiplier.squares():
            value = sum((w * q * q for w, q in multiplier.squares()), Polynomial(0))
            for k in multiplier.index:
                value = value * claim.inequalities[k]
            expected.append(value)
    if list(read.summands) != expected or read.total != sum(expected, Polynomial(0)):
        return "a summand is not its squares times its constraints, or the total is not their sum"
    cofactors = [
        m.polynomial * claim.equalities[m.index[0]] for m in proof.multipliers if m.polynomial is not None
    ]
    if list(read.zeros) != cofactors:
        return "a vanishing summand is not a multiple of its equality"
    if read.positive != claim.targets[0]:
        return "the last fact is not about the target"
    return _attained_agrees(read.attained, proof)


def _attained_agrees(facts: tuple[str, ...], proof: Identity) -> str:
    """Why the facts about the point are not those of the claim, or not true ('' when they are)."""
    claim = proof.claim
    if claim.point is None:
        return "" if facts == ("",) else "the text has a point, the claim has none"
    values = dict(claim.point)
    wanted = [(claim.objectives[0], "=", claim.bound)]
    wanted += [(g, "≤", None) for g in claim.inequalities] + [(h, "=", Fraction(0)) for h in claim.equalities]
    if len(facts) != len(wanted):
        return "the point is not shown to meet every constraint"
    for fact, (p, relation, right) in zip(facts, wanted, strict=True):
        there = fraction(value_at(terms_of(p), values))
        left, found, end = re.split(r" (=|≤) ", fact)
        numbers = Fraction(_parse(left).constant), Fraction(_parse(end).constant)
        stated = numbers == (there, right) if relation == "=" else numbers == (0, there) and there >= 0
        if found != relation or not stated:
            return "a fact about the point is not that of the claim, or not true"
    return ""


_TOKEN = re.compile(r"\s*(?:\((-?\d+(?:/\d+)?) : ℝ\)|(\d+)|([A-Za-z_][A-Za-z0-9_']*)|([-+*^()]))")


def _parse(text: str) -> Polynomial:
    """An expression of the subset that is written here: rationals, variables, + - * ^ and parentheses."""
    tokens, at = [], 0
    text = text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"cannot read {text[at : at + 20]!r}")
        tokens.append(found.groups())
        at = found.end()
    value, stop = _sum(tokens, 0)
    if stop != len(tokens):
        raise ValueError(f"cannot read {text[:40]!r} to its end")
    return value


def _symbol(tokens: list, at: int) -> str | None:
    return tokens[at][3] if at < len(tokens) else None


def _sum(tokens: list, at: int) -> tuple[Polynomial, int]:
    value, at = _product(tokens, at)
    while _symbol(tokens, at) in ("+", "-"):
        sign = _symbol(tokens, at)
        other, at = _product(tokens, at + 1)
        value = value + other if sign == "+" else value - other
    return value, at


def _product(tokens: list, at: int) -> tuple[Polynomial, int]:
    value, at = _power(tokens, at)
    while _symbol(tokens, at) == "*":
        other, at = _power(tokens, at + 1)
        value = value * other
    return value, at


def _power(tokens: list, at: int) -> tuple[Polynomial, int]:
    value, at = _atom(tokens, at)
    if _symbol(tokens, at) == "^":
        value, at = value ** int(tokens[at + 1][1]), at + 2
    return value, at


def _atom(tokens: list, at: int) -> tuple[Polynomial, int]:
    if at >= len(tokens):
        raise ValueError("the expression ends too early")
    rational, whole, name, symbol = tokens[at]
    if rational is not None:
        return Polynomial(Fraction(rational)), at + 1
    if whole is not None:
        return Polynomial(int(whole)), at + 1
    if name is not None:
        return polynomial(name), at + 1
    if symbol != "(":
        raise ValueError(f"unexpected {symbol!r}")
    value, at = _sum(tokens, at + 1)
    if _symbol(tokens, at) != ")":
        raise ValueError("a parenthesis is not closed")
    return value, at + 1
