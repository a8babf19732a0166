"""LaTeX of proofs: balanced, broken into readable lines, and the same identity when read back."""

import re
from fractions import Fraction

import pytest

import certificates
import sosdp as sd
from certificates.derive import lemmas
from certificates.derive.calculus import assume
from certificates.write.latex import WIDTH, document, number_latex, printed_width, wrapped

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


@pytest.mark.parametrize("name", PROOFS)
def test_lines_are_short_unless_a_single_term_is_long(name):
    text = PROOFS[name]().latex(environment="align*")
    assert text.startswith(r"\begin{align*}") and text.endswith(r"\end{align*}")
    assert text.count(r"\bigl(") + text.count(r"\Bigl(") == text.count(r"\bigr)") + text.count(r"\Bigr)")
    assert r"\left" not in text  # no line break may cut those
    for line in text.splitlines()[1:-1]:
        assert line.count("&") == 1
        terms = re.split(r" [+-] ", line)
        assert printed_width(line) <= WIDTH + 12 or len(terms) <= 3


def test_wrapping_keeps_every_term_in_order():
    terms = [f"a_{{{k}}}" for k in range(60)]
    lines = list(wrapped([" - ".join(terms[:30]), " + ".join(terms[30:])]))
    assert len(lines) > 3 and all(printed_width(line) <= WIDTH for line in lines)
    assert re.findall(r"a_\{\d+\}", " ".join(lines)) == terms
    assert " ".join(lines).count("- a_") == 29
    assert printed_width(r"\tfrac{1}{1234}\,x^{2}") == len("1234x2")
    assert number_latex(Fraction(-1, 2)) == r"-\tfrac{1}{2}" and number_latex(Fraction(4)) == "4"


def test_a_document_stands_alone():
    proof = PROOFS["solved"]()
    text = document(proof, proof.verdict.claim)
    assert text.startswith(r"\documentclass") and text.rstrip().endswith(r"\end{document}")
    assert "for all real points" in text and r"\begin{align*}" in text
    with pytest.raises(ValueError, match="environment"):
        proof.latex(environment="gather")


def test_squares_are_written_as_a_person_would():
    text = (lemmas.young(x, y, 1, 2) + lemmas.cauchy_schwarz_split([x], [y], "1/3")).proof().latex()
    assert r"\bigl(-" not in text and r"\frac" not in text.split("=")[1]
    proof = certificates.extract(
        sd.minimize((3 * x - 2 * y - 5) ** 2 + (x - y / 7) ** 2, degree=2, symmetry="none")
    ).optimum()
    for part in re.findall(r"\\bigl\((.*?)\\bigr\)", proof.latex()):
        assert part.count("frac") <= 1 and not part.startswith("-")


def test_lines_are_not_broken_in_parentheses_that_fit():
    short = r"\bigl(x + y - 1\bigr)^{2}"
    long = r"\Bigl(" + " + ".join([short] * 12) + r"\Bigr)"
    lines = list(wrapped(["a" * 60, short, long, "b"]))
    assert " ".join(lines) == " + ".join(["a" * 60, short, long, "b"])
    assert all(line.count(r"\bigl(") == line.count(r"\bigr)") for line in lines) and len(lines) > 3
    assert list(wrapped(["z" * 200, "- y"])) == ["z" * 200, "- y"]
