"""The library's own letters are no user's: no door makes a variable of their names."""

import pickle

import pytest

import certificates
import sosdp as sd
from sosdp.algebra.build import own_variables
from sosdp.model.problem_file import load_problem

x, v = sd.variables("x v")


def _file(**changes):
    return load_problem({"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x", **changes})


DOORS = {
    "variables": sd.variables,
    "a list": lambda name: sd.variables([name, "x"]),
    "an array": lambda name: sd.variables(name, 2),
    "complex": sd.complex_variables,
    "text": lambda name: sd.polynomial(f"{name} + 1"),
    "sympy": lambda name: sd.polynomial(pytest.importorskip("sympy").Symbol(name) + 1),
    "points": lambda name: (x + 1).subs({name: 1}),
    "monomials": lambda name: sd.monomials([name], 2),
    "operators": sd.operators,
    "observables": lambda name: sd.observables(name, 2),
    "unknowns": lambda name: sd.SosProgram([]).polynomial(name, [x], 2),
    "a file": lambda name: _file(variables=["x", name]),
    "unknowns of a file": lambda name: _file(variables=["x"], unknowns=[name], sos="x**2", minimize=name),
    "measures": lambda name: _file(measures={name: {"mass": 1}}, minimize={name: "x"}),
}


@pytest.mark.parametrize("name", ["sosdp_i_", "sosdp_y_0", "sosdp_y0_0", "sosdp_free_s0_4", "sosdp_"])
@pytest.mark.parametrize("door", DOORS)
def test_no_door_takes_a_name_of_the_library(door, name):
    own_variables("y_", 1)  # known, or not
    with pytest.raises(ValueError, match="names that begin with sosdp_"):
        DOORS[door](name)


def test_a_matrix_in_the_letters_of_another_answer_is_refused():
    first = sd.prove_sos([[x**2, 0], [0, x**2]])
    s, t = (p for p in first.variables if "sosdp_" in str(p))
    with pytest.raises(ValueError, match="is a letter of the library"):
        sd.prove_sos([[2 * t**2, 0], [0, -(s**2)]])
    with pytest.raises(ValueError, match="is a letter of the library"):  # nor in what describes its set
        sd.prove_sos([[x**2, 0], [0, -1]], t == 0)
    (y,) = own_variables("y0_", 1)
    with pytest.raises(ValueError, match="is a letter of the library"):
        sd.SosProgram([x]).require_psd([[-1]], on=y == 0)


def test_own_letters_travel_in_pickles_and_files(tmp_path):
    (y,) = own_variables("y_", 1)
    assert pickle.loads(pickle.dumps(y + 1)) == y + 1
    for_all = sd.for_all([v], v**4 + 2 * x * v**2 + 1 >= 0)
    proof = certificates.extract(sd.minimize(x, [for_all, x**2 <= 4], degree=2)).exact()
    proof.save(tmp_path / "proof.json")
    assert certificates.load(tmp_path / "proof.json").verify()


def test_names_that_are_near_stay():
    assert [str(p) for p in (*sd.variables("sosdp sosdpx"), *sd.variables("sosdp", 2))] == [
        "sosdp", "sosdpx", "sosdp0", "sosdp1"
    ]  # fmt: skip
