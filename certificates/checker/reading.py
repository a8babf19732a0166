"""What the checker reads beside the kernel: files that people take for certificates.

Standard library only.
"""

from __future__ import annotations

from typing import Any

RESULT_FORMAT = "sosdp-result/1"
FORMAT, PROBLEM_FORMAT = "sosdp-certificate/1", "sosdp-problem/1"


def another_file(content: Any) -> str:
    """What a JSON object is when it is no certificate but a file that people take for one; "" otherwise."""
    if not isinstance(content, dict) or "claim" in content:
        return ""
    if content.get("format") == RESULT_FORMAT:
        return (
            "this is a result of 'sosdp solve --json', not a certificate: give 'sosdp solve' "
            "--certificate CERT.json as well, and check that file"
        )
    questions = {"minimize", "maximize", "feasible", "sos", "subject_to"}
    if content.get("format") == PROBLEM_FORMAT or ("format" not in content and questions & content.keys()):
        return (
            "this is a problem file, not a certificate: "
            "'sosdp solve PROBLEM.sos.json --certificate CERT.json' makes one, and "
            "'sosdp verify CERT.json --against PROBLEM.sos.json' checks it"
        )
    return ""
