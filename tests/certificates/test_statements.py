"""The table of statements: solved, proven or refused, and replayed by the kernel against the problem."""

import json
from fractions import Fraction
from typing import Any

import pytest

import certificates
import sosdp as sd
from certificates import kernel
from certificates.as_problem import problem_of
from tests.certificates.statements import STATEMENTS
from tests.certificates.stating import problem


def outcome(statement: Any) -> tuple[Any, dict[str, Any] | None]:
    """The proof, or None, and the problem file's object, if there is one."""
    if callable(statement):
        return certificates.decide(statement()).proof, None
    bound = statement.get("bound")
    file = problem({key: value for key, value in statement.items() if key != "bound"})
    answer = sd.load_problem(file).solve()
    if bound is not None:
        return certificates.decide(answer.parts[0], bound=bound).proof, file
    try:
        return answer.proof(), file
    except (ValueError, certificates.CertificateError):
        return None, file


@pytest.mark.few(50)
@pytest.mark.parametrize(
    ("statement", "end"), [row[1:] for row in STATEMENTS], ids=[row[0] for row in STATEMENTS]
)
def test_a_statement(statement, end):
    proof, file = outcome(statement)
    if end == "open":
        assert proof is None
        return
    content = json.loads(json.dumps(proof.to_dict()))
    claim = content["claim"]
    compared = claim["kind"] != "no_certificate" or {"sos", "degree"} <= (file or {}).keys()
    assert certificates.check_certificate(content, file if compared else None)
    if end == "none":
        assert claim["kind"] == "no_certificate"
        return
    answer = kernel.replay(problem_of(content) if file is None else file, content)
    assert answer.show()
    assert (answer.bound is None) == (end == "empty")
    if end in ("empty", "sos"):
        assert end == "empty" or claim["kind"] == "sos"
        return
    bound = Fraction(claim["bound"])
    near = Fraction(end.rstrip("~"))
    size = max(1, abs(near))
    assert bound == near if not end.endswith("~") else abs(bound - near) <= Fraction(1, 10**5) * size
