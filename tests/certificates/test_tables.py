"""What a user looks at: squares, the identity, one-line formulas, labelled tables, short files."""

import json
from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd
from tests.refusals import each, refuse

x, y = sd.variables("x y")
DISC = sd.System(x**2 + y**2 <= 1)


def test_the_identity_is_a_list_that_adds_up():
    proof = certificates.extract(sd.minimize(x * y, DISC, 2)).optimum()
    parts = proof.identity()
    assert sum((part.polynomial for part in parts), sd.Polynomial(0)) == x * y + Fraction(1, 2)
    assert {part.numbers for part in parts} == {(), (0,)}
    refuse(
        (lambda: proof.squares(), "identity"),
        (lambda: proof.identity(1), "no number 1"),
    )
    equal = certificates.extract(sd.minimize(x, sd.System(x**2 == 1), 2)).optimum()
    assert any(part.cofactor is not None for part in equal.identity())
    matrix = certificates.extract(sd.minimize(x, sd.System(sd.PSD([[1, x], [x, 1]])), 2)).exact()
    refuse((lambda: matrix.identity(), "matrix"))


def test_tables_have_monomials_beside_them():
    pe = sd.minimize(x * y, DISC, 2)
    proof = certificates.extract(pe).optimum()
    table = certificates.gram_table(proof.multipliers[0])
    assert set(table.labels) >= {"x", "y"} and table.entries[0, 0] == proof.multipliers[0].matrix[0, 0]
    page = table._repr_html_()
    assert page.startswith("<table>") and "<th>x</th>" in page and "<td>1/2</td>" in page
    assert str(table).splitlines()[1].split() == list(table.labels)
    moments = certificates.moment_table(pe)
    assert moments.entries.shape == (3, 3) and moments.labels[0] == "1"
    assert moments._repr_html_().count("<td>") == 9
    chosen = certificates.moment_table(pe, [x, y])
    assert chosen.labels == ("x", "y") and np.allclose(chosen.entries, pe.moment_matrix([x, y]))
    a, b = sd.observables("a", 2)
    operators = certificates.moment_table(sd.maximize(a * b + b * a))
    assert operators.labels == ("1", "a[0]", "a[1]")
    assert operators.entries[1, 2] == pytest.approx(1.0, abs=1e-5)
    z = sd.complex_variables("z")
    disc = sd.minimize(z.real, [z.abs2() <= 1], 2)
    refuse((lambda: certificates.moment_table(disc), "not of a ComplexExpectation", TypeError))


def test_the_float_dual_in_monomials():
    pe = sd.minimize(x * y, DISC, 2)
    total = sd.Polynomial(0.0)
    for table in certificates.dual_tables(pe):
        factor = 1 - x**2 - y**2 if "0" in table.caption else sd.Polynomial(1)
        basis = [sd.polynomial(name) for name in table.labels]
        for i, a in enumerate(basis):
            for j, b in enumerate(basis):
                total = total + float(table.entries[i, j]) * a * b * factor
    difference = total - (x * y - pe.bound)
    assert max((abs(float(c)) for c in difference.coefs), default=0.0) < 1e-6
    matrix = sd.minimize(x, sd.System(sd.PSD([[1, x], [x, 1]])), 2)
    assert any("[row 1]" in name for t in certificates.dual_tables(matrix) for name in t.labels)


def test_files_leave_out_what_is_zero():
    proof = certificates.extract(sd.minimize(x * y, DISC, 2)).optimum()
    m = proof.multipliers[0]
    side = len(m.basis)
    gram = (*((*row, 0) for row in m.gram), (0,) * (side + 1))
    padded = certificates.Multiplier(m.kind, m.index, (*m.basis, (1, 1, 1)), gram, m.denominator)
    nothing = certificates.Multiplier("sos", (), ((),), ((0,),))
    twin = certificates.Proof(proof.claim, (padded, *proof.multipliers[1:], nothing))
    assert len(json.dumps(twin.to_dict()["multipliers"])) <= len(json.dumps(proof.to_dict()["multipliers"]))
    assert twin.verify()


def test_a_proof_stands_for_its_only_gram_matrix():
    pe = sd.prove_sos((x - y) ** 2 + x**2)
    proof = certificates.extract(pe).exact()
    assert str(certificates.gram_table(proof)) == str(certificates.gram_table(proof.multipliers[0]))
    several = certificates.extract(sd.minimize(x * y, DISC, 2)).exact()
    refuse((lambda: certificates.gram_table(several), "2 Gram matrices: give one of proof.multipliers"))
    wrong = (pe, proof.claim, proof.identity()[0], proof.multipliers, None, 3, np.eye(2))
    refuse(
        *each(certificates.gram_table, wrong, "of a multiplier of a proof", TypeError),
        (lambda: certificates.dual_tables(proof), "solved relaxation, not of a Proof", TypeError),
        (lambda: certificates.moment_table(proof), "solved relaxation, not of a Proof", TypeError),
    )
