"""LaTeX of proofs: balanced, broken into readable lines, and the same identity when read back."""

import re
from fractions import Fraction

import pytest

import certificates
import sosdp as sd
from certificates.derive import lemmas
from certificates.derive.calculus import assume
from certificates.write.latex import document
from tests.refusals import refuse

x, y = sd.variables("x y")


def _read(formula):
    """The polynomial that a formula of this module's LaTeX denotes."""
    text = re.sub(r"\\t?frac\{(\d+)\}\{(\d+)\}", r"(F(\1)/\2)", formula)
    text = re.sub(r"\\[bB]ig[lr]", "", text).replace(r"\,", " ")
    text = re.sub(r"\^\{(\d+)\}", r"**\1", text)
    # juxtaposition is multiplication
    text = re.sub(r"(?<=[\w)])\s*(?=[(xy])(?<![F])", "*", re.sub(r"\s+", " ", text))
    text = re.sub(r"(\d|\)|x|y)\s*(?=[xy(])", lambda m: m.group(1) + "*", text)
    text = re.sub(r"\*+\*\*", "**", text).replace("F*(", "F(").replace("***", "**")
    text = re.sub(r"(?<!\*)\*{3,}", "**", text)
    return eval(text.replace("* *", "*"), {"x": x, "y": y, "F": Fraction})


def _sides(latex):
    body = re.sub(r"\\(begin|end)\{[a-z*]+\}", "", latex).replace("&", "").replace(r"\\", "")
    body = body.replace(r"\qquad", "").replace(r"\quad", "").replace("\n", " ")
    return body.split("=")


PROOFS = {
    "cauchy": lambda: lemmas.cauchy_schwarz([x, y], [3, x]).proof(),
    "triangle": lambda: lemmas.triangle([x, y], 4).proof(),
    "root": lambda: lemmas.root(x, "5/2", 4).proof(),
    "boolean": lambda: (lemmas.nonnegative(x) * lemmas.at_most_one(y)).proof(),
    "product": lambda: (assume(x) * assume(1 - y) * Fraction(2, 3)).proof(),
    "solved": lambda: certificates.extract(
        sd.minimize(x**4 + y**4 - 3 * x * y, sd.System(x**2 + y**2 <= 4), 4)
    ).exact(slack=1e-3),
}


@pytest.mark.parametrize("name", PROOFS)
def test_the_formula_is_the_identity(name):
    proof = PROOFS[name]()
    left, right = _sides(proof.latex())
    difference = _read(left.strip()) - _read(right.strip())
    assert difference.coefs.size == 0
    assert _read(left.strip()).coefs.size > 0


def test_a_document_stands_alone():
    proof = PROOFS["solved"]()
    text = document(proof, proof.verdict.claim)
    assert text.startswith(r"\documentclass") and text.rstrip().endswith(r"\end{document}")
    assert "for all real points" in text and r"\begin{align*}" in text
    refuse((lambda: proof.latex(environment="gather"), "environment"))
