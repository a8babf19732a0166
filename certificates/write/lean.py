"""A proof as Lean 4 source (with Mathlib): explicit squares, one identity closed by `ring`, nothing searched.

The theorem quantifies over real variables, takes the constraints as hypotheses and ends in the claim.  Every
Gram matrix becomes weighted squares by exact LDL^T; that they are nonnegative is `sq_nonneg`, `mul_nonneg`
and `add_nonneg` term by term; multiples of equalities are subtracted by `linear_combination`.  So no
`positivity`, `nlinarith` or `linarith` has to find anything.  `read_lean` parses every statement of the text
back, and `agrees` compares them with the proof; `proof_lean` returns no text that does not agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from certificates.exact import in_order
from certificates.identity import Claim, Identity, NoForm, Summand, of_inequality, with_values
from certificates.write.json import distinct
from sosdp.algebra.parse import Reader
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_name

LARGEST = 12  # side of a Gram matrix above which the text would be unreadable, and `ring` slow
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
_ENDS = {"infeasible": "absurd positive (by norm_num)", "sos": "positive"}
FIRST = "-- No Lean compiler of this project has seen this text; `read_lean` has read it back."
_NAMED = re.compile(r"[hestz]\d+|_")
_FACT = re.compile(r"\s*(?:have |\()([a-z]\w*) : (.*? [≤=] .*?)(?: := .*|\)(?: :)?)")
_WEIGHTED = r"\([0-9/]+ : ℝ\) \* \((?:[^()]|\([-0-9/]+ : ℝ\))*\)\^2"
_SQUARES = re.compile(rf"\({_WEIGHTED}(?: \+ {_WEIGHTED})*\)")


Statement = tuple[Polynomial, str, Polynomial]  # left, "≤" or "=", right
ZERO = Polynomial(0)


def proof_lean(proof: Identity, name: str = "claim") -> str:
    """Lean 4 source of a theorem with its proof.

    Raises NoForm for claims that are not of the kind "on the set, polynomial >= number" (distributions, found
    coefficients, refusals), for matrix inequalities, and for Gram matrices of side above 12.
    A point that attains the bound becomes a second theorem, closed by `norm_num`; that it is the only one is
    not stated. Cost: an exact LDL^T for each Gram matrix.
    """
    claim = proof.claim
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_']*", name) or name in _KEYWORDS:
        raise NoForm(f"{name!r} is no name for a theorem")
    side = max((len(m.basis) for m in proof.multipliers), default=0)
    if side > LARGEST:
        raise NoForm(f"a Gram matrix of side {side} is too large for a readable proof (at most {LARGEST})")
    squares, cofactors = _parts(proof)
    called = lean_names(proof)
    lines = [
        FIRST,
        "import Mathlib.Tactic",
        "",
        f"theorem {name} ({' '.join(sorted(called.values())) or '_x'} : ℝ)",
    ]
    lines += [f"    (h{k} : 0 ≤ {_text(g, called)})" for k, g in enumerate(claim.inequalities)]
    lines += [f"    (e{k} : {_text(h, called)} = 0)" for k, h in enumerate(claim.equalities)]
    left, right = _sides(claim, called)
    target = right if claim.bound is None else f"({right}) - ({left})"
    lines[-1] += f" :\n    {'False' if claim.kind == 'infeasible' else f'{left} ≤ {right}'} := by"
    texts, total, proven = list[str](), "0", "le_refl 0"
    one = "mul_nonneg (by norm_num) (sq_nonneg _)"
    for k, part in enumerate(squares):
        text = f"({' + '.join(f'{_number(w)} * ({_text(q, called)})^2' for w, q in part.squares)})"
        reason = one
        for _ in part.squares[1:]:
            reason = f"add_nonneg ({reason}) ({one})"
        lines.append(f"  have s{k} : 0 ≤ {text} := {reason}")
        fact = f"s{k}"
        for number, factor in zip(part.numbers, part.factors, strict=True):
            text = f"{text} * ({_text(factor, called)})"
            fact = f"mul_nonneg ({fact}) h{number}" if " " in fact else f"mul_nonneg {fact} h{number}"
        if part.factors:
            lines.append(f"  have t{k} : 0 ≤ {text} := {fact}")
            fact = f"t{k}"
        proven = f"add_nonneg ({proven}) {fact}" if texts else fact
        texts.append(text)
        total = " + ".join(texts)
    for k, part in enumerate(cofactors):
        text = f"({_text(part.cofactor or ZERO, called)}) * ({_text(part.factors[0], called)})"
        lines.append(f"  have z{k} : {text} = 0 := mul_eq_zero_of_right _ e{part.numbers[0]}")
    lines += [
        f"  have total : (0 : ℝ) ≤ {total} := {proven}",
        f"  have key : {target} = {total} := by {_how(len(cofactors))}",
        f"  have positive : 0 ≤ {target} := le_of_le_of_eq total key.symm",
        f"  exact {_ENDS.get(claim.kind, 'sub_nonneg.mp positive')}",
    ]
    text = "\n".join(lines + _attained(claim, name, called)) + "\n"
    if wrong := agrees(text, proof):
        raise NoForm(f"the text written does not say what the proof says: {wrong}")
    return text


def _parts(proof: Identity) -> tuple[list[Summand], list[Summand]]:
    """The summands that are nonnegative, and those that vanish."""
    parts = of_inequality(proof)
    return [p for p in parts if p.squares], [p for p in parts if p.cofactor is not None]


def _how(count: int) -> str:
    """The difference of the two sides is the sum of what vanishes: `ring` after subtracting it."""
    return "linear_combination " + " + ".join(f"z{k}" for k in range(count)) if count else "ring"


def _sides(claim: Claim, names: Mapping[int, str]) -> tuple[str, str]:
    """What is at most what in the claim."""
    if claim.bound is None:
        return "0", _text(claim.targets[0], names)
    p, bound = _text(claim.objectives[0], names), _number(claim.bound)
    return (bound, p) if claim.kind == "lower_bound" else (p, bound)


def _attained(claim: Claim, name: str, names: Mapping[int, str]) -> list[str]:
    """The theorem that the point of the claim is in the set and has the bound as its value."""
    if claim.point is None or claim.bound is None:
        return []
    values = {variable: _number(value) for variable, value in claim.point}
    facts = [f"{_text(claim.objectives[0], values)} = {_number(claim.bound)}"]
    facts += [f"0 ≤ {_text(g, values)}" for g in claim.inequalities]
    facts += [f"{_text(h, values)} = 0" for h in claim.equalities]
    at = ", ".join(f"{names[v]} = {value}" for v, value in claim.point)
    return ["", f"-- where {at}", f"theorem {name}_attained : {' ∧ '.join(facts)} := by norm_num"]


def lean_names(proof: Identity) -> dict[int, str]:
    """A Lean identifier for every variable, all different, and none that the text uses for something else."""
    names = [variable_name(v) for v in proof.ids]
    for name in names:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise NoForm(f"the variable name {name!r} is no Lean identifier")
    reserved = _KEYWORDS | _USED
    others = distinct(names, names, lambda name: name in reserved or bool(_NAMED.fullmatch(name)))
    return dict(zip(proof.ids, others, strict=True))


def _number(value: Fraction) -> str:
    return f"({value} : ℝ)"


def _text(polynomial: Polynomial, names: Mapping[int, str]) -> str:
    terms = []
    for row, c in in_order(polynomial):
        powers = [names[v] + (f"^{row.count(v)}" if row.count(v) > 1 else "") for v in sorted(set(row))]
        terms.append(" * ".join(powers if powers and c == 1 else [_number(c), *powers]))
    return " + ".join(terms) if terms else "(0 : ℝ)"


def read_lean(text: str, ids: Mapping[str, int] | None = None) -> dict[str, Statement | None]:
    """Every statement of what `proof_lean` writes, by its name: hypotheses h0, e0, ..., steps s0, t0, z0,
    ..., "total", "key", "positive", the "conclusion" (None for False), and "at 0", ... about a point.

    `ids`: the variables by their names in the text.  ValueError for anything else.
    """
    reader = Reader(ids)

    def read(said: str) -> Statement:
        sides = re.split(" (≤|=) ", said.replace(" : ℝ", "").replace("^", "**"))
        if len(sides) != 3:
            raise ValueError(f"{said[:40]!r} is no statement")
        return reader.polynomial(sides[0]), sides[1], reader.polynomial(sides[2])

    text, _, point = text.partition("\n\n-- where ")
    lines = [_FACT.fullmatch(line) for line in text.splitlines()]
    facts: dict[str, Statement | None] = {m[1]: read(m[2]) for m in lines if m}
    said = text.partition(" := by\n")[0].rpartition(" :\n")[2].strip()
    facts["conclusion"] = None if said == "False" else read(said)
    attained = point.partition("_attained : ")[2].partition(" := by norm_num")[0]
    facts |= {f"at {k}": read(said) for k, said in enumerate(filter(None, attained.split(" ∧ ")))}
    if not {"total", "key", "positive"} <= facts.keys():
        raise ValueError("the text has no identity `key`, or does not say that its sides are nonnegative")
    return facts


def agrees(text: str, proof: Identity) -> str:
    """Why a Lean text does not say what the proof says ('' when it does), by parsing it back exactly."""
    claim, called = proof.claim, lean_names(proof)
    if text.partition(" (")[2].partition(" : ℝ)")[0].split() != (sorted(called.values()) or ["_x"]):
        return "the variables are not those of the proof"
    squares, cofactors = _parts(proof)
    target = claim.targets[0]
    zeros = [p.polynomial for p in cofactors]
    whole = sum((p.polynomial for p in squares), ZERO)
    wanted: dict[str, Statement | None] = {f"h{k}": (ZERO, "≤", g) for k, g in enumerate(claim.inequalities)}
    wanted |= {f"e{k}": (h, "=", ZERO) for k, h in enumerate(claim.equalities)}
    for k, part in enumerate(squares):
        wanted[f"s{k}"] = ZERO, "≤", sum((w * q * q for w, q in part.squares), ZERO)
        if part.factors:
            wanted[f"t{k}"] = ZERO, "≤", part.polynomial
    wanted |= {f"z{k}": (p, "=", ZERO) for k, p in enumerate(zeros)}
    wanted |= {"total": (ZERO, "≤", whole), "key": (target, "=", whole), "positive": (ZERO, "≤", target)}
    if claim.kind == "infeasible":
        wanted["conclusion"] = None
    else:
        bound, p = Polynomial(claim.bound or 0), claim.objectives[0]
        wanted["conclusion"] = (p, "≤", bound) if claim.kind == "upper_bound" else (bound, "≤", p)
    if claim.point is not None:
        at = [with_values(p, dict(claim.point)) for p in (*claim.inequalities, *claim.equalities)]
        low = [(ZERO, "≤", v) for v in at[: len(claim.inequalities)] if v.constant >= 0]
        ends = [(bound, "=", bound), *low, *((ZERO, "=", ZERO) for _ in claim.equalities)]
        wanted |= {f"at {k}": end for k, end in enumerate(ends)}
    read = read_lean(text, {name: v for v, name in called.items()})
    for name in wanted.keys() | read.keys():
        if name not in wanted or name not in read or wanted[name] != read[name]:
            return f"the statement {name} is not that of the proof"
    if whole + sum(zeros, ZERO) != target or f" := by {_how(len(zeros))}\n" not in text:
        return "the identity `key` does not hold, or does not use every vanishing multiple once"
    if not all(_SQUARES.fullmatch(said) for said in re.findall(r"have s\d+ : 0 ≤ (.*) := ", text)):
        return "a fact about squares states something else than weighted squares"
    return ""
