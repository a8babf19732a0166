"""SDPA sparse and CBF files: round trips, an independent reader, and errors that name the line."""

import numpy as np
import pytest
import scipy.sparse as sp

from sosdp.conic import clarabel
from sosdp.conic.formats.cbf import read_cbf, write_cbf
from sosdp.conic.formats.files import read_program, write_program
from sosdp.conic.formats.sdpa import read_sdpa, write_sdpa
from sosdp.conic.lines import FormatError
from sosdp.conic.program import Cones, ConicProgram
from tests.engine.programs import random_program
from tests.refusals import each, refuse


@pytest.mark.parametrize("ending", ["dat-s", "cbf"])
@pytest.mark.parametrize("shape", [(3, 4, (3, 2, 5)), (0, 4, (3,)), (2, 0, (4,)), (0, 0, (3, 3)), (1, 8, ())])
def test_there_and_back(tmp_path, ending, shape):
    zero, nonnegative, sides = shape
    program = random_program(5, zero=zero, nonnegative=nonnegative, sides=sides, columns=7)
    write_program(program, tmp_path / f"p.{ending}")
    back = read_program(tmp_path / f"p.{ending}")
    assert back.cones == program.cones
    assert np.array_equal(back.q, program.q)
    # sqrt(2) goes out and comes in: one rounding an entry
    assert np.allclose(back.A.toarray(), program.A.toarray(), rtol=4e-16, atol=0)
    assert np.allclose(back.b, program.b, rtol=4e-16, atol=0)
    assert back.constant == pytest.approx(program.constant, rel=1e-15)
    assert clarabel.solve(back).value == pytest.approx(clarabel.solve(program).value, rel=1e-7)


def test_the_two_formats_agree_on_a_maximisation_written_by_hand(tmp_path):
    # max x + 10 with [[1, x], [x, 1]] psd, x - y = 0, y <= 0.5
    (tmp_path / "a.cbf").write_text(
        "# a comment\nVER\n1\n\nOBJSENSE\nMAX\n\nVAR\n2 1\nF 2\n\nCON\n2 2\nL= 1\nL- 1\n\nPSDCON\n1\n2\n\n"
        "OBJACOORD\n1\n0 1.0\n\nOBJBCOORD\n10\n\nACOORD\n3\n0 0 1\n0 1 -1\n1 1 1\n\nBCOORD\n1\n1 -0.5\n\n"
        "HCOORD\n1\n0 0 1 0 1\n\nDCOORD\n2\n0 0 0 1\n0 1 1 1\n"
    )
    (tmp_path / "a.dat-s").write_text(
        '"the same, minimising -x\n*and a second comment\n 2 =mdim\n 2 = nblocks\n{-3, 2}\n{-1.0, 0}\n'
        "1 1 1 1 1\n2 1 1 1 -1\n1 1 2 2 -1\n2 1 2 2 1\n0 1 3 3 -0.5\n2 1 3 3 -1\n"
        "0 2 1 1 -1\n0 2 2 2 -1\n1 2 2 1 1\n"
    )
    one, two = read_cbf(tmp_path / "a.cbf"), read_sdpa(tmp_path / "a.dat-s")
    assert one.cones == two.cones == Cones(zero=1, nonnegative=1, psd=(2,))
    assert -clarabel.solve(one).value == pytest.approx(10.5, abs=1e-7)
    assert clarabel.solve(two).value == pytest.approx(-0.5, abs=1e-7)


def test_matrix_variables_and_bounded_variables_are_read(tmp_path):
    # min <C, X> + t with trace X = 1, t >= 0, u <= 0, <E01, X> - u = 0.25: C = diag(1, 3)
    (tmp_path / "a.cbf").write_text(
        "VER\n2\nOBJSENSE\nMIN\nPSDVAR\n1\n2\nVAR\n2 2\nL+ 1\nL- 1\nCON\n2 1\nL= 2\n"
        "OBJFCOORD\n2\n0 0 0 1.0\n0 1 1 3.0\nOBJACOORD\n1\n0 1.0\n"
        "FCOORD\n3\n0 0 0 0 1.0\n0 0 1 1 1.0\n1 0 1 0 0.5\nACOORD\n1\n1 1 -1.0\nBCOORD\n2\n0 -1.0\n1 -0.25\n"
    )
    program = read_cbf(tmp_path / "a.cbf")
    assert program.q.size == 2 + 3
    answer = clarabel.solve(program)
    # X01 = 0.25 + u <= 0.25 costs nothing at u = -0.25: X = diag(1, 0)
    assert answer.value == pytest.approx(1.0, abs=1e-7)
    assert np.allclose(answer.x, [0, -0.25, 1, 0, 0], atol=1e-4)


