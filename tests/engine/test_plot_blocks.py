"""The picture of the blocks shows what the relaxation has."""

import numpy as np

import sosdp as sd
from sosdp.plot.blocks import blocks
from sosdp.plot.figures import png


def _picture(result):
    figure = blocks(result)
    assert png(figure).startswith(b"\x89PNG")
    left, right = figure.axes
    return np.asarray(left.images[0].get_array()), right


def test_disjoint_blocks_are_squares_on_the_diagonal():
    z = sd.variables("z", 3)
    result = sd.minimize((z**4).sum() - (z**2).sum(), sd.System(z @ z <= 4), 4)
    picture, right = _picture(result)
    plain = [b.side for b in result.identity.blocks if b.kind == "sos"]
    assert picture.shape[0] == sum(plain)
    filled = (picture < 1).any(axis=2)
    assert filled.sum() == sum(n * n for n in plain)
    start = 0
    for n in plain:
        assert filled[start : start + n, start : start + n].all()
        start += n
    assert len(right.patches) == 1 + len(result.sizes["blocks"])


def test_no_plain_block():
    (t,) = sd.variables("t", 1)
    assert _picture(sd.minimize(t, sd.System(t >= 0, t <= 1), 2))[0].ndim == 3
