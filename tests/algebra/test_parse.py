"""The parser: agrees with Python on everything it accepts, and refuses the rest in one line, quickly."""

import random
import time
from fractions import Fraction

import pytest

from sosdp.algebra import ParseError, polynomial, variables
from sosdp.algebra import parse as parsing
from sosdp.algebra.parse import Reader, read_number, read_rational
from tests.refusals import each, refusals, refuse

NAMES = ("x", "y", "z")
x, y, z = variables("x y z")


def random_expression(rng: random.Random, depth: int) -> str:
    """Random text of the grammar; numbers are wrapped as Fractions for Python by ``python_value``."""
    if depth == 0:
        return rng.choice(
            [rng.choice(NAMES), str(rng.randint(0, 12)), rng.choice(["0.5", "1.25", "2e-1", ".5", "3."])]
        )
    a = random_expression(rng, depth - 1)
    b = random_expression(rng, depth - rng.randint(1, depth))
    space = rng.choice(["", " ", "\n", "\t"])
    return rng.choice(
        [
            f"{a}{space}+{space}{b}",
            f"{a}{space}-{space}{b}",
            f"{a}*{space}{b}",
            f"({a}){space}*({b})",
            f"-{space}{a}",
            f"({a})**{rng.randint(0, 3)}",
            f"{a}/{rng.randint(1, 9)}",
            f"+({space}{a})",
        ]
    )


def python_value(text: str):
    """What Python's own parser makes of the text, with every number read exactly."""
    import io
    import tokenize

    pieces = []
    for token in tokenize.generate_tokens(io.StringIO(f"({text})").readline):
        if token.type == tokenize.NUMBER and not pieces[-1:] == ["**"]:
            pieces.append(f"F({token.string!r})")
        elif token.type not in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
            pieces.append(token.string)
    return eval(" ".join(pieces), {"__builtins__": {}, "F": Fraction}, dict(zip(NAMES, (x, y, z))))


