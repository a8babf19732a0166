"""A picture of a Gram matrix."""

import pytest

import certificates
import sosdp as sd
from sosdp.plot.figures import png
from tests.refusals import refuse

pytest.importorskip("matplotlib")


def test_a_gram_matrix_and_its_squares():
    x, y = sd.variables("x y")
    proof = certificates.extract(sd.prove_sos(x**4 - 2 * x**2 * y**2 + y**4 + (x - y) ** 2)).exact()
    for multiplier in proof.multipliers:
        fig = certificates.picture(multiplier)
        assert png(fig).startswith(b"\x89PNG")
        gram, factor = fig.axes[0].images[0].get_array(), fig.axes[1].images[0].get_array()
        assert abs(factor @ factor.T - gram).max() < 1e-9
        assert fig.axes[1].get_title(loc="left") == f"factor: {factor.shape[1]} squares"
    assert png(certificates.picture(certificates.extract(sd.prove_sos((x - y) ** 2)).exact()))
    problem = sd.minimize(x, sd.System(x**2 == 1), degree=2)
    equality = [m for m in certificates.extract(problem).exact().multipliers if m.kind == "equality"]
    refuse(
        (lambda: certificates.picture(equality[0]), "no Gram matrix"),
        (lambda: certificates.picture(proof.claim), "not of a Claim", TypeError),
    )
