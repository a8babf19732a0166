"""Every mechanism's name leads to the page that its own module names; an installation has the pages."""

import re
from pathlib import Path

import pytest

from sosdp import pages
from sosdp.cli import main
from sosdp.privacy import Guarantee, compose

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r'(?:mechanism(?:: str)? ?=? ?= ?f?|on_terms\(\s*|_terms\(\w+, )"([a-z][^"{]*)')
# What is no mechanism of its own: parts that are composed, refusals, and modules that name another's page.
OTHER_PAGES = {
    "budget",
    "gaussian.refused",
    "cuts.graph and queries",
    "edge flips",
    "projection",
    "cuts.",
    "gaussian.",
    "private_estimator.",
    "sbm.",
}


def named() -> list[tuple[str, str]]:
    """(mechanism, file) of every name in the source."""
    result = set()
    for folder in ("sosdp", "problems"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in NAMED.findall(path.read_text(encoding="utf-8")):
                if name not in OTHER_PAGES and "not_private" not in path.name:
                    result.add((name, str(path.relative_to(ROOT))))
    return sorted(result)


@pytest.mark.parametrize(("mechanism", "file"), named())
def test_a_mechanism_leads_to_a_page_that_its_module_names(mechanism, file):
    text = (ROOT / file).read_text(encoding="utf-8")
    page = pages.page_of(mechanism)
    assert pages.path(page).is_file()
    assert page != pages.OTHERS, mechanism
    own = set(re.findall(r"docs/proofs/(\w+)\.md", text))
    siblings = [path.read_text(encoding="utf-8") for path in (ROOT / file).parent.glob("*.py")]
    folder = set(re.findall(r"docs/proofs/(\w+)\.md", " ".join(siblings)))
    assert page in (own or folder), (mechanism, page, own)


def test_a_guarantee_names_its_page_and_a_composition_the_rules():
    one = Guarantee(epsilon=1.0, delta=0.0, mechanism="private quantile")
    assert Path(one.proof).stem == "private_quantile" and Path(one.proof).is_file()
    assert Path(compose([one, one]).proof).stem == "composition"
    assert Path(Guarantee(epsilon=1.0, delta=0.0, mechanism="my own").proof).stem == "composition"


def test_the_command_lists_and_prints(capsys):
    assert main(["proofs"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(pages.names()) > 50
    assert main(["proofs", "sbm_certificate"]) == 0
    assert capsys.readouterr().out == pages.path("sbm_certificate").read_text(encoding="utf-8")
    assert main(["proofs", "sbm_certificate", "--path"]) == 0
    assert capsys.readouterr().out.strip().endswith("sbm_certificate.md")
    assert main(["proofs", "sbm_certifcate"]) == 2
    assert "did you mean 'sbm_certificate'?" in capsys.readouterr().err
    assert main(["proofs", "../../README"]) == 2