def test_agrees_with_python():
    rng = random.Random("grammar")
    for _ in range(800):
        text = random_expression(rng, rng.randint(0, 4))
        assert polynomial(text) == polynomial(python_value(text)), text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-x**2", -(x**2)),
        ("2**3**2", 512),
        ("2**-1", Fraction(1, 2)),
        ("x**2**1", x**2),
        ("x**(1+1)", x**2),
        ("(x)**(2)", x**2),
        ("-2**2", -4),
        ("x - -y", x + y),
        ("x---y", x - y),
        ("x*-y", -x * y),
        ("--x", x),
        ("- (x) + (y)", y - x),
        ("1/3*x", x / 3),
        ("x/3/2", x / 6),
        ("x/(1/2)", 2 * x),
        ("2*(x+y)/4", (x + y) / 2),
        ("0.1*x", x / 10),
        ("1e-3", Fraction(1, 1000)),
        ("12345678901234567890123*x", 12345678901234567890123 * x),
        ("(x+y)*(x-y)", x**2 - y**2),
        ("(x+y)**2*z - z*(x-y)**2", 4 * x * y * z),
        ("x*2*y*(3)", 6 * x * y),
        ("(-1.5)*x + ( +2 )*y", -x * Fraction(3, 2) + 2 * y),
        ("0*x", 0),
        ("x - x", 0),
        ("0**0", 1),
        ("(x-x)**0", 1),
        ("(x-x)**1000", 0),
        ("(x-x+1)**100000", 1),
        ("(0*x-1)**100001", -1),
        ("1**999999999 + (-1)**999999999", 0),
        ("(-1)**1000000000", 1),
        ("0**7", 0),
        ("  x\n+\ty ", x + y),
        ("x * y ** 2", x * y**2),
        ("x0001", variables("x0001")),
        ("größe", variables("größe")),
    ],
)
def test_values(text, value):
    assert polynomial(text) == value
    assert polynomial(text).is_exact


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("x +", "value is missing"),
        ("* x", "value is missing"),
        ("x y", "operator is missing"),
        ("2x", "operator is missing"),
        ("2(x)", "operator is missing"),
        ("(x)(y)", "operator is missing"),
        ("x 2", "operator is missing"),
        ("x)", "')' without '('"),
        ("(x", "'(' without ')'"),
        ("()", "value is missing"),
        ("x^2", "write **"),
        ("x***2", "value is missing"),
        ("1/x", "divisor must be a number"),
        ("x/(y-y)", "division by zero"),
        ("x/0", "division by zero"),
        ("x/0.0", "division by zero"),
        ("0**-1", "division by zero"),
        ("x**-1", "non-negative integer"),
        ("x**0.5", "non-negative integer"),
        ("x**y", "exponent must be a number"),
        ("4**(1/2)", "non-negative integer"),
        ("x <= 1", "found a constraint"),
        ("x < 1", "not a relation"),
        ("x = 1", "not a relation"),
        ("x.real", "unexpected character '.'"),
        ("x[0]", "unexpected character '['"),
        ("x, y", "unexpected character ','"),
        ("'x'", "unexpected character"),
        ("1j*x", "operator is missing"),
        ("1_000", "operator is missing"),
        ("0x10", "operator is missing"),
        ("x\x00", "unexpected character"),
        ("x # y", "unexpected character '#'"),
        ("x if y else z", "operator is missing"),
        ("__import__('os')", "operator is missing"),
        ("x;y", "unexpected character"),
        ("١+x", "unexpected character"),
    ],
)
def test_malformed_text(text, reason):
    with pytest.raises(ParseError) as error:
        polynomial(text)
    assert reason in str(error.value) and "\n" not in str(error.value)
    assert isinstance(error.value, ValueError)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "1e999999999",
        "1e-999999999",
        "1e1001",
        "9" * 5000,
        "0." + "1" * 5000,
        "(x+y)**100000",
        "(x+y+z+1)**999",
        "x**1001",
        "x**99999999999999999999",
        "x*" * 1001 + "x",
        "(" * 1_000_000,
        "(" * 201 + "x" + ")" * 201,
        "-" * 300_000,
        "+" * 300_000,
        "x*" * 500_000,
        "9**9**9**9",
        "9**9**9",
        "2**99999",
        "(1/3)**99999",
        "(2*x)**900 * (3*y)**900",
        "*".join(["9" * 900] * 50),
        "((x+y)**30+z)**30",
        "*".join(f"(x+y+z+{k})" for k in range(60)) + "*(" + "+".join(f"q{k}" for k in range(3000)) + ")**3",
        "+".join(f"1/{k}" for k in range(3, 200_001, 2)),
        "x/" + "/".join(["7" * 50] * 1000),
        "(x/3+y/7+z/11+1)**150",
    ],
    ids=lambda text: text[:24],
)
def test_hostile_text_is_refused_quickly(text):
    start = time.process_time()
    refuse((lambda: polynomial(text), None, ParseError))
    assert time.process_time() - start < 15


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "(x+y)" + "*2" * 200_000,
        "-" * 100_001 + "(" + "+".join(f"{k}*x**{k % 50}" for k in range(20_000)) + ")",
        "+".join(["x"] * 100_000),
        "(" * 190 + "x" + "+y)" * 190,
        "x-(" * 150 + "+".join(f"x**{k % 9}" for k in range(5000)) + ")" * 150,
        " " * 1_000_000 + "x",
        "x" * 100_000,
    ],
    ids=lambda text: text[:16],
)
def test_odd_but_valid_text_is_read_in_linear_time(text):
    start = time.process_time()
    try:
        polynomial(text)
    except ParseError as error:
        assert "digits" in str(error)  # 2**200000
    assert time.process_time() - start < 15


