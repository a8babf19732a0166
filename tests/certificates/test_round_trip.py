"""Every kind of program: solve, prove, save, and verify in the kernel alone, as the problem states it."""

import json
import subprocess
import sys
import time
from fractions import Fraction as F

import pytest

import certificates
import sosdp as sd
from certificates import kernel, kernel_words
from certificates.as_problem import problem_of
from sosdp.cli import main

x, y = sd.variables("x y")
FILES = {
    "minimize": (
        {"variables": ["x", "y"], "minimize": "x*y", "subject_to": ["x**2 + y**2 <= 1"]},
        "x y >= -1/2",
    ),
    "maximize": ({"variables": ["x"], "maximize": "x", "subject_to": ["x**2 <= 4"]}, "x <= 2"),
    "refute": (
        {"variables": ["x"], "feasible": True, "subject_to": ["x**2 <= 1", "x == 2"]},
        "no real points where",
    ),
    "sos": ({"variables": ["x", "y"], "sos": ["2*x**2 + 2*x*y + y**2", "x**2 + 1"]}, "x^2 + 1 >= 0"),
    "sos on a set": ({"variables": ["x"], "sos": "x", "subject_to": ["x >= 0"]}, "where x >= 0: x >= 0"),
    "matrix": ({"variables": ["x"], "minimize": "x", "psd": [[["1", "x"], ["x", "1"]]]}, "x >= -1"),
    "program": (
        {"variables": ["x", "y"], "unknowns": ["c"], "sos": "x**4 + y**4 - c*x**2*y**2", "maximize": "c"},
        "so the largest value of c is at least 2",
    ),
    "measures": (
        {
            "variables": ["x"],
            "measures": {"mu": {"subject_to": ["x**2 <= 1"], "mass": 2}},
            "minimize": {"mu": "x**2"},
            "subject_to": [[{"mu": "x"}, ">= 1"]],
        },
        "mu[x^2] >=",
    ),
    "no measures": (
        {
            "variables": ["x"],
            "measures": {"mu": {"subject_to": ["x**2 <= 1"], "mass": 2}},
            "feasible": True,
            "subject_to": [[{"mu": "x"}, "== 3"]],
        },
        "no measures mu where",
    ),
    "chebyshev": (
        {
            "variables": ["x"],
            "minimize": {"chebyshev": [[1, {"x": 6}], ["1/3", {"x": 1}]]},
            "subject_to": ["x**2 <= 1"],
        },
        "where - x^2 + 1 >= 0: 32 x^6 - 48 x^4 + 18 x^2 + 1/3 x - 1 >= ",
    ),
    "for all": (
        {"variables": ["t", "v"], "minimize": "t", "for_all": [[["v"], "v**4 - 2*v**2 + t"]]},
        "is positive semidefinite: t >= 1",
    ),
    "operators": (
        {"operators": {"a": {"kind": "hermitian"}}, "minimize": "a**2 - 2*a", "subject_to": ["a*a <= 4"]},
        "E[a*a - 2*a] >= -",  # 1 and a billionth, in as few digits as there are
    ),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", FILES)
def test_a_problem_file(name, tmp_path, capsys):
    statement, said = FILES[name]
    problem, proof = tmp_path / "p.sos.json", tmp_path / "c.json"
    problem.write_text(json.dumps({"format": "sosdp-problem/1", **statement}))
    assert main(["solve", str(problem), "--certificate", str(proof)]) == 0
    capsys.readouterr()
    assert main(["verify", str(proof), "--kernel", "--against", str(problem)]) == 0
    out = capsys.readouterr().out
    assert "kernel: " in out and said in out and out.endswith("valid\n")
    alone = [kernel_words.__file__] if "operators" in statement else [kernel.__file__, str(problem)]
    done = subprocess.run(
        [sys.executable, "-I", *alone, str(proof)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().removeprefix("proven:").strip() in out


@pytest.mark.slow
def test_degree_200_takes_the_kernel_less_than_a_minute():
    problem = {"format": "sosdp-problem/1", "variables": ["x"], "sos": "x**200 + x**100 - x + 1"}
    content = json.loads(json.dumps(sd.load_problem(problem).solve().proof().to_dict()))
    before = time.process_time()
    assert kernel.replay(problem, content).show().endswith("x^200 + x^100 - x + 1 >= 0")
    assert time.process_time() - before < 60


def test_another_problem_is_not_what_was_proven():
    statement, _ = FILES["minimize"]
    content = sd.load_problem({"format": "sosdp-problem/1", **statement}).solve().proof().to_dict()
    for change in (
        {"minimize": "2*x*y"},
        {"subject_to": ["x**2 + y**2 <= 2"]},
        {"subject_to": []},
        {"maximize": "x*y"},
    ):
        problem = {**statement, **change}
        if "maximize" in change:
            problem.pop("minimize")
        with pytest.raises(kernel.NotProven):
            kernel.replay(problem, content)


def proofs():
    """What no problem file of the engine's states: the kernel's own keys do, or real and imaginary parts."""
    z = sd.complex_variables("z")
    disc, line = sd.Relaxation(sd.System(x**2 + y**2 <= 4), 4), sd.Relaxation(sd.System(x**2 <= 4), 2)
    yield (
        "E[x] - 1 >= 0",
        certificates.extract(disc.minimize(x**2 + y**2, subject_to=[disc.E(x) >= 1])).exact(),
    )
    squares = (
        line.minimize(sd.sum_squares([line.E(x - 1)]) + line.E(x)) if hasattr(sd, "sum_squares") else None
    )
    if squares is not None:
        yield "E[x]^2", certificates.extract(squares).exact()
    yield "z_re", certificates.extract(sd.maximize(z + z.conj(), [z.abs2() <= 1], 2)).exact()
    yield (
        "cos_t^2 + sin_t^2 - 1 == 0",
        certificates.extract(sd.minimize_trigonometric([1, 2], [F(3), 1])).exact(),
    )
    c = sd.variables("c,")[0]
    program = sd.SosProgram([c]).require(x**2 - c, on=sd.System(x >= 2)).require(9 - c).maximize(c)
    yield "so the largest value of c is at least", certificates.extract(program).exact()


def test_proofs_without_a_problem_file():
    for said, proof in proofs():
        content = proof.to_dict()
        problem = problem_of(content)
        shown = kernel.replay(problem, content).show()
        assert said in shown, shown
        assert certificates.check_certificate(content, {"format": "sosdp-problem/1", **problem})
        if "minimize" in problem and "unknowns" not in problem:
            problem["minimize"] = [*problem["minimize"], ["1", {}]]
            with pytest.raises(kernel.NotProven):
                kernel.replay(problem, content)
