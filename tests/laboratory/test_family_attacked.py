"""Families of an adversary: names of a proof's own unknowns, constants that know when they are traced."""

from dataclasses import replace

import pytest

import sosdp as sd
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.family import Family, FamilyProgram, Part
from tests.laboratory.test_family import SOFT


@pytest.mark.parametrize("name", ["m0_0", "Q0_1", "Q1_0"])
def test_parameters_have_no_name_of_an_unknown_of_an_identity(name):
    """The prover chose the parameter: 5/8 was proven for 8."""
    t = sd.variables(name)
    family = Family(
        1,
        Domain(1, 0, 1),
        lambda z, x: ([z[0] * z[0] - z[0]], [1 - z[1] * z[1]]),
        (),
        lambda z, x: x[0] * z[0] + t * x[0],
        lambda z: [z[0]],
        parameters=(t,),
        shared=1,
    )
    report = sd.stability(family)
    assert report.upper is None and name in str(report.missing)


def test_constants_that_were_proven_are_used():
    """A constant that knows when it is traced: the mass of all n^2 records would be another program."""

    def mass(n):
        return -n * n if hasattr(n, "bit_length") and n.bit_length() == len("abc") else -n

    hostile = replace(SOFT, parts=(Part("mass", mass, lambda z, x: z[0], equality=True),))
    proven = hostile.stability().upper is not None
    for n in (4, 7):
        constants = [c.constant for c in FamilyProgram(hostile, n).constants]
        assert not proven or constants == [-n]