def test_numbers():
    assert read_number("007") == 7 and read_number("1.50") == Fraction(3, 2) and read_number("1E+2") == 100
    assert read_rational("-1/3") == Fraction(-1, 3) and read_rational(" +2.5 ") == Fraction(5, 2)
    assert read_rational("4/2") == 2 and type(read_rational("4/2")) is int
    refuse(
        *each(
            read_rational,
            ("", "1/0", "x", "1//2", "1/2/3", "--1", "1e9999", "nan", "inf", "1/-2", "0x1", "1" * 3000),
            None,
            ParseError,
        )
    )


def test_term_lists():
    reader = Reader({"x": int(x.variable_ids[0]), "y": int(y.variable_ids[0])})
    assert reader.term_list([[1, {"x": 2}], ["-1/3", {}], [0.5, {"x": 1, "y": 1}], [2, {"x": 2}]]) == (
        3 * x**2 - Fraction(1, 3) + x * y / 2
    )
    assert reader.term_list([]) == 0 and reader.term_list([[0, {"x": 1}]]) == 0
    assert reader.term_list([[0.1, {"x": 0}]]).constant == Fraction(1, 10)
    for bad, reason in (
        ("x", "list of terms"),
        ([1], "term 0"),
        ([[1, {}], [1]], "term 1"),
        ([[1, {"q": 1}]], "unknown variable 'q'"),
        ([[1, {"x": -1}]], "non-negative"),
        ([[1, {"x": 1.0}]], "non-negative"),
        ([[1, {"x": True}]], "non-negative"),
        ([[1, {"x": 10**9}]], "degree"),
        ([[1, {"x": 600, "y": 600}]], "degree"),
        ([[True, {}]], "number"),
        ([[None, {}]], "number"),
        ([["1e999999", {}]], "exponent"),
        ([[float("nan"), {}]], "finite"),
        ([[10**20000, {}]], "digits"),
        ([[1, [["x", 1]]]], "expected"),
    ):
        with pytest.raises(ParseError, match=reason):
            reader.term_list(bad)


def test_names_are_limited_to_the_given_ones():
    reader = Reader({"x": int(x.variable_ids[0])})
    assert reader.polynomial("x**2") == x**2
    refuse(*each(reader.polynomial, ("y", "x + y*x", "x*y", "(y)"), "unknown variable 'y'", ParseError))


def test_constraints():
    reader = Reader()
    assert reader.constraint("x**2 + y <= 1") == (x**2 + y - 1, "<=")
    assert reader.constraint("x == (y)")[1] == "==" and reader.constraint("1>=x") == (1 - x, ">=")
    for text, reason in (
        ("x", "expected a constraint"),
        ("0 <= x <= 1", "exactly one"),
        ("(x <= 1)", "inside parentheses"),
        ("x <=", "value is missing"),
        ("<= 1", "value is missing"),
        ("x < 1", "not a relation"),
        ("x != 1", "not a relation"),
        ("x =< 1", "not a relation"),
        ("x <= = 1", "not a relation"),
    ):
        with pytest.raises(ParseError, match=reason):
            reader.constraint(text)


def test_one_budget_for_all_texts_of_a_reader(monkeypatch):
    monkeypatch.setattr(parsing, "MAX_PRODUCTS", 1000)
    reader = Reader()
    text = "(x + y + z + 1)*(x - y + z - 1)"
    with pytest.raises(ParseError, match="expanding"):
        for _ in range(1000):
            reader.polynomial(text)


def test_long_texts_read_in_linear_time():
    rng = random.Random(7)
    terms = [
        "*".join([f"{rng.uniform(-5, 5):.4f}"] + [f"x{rng.randrange(100)}" for _ in range(3)])
        for _ in range(30_000)
    ]

    def seconds(count):
        text = " + ".join(terms[:count])
        start = time.process_time()
        assert polynomial(text).degree == 3
        return time.process_time() - start

    seconds(1000)
    small, large = seconds(3000), seconds(30_000)
    assert large < 40 * small + 1 and large < 10


test_errors_name_the_column = refusals((lambda: polynomial("x + ^"), r"column 5", ParseError))