def test_files_agree_with_mosek_s_own_reader(tmp_path):
    mosek = pytest.importorskip("mosek")
    program = random_program(11, sides=(3, 2, 5))
    write_cbf(program, tmp_path / "p.cbf")
    with mosek.Task() as task:
        task.readdata(str(tmp_path / "p.cbf"))
        columns = task.getnumvar()
        assert columns == program.q.size
        q = np.zeros(columns)
        task.getcslice(0, columns, q)
        assert np.array_equal(q, program.q)
        assert task.getcfix() == program.constant
        # it states every constraint as an affine expression in a cone, scaled by sqrt(2) as here
        assert task.getnumacc() == 5
        kinds = [task.getdomaintype(task.getaccdomain(k)) for k in range(5)]
        svec_cone = mosek.domaintype.svec_psd_cone
        sizes = [task.getaccn(k) for k in range(5) if kinds[k] == svec_cone]
        assert sorted(sizes) == sorted(n * (n + 1) // 2 for n in program.cones.psd)
        row, column, value = task.getaccftrip()
        F = sp.csr_matrix((value, (row, column)), shape=(program.cones.rows, columns))
        x = np.random.default_rng(0).standard_normal(columns)
        result = F @ x + np.asarray(task.getaccgvector())
    assert np.allclose(np.sort(result), np.sort(program.b - program.A @ x), atol=1e-12)


def test_quadratic_objectives_and_other_endings_are_refused(tmp_path):
    program = random_program(3)
    curved = ConicProgram(program.q, program.A, program.b, program.cones, P=sp.eye_array(9, format="csc"))
    refuse(
        *each(
            lambda ending: write_program(curved, tmp_path / f"p.{ending}"),
            ("cbf", "dat-s"),
            "linear objectives only",
        )
    )
    refuse(
        (lambda: read_program(tmp_path / "p.txt"), "can be read are dat-s .* and cbf", ValueError),
        (lambda: write_program(program, tmp_path / "p.mps"), "can be written are dat-s", ValueError),
        (lambda: read_program(tmp_path / "absent.cbf"), None, OSError),
    )


SDPA_HEAD = "2\n1\n2\n1 1\n"
BAD_SDPA = [
    ("", 1, "the file ends where the number of variables should be"),
    ("x\n", 1, "'x' is not an integer"),
    ("0\n", 1, "must be positive"),
    ("99999999999999999999\n", 1, "is not an integer"),
    ("2\n2\n3 = sides\n", 3, "'=' is not an integer|'sides' is not an integer|2 integers expected"),
    ("2\n1\n0\n1 1\n", 3, "must be nonzero"),
    ("2\n1\n99999999\n1 1\n", 3, "more than"),
    ("2\n1\n2\n1\n", 4, "the file ends where the objective should be"),
    ("2\n1\n2\n1 2 3\n", 4, "2 numbers expected, 3 found"),
    ("2\n1\n2\n1 nan\n", 4, "not a finite number"),
    (SDPA_HEAD + "1 1 1 1\n", 5, "five numbers"),
    (SDPA_HEAD + "3 1 1 1 1.0\n", 5, "matrix 3 of 0 to 2"),
    (SDPA_HEAD + "1 2 1 1 1.0\n", 5, "block 2 of 1 to 1"),
    (SDPA_HEAD + "1 1 1 3 1.0\n", 5, r"entry \(1, 3\) outside block 1 of side 2"),
    (SDPA_HEAD + "1 1 1 1 1.0\n\n1 1 1 1 2.0\n", 7, "was given in line 5"),
    (SDPA_HEAD + "1 1 1 2 1.0\n1 1 2 1 2.0\n", 6, "was given in line 5"),
    (SDPA_HEAD + "1 1 1 2 inf\n", 5, "not a finite number"),
    (SDPA_HEAD + "1 1 1 2 0e5\n1 1 1 1 -1e-400\n", 6, "'-1e-400' is too small for"),
    ("2\n1\n2\n0.0e1 .00002E-330\n", 4, "'.00002E-330' is too small for"),
    ("2\n1\n-2\n1 1\n1 1 1 2 1.0\n", 5, "off the diagonal"),
    ('"add five to the optimal value"\n2\n', 1, "the comment: 'five' is not a number"),
    ('"add 1e400 to the optimal value"\n2\n', 1, "not a finite number"),
    ('"add nan to the optimal value"\n2\n', 1, "not a finite number"),
    ("--2\n", 1, "'--2' is not an integer"),
    ("2\n1\n2\n1 1_0\n", 4, "'1_0' is not a number"),
]


@pytest.mark.parametrize("text,line,reason", BAD_SDPA)
def test_malformed_sdpa_files_are_named_by_line(tmp_path, text, line, reason):
    path = tmp_path / "bad.dat-s"
    path.write_text(text)
    refuse((lambda: read_sdpa(path), rf"bad\.dat-s:{line}: .*({reason})", FormatError))


CBF_HEAD = "VER\n1\nOBJSENSE\nMIN\nVAR\n2 1\nF 2\n"
BAD_CBF = [
    ("", 0, "begins with VER"),
    ("VERSION\n", 1, "begins with VER"),
    ("VER\n9\n", 2, "version 9"),
    ("VER\n1\nVAR\n1 1\nF 1\n", 5, "OBJSENSE is missing"),
    ("VER\n1\nOBJSENSE\nLEAST\n", 4, "must be MIN or MAX"),
    ("VER\n1\nOBJSENSE\nMIN\nVAR\n3 1\nQ 3\n", 7, "the cone 'Q' is not taken"),
    ("VER\n1\nOBJSENSE\nMIN\nVAR\n3 1\nF 2\n", 7, "2 members, not 3"),
    ("VER\n1\nOBJSENSE\nMIN\nVAR\n3\n", 6, "two numbers expected"),
    (CBF_HEAD + "INT\n1\n0\n", 8, "integer variables"),
    (CBF_HEAD + "POWCONES\n1 2\n", 8, "power cones"),
    (CBF_HEAD + "CHANGE\n", 8, "several programs"),
    (CBF_HEAD + "NONSENSE\n", 8, "unknown section 'NONSENSE'"),
    (CBF_HEAD + "VAR\n1 1\nF 1\n", 8, "occurs twice"),
    (CBF_HEAD + "OBJACOORD\n1\n2 1.0\n", 10, "index 2 outside the 2 variables"),
    (CBF_HEAD + "OBJACOORD\n2\n0 1.0\n0 2.0\n", 11, "was given in line 10"),
    (CBF_HEAD + "OBJACOORD\n2\n0 1.0\n", 10, "the file ends where"),
    (CBF_HEAD + "OBJACOORD\n1\n0 1e-400\n", 10, "'1e-400' is too small for"),
    (CBF_HEAD + "OBJACOORD\n1\n0 x\n", 10, "'x' is not a number"),
    (CBF_HEAD + "OBJACOORD\n1\n+-0 1.0\n", 10, "'[+]-0' is not an integer"),
    (CBF_HEAD + "ACOORD\n1\n0 0 1.0\n", 10, "index 0 outside the 0 constraints"),
    (CBF_HEAD + "OBJFCOORD\n1\n0 0 0 1.0\n", 10, "index 0 outside the 0 matrix variables"),
    (CBF_HEAD + "PSDCON\n1\n2\nHCOORD\n1\n0 0 2 0 1.0\n", 13, r"entry \(2, 0\) outside a matrix of side 2"),
    (CBF_HEAD + "PSDCON\n1\n0\n", 10, "side 0"),
    (CBF_HEAD + "DCOORD\n1\n0 0 1.0\n", 10, "3 indices and a value"),
]


@pytest.mark.parametrize("text,line,reason", BAD_CBF)
def test_malformed_cbf_files_are_named_by_line(tmp_path, text, line, reason):
    path = tmp_path / "bad.cbf"
    path.write_text(text)
    refuse((lambda: read_cbf(path), rf"bad\.cbf:{line}: .*{reason}", FormatError))


@pytest.mark.parametrize("ending", ["dat-s", "cbf"])
def test_no_mutation_of_a_file_raises_anything_but_a_format_error(tmp_path, ending):
    rng = np.random.default_rng(0)
    path = tmp_path / f"p.{ending}"
    write_program(random_program(2), path)
    original = path.read_text()
    words = ["", "-1", "0", "1e9999", "nan", "x", "\n", "3 3", "VAR", "99999999999", "0.5", "(", "\x00"]
    refused = 0
    for _ in range(300):
        text = original
        for _ in range(rng.integers(1, 4)):
            at, length = rng.integers(len(text)), rng.integers(0, 12)
            text = text[:at] + words[rng.integers(len(words))] + text[at + length :]
        path.write_text(text)
        try:
            read_program(path)
        except FormatError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("ending", ["dat-s", "cbf"])
def test_a_program_without_rows_is_read_back(tmp_path, ending):
    program = ConicProgram(
        q=np.arange(2.0), A=sp.csc_matrix((0, 2)), b=np.zeros(0), cones=Cones(), constant=1.5
    )
    write_program(program, tmp_path / f"p.{ending}")
    back = read_program(tmp_path / f"p.{ending}")
    assert (back.q.tolist(), back.constant, back.A.nnz, back.b.any()) == ([0, 1], 1.5, 0, False)
    empty = ConicProgram(q=np.zeros(0), A=sp.csc_matrix((0, 0)), b=np.zeros(0), cones=Cones())
    refuse((lambda: write_program(empty, tmp_path / "p.dat-s"), "without variables"))


def test_the_constant_of_the_command_line_s_export_is_read_back(tmp_path):
    program = random_program(4)
    write_sdpa(program, tmp_path / "p.dat-s", constant=2.5, comment="two lines\nof remark")
    assert read_sdpa(tmp_path / "p.dat-s").constant == program.constant + 2.5
