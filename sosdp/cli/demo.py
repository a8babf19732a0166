"""`sosdp demo`: the main job on real input, as a report one can read.

What may be published and what was computed from the private data stand apart in boxes; every certificate
that is written is checked again from its file.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import sosdp.cli.demo_private as private
import sosdp.cli.report as report
from sosdp.answer import certify_optimum, solve_problem
from sosdp.cli.demo_private import DELTA, EPSILON, Output, Section
from sosdp.cli.output import ANSWERED, NOT_ANSWERED, InputError, one_line, quiet_stdout, said
from sosdp.extras import MissingPackage, missing
from sosdp.plot import figures as plot
from sosdp.show import rounded_safely
from sosdp.write import write_whole

LEAD = (
    "State a polynomial program; get a bound that is proven, and a private estimator whose promise "
    "survives real solvers. Everything on this page was computed by the run that wrote it, from data "
    "that come with the installed packages."
)


def run(arguments: Namespace) -> int:
    """Run the demonstration into `arguments.out`; exit 0 when every certificate it wrote was verified."""
    from sosdp._version import __version__

    folder = Path(arguments.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: --out: {said(error)}") from error
    start, sections = time.perf_counter(), []
    print(f"sosdp demo, writing to {folder}/")
    for number, step in enumerate(STEPS, 1):
        with quiet_stdout():
            section = _section(step, Output(folder))
        print("\n   ".join([f"\n{number}. {section.title}", *section.lines]))
        sections.append(section)
    seconds = time.perf_counter() - start
    titles = [f"{number}. {section.title}" for number, section in enumerate(sections, 1)]
    blocks = [report.paragraph(LEAD, lead=True), report.contents(titles)]
    for title, section in zip(titles, sections, strict=True):
        blocks += [report.heading(title), *section.blocks]
    footer = (
        f"Written by sosdp {__version__} in {seconds:.0f} s. The certificates and releases named here lie "
        "beside this file; check a certificate with: sosdp verify FILE"
    )
    path = folder / "report.html"
    write_whole(path, report.page("sosdp: what it does, on real input", blocks, footer))
    print(f"\nreport: {path} ({seconds:.0f} s)")
    if missing("matplotlib", "sklearn", "networkx"):
        print('with pictures and more data: pip install "sosdp[demo]"')
    return ANSWERED if all(section.fine for section in sections) else NOT_ANSWERED


def _section(step: Callable[[Output], Section], output: Output) -> Section:
    """One part of the demonstration, or a line that says what it lacks."""
    try:
        return step(output)
    except MissingPackage as error:
        title = (step.__doc__ or "").partition(":")[0]
        return Section(f"{title} (left out)", [report.paragraph(one_line(error))], [one_line(error)])


def certified(output: Output, name: str) -> tuple[Any, Any, Any, str, list[str]]:
    """Solve an example file, write its certificate, check it from disk: (problem, answer, proof, verdict,
    blocks that say so)."""
    from certificates import extract
    from certificates.check import check_file
    from certificates.find.rounding import NotCertifiable
    from sosdp.model.problem_file import load_problem

    source = files("sosdp.cli").joinpath("examples", f"{name}.sos.json").read_text(encoding="utf-8")
    file, target = output.text(f"{name}.sos.json", source), output.folder / f"{name}.cert.json"
    problem = load_problem(file)
    answer: Any = solve_problem(problem)
    try:
        proof = certify_optimum(answer)
    except (NotCertifiable, ValueError):  # no point that attains it was read off: the whole number nearby
        proof = extract(answer.parts[0]).exact(bound=round(answer.bound or 0.0))
    proof.save(target)
    verdict = check_file(target, file).status
    commands = (
        f"$ sosdp solve {name}.sos.json --certificate {name}.cert.json\n"
        f"$ sosdp verify {name}.cert.json --against {name}.sos.json"
    )
    facts = {
        "solver's value": f"{answer.bound:.9g}",
        f"proven {answer.bound_kind} bound": rounded_safely(answer.certified_bound, answer.bound_kind)
        + " (floating point, all rounding counted)",
        "exact certificate": f"bound {proof.claim.bound}, {len(proof.multipliers)} multipliers, largest Gram "
        f"matrix of side {max(len(m.basis) for m in proof.multipliers)}",
        "independent checker": verdict,
    }
    return problem, answer, proof, verdict, [report.code(commands), report.facts(facts)]


def polynomial(output: Output) -> Section:
    """Motzkin's polynomial on a disc: nonnegative, famously not a sum of squares, and its minimum proven."""
    problem, answer, proof, verdict, blocks = certified(output, "motzkin_ball")
    picture = output.picture(
        "motzkin.png",
        lambda: plot.landscape(
            lambda points: problem.objective(points),
            float(np.sqrt(3.0)),
            np.array(answer.atoms),
            "Motzkin's polynomial on the disc (logarithmic colours)",
            problem.variables,
        ),
        "Contours of Motzkin's polynomial on a disc with four marked minimisers near (1, 1) and its "
        "mirror images",
        "Dark is low. The marked points are the minimisers the solver found.",
    )
    return Section(
        "A polynomial: from a file to a proof",
        [
            report.paragraph(
                "Motzkin's polynomial is nonnegative but not a sum of squares, so no such argument bounds it "
                "on the whole plane. On a disc one exists. The problem file says `minimize x**4*y**2 + "
                "x**2*y**4 - 3*x**2*y**2 + 1` subject to `x**2 + y**2 <= 3`, at degree 8."
            ),
            *blocks,
            report.paragraph(
                "The true minimum is 0, at four points; they are read off the optimal pseudo-expectation. "
                "The certificate is an identity between polynomials with rational coefficients: the checker "
                "expands it and trusts neither the solver nor the rest of this library."
            ),
            picture,
        ],
        [
            f"value {answer.bound:.2g}, proven to be at least {proof.claim.bound}; {len(answer.atoms)} "
            "minimisers",
            f"motzkin_ball.cert.json: {verdict}",
        ],
        verdict == "valid",
    )


def largest_cut(output: Output) -> Section:
    """The largest cut of the Petersen graph: an upper bound by certificate, and a cut that meets it."""
    _, _, proof, verdict, blocks = certified(output, "maxcut_petersen")
    edges = [pair for v in range(5) for pair in ((v, (v + 1) % 5), (v, v + 5), (v + 5, (v + 2) % 5 + 5))]
    sides = (dict(enumerate(signs)) for signs in product((1, -1), repeat=10))
    side = max(sides, key=lambda side: sum(side[u] != side[v] for u, v in edges))
    size, most = sum(side[u] != side[v] for u, v in edges), int(proof.claim.bound)  # of whole edges
    turn = {v: np.pi / 2 + 2 * np.pi * (v % 5) / 5 for v in side}
    layout = {v: ((1 + (v < 5)) * np.cos(turn[v]), (1 + (v < 5)) * np.sin(turn[v])) for v in side}
    picture = output.picture(
        "petersen.png",
        lambda: plot.cut(layout, edges, side, f"A cut of {size} of the 15 edges"),
        f"The Petersen graph with its vertices in two groups; {size} edges join the groups",
        "Solid edges cross between the two groups, dotted ones do not.",
    )
    return Section(
        "A graph problem: the largest cut, settled",
        [
            report.paragraph(
                "Split the ten vertices of the Petersen graph in two so that as many of its 15 edges as "
                "possible cross. The relaxation gives an upper bound that holds for every split."
            ),
            *blocks,
            report.paragraph(f"No cut has more than {most} edges (proven), and the cut below has {size}."),
            picture,
        ],
        [
            f"no cut has more than {most} edges, and one with {size} was found",
            f"maxcut_petersen.cert.json: {verdict}",
        ],
        verdict == "valid" and size == most,
    )


def karate(output: Output) -> Section:
    """Zachary's karate club: too small for exact labels at this budget, which public facts alone show."""
    from problems.sbm import (
        CertificateRecovery,
        karate_club,
        projection_threshold,
        randomised_response_threshold,
        release_probability,
        required_slack,
    )

    club = karate_club()
    n = len(club.labels)
    fitted = CertificateRecovery(epsilon=EPSILON, delta=DELTA).fit(club.adjacency)
    output.release("karate", fitted.release_)
    tau = fitted.public_tau(n)
    most = n * max(tau, 1 - tau)  # trace of the slack matrix over n - 1, for every graph and labelling
    needed, guarantee = required_slack(EPSILON, DELTA, failure=0.5), fitted.guarantee_.statement()
    grid = np.linspace(0.0, 60.0, 400)
    curve = np.array([release_probability(value, EPSILON, DELTA) for value in grid])
    marks = {f"any graph on\n{n} vertices:\nat most {most:.0f}": (most, plot.VERMILION)}
    picture = output.picture(
        "chance.png",
        lambda: plot.accept_curve(
            grid, curve, marks, f"When there is an answer (epsilon {EPSILON:g}, delta {DELTA:g})"
        ),
        "The chance of an answer rises from 0 to 1 as the slack grows; the karate club lies far to the left "
        "of the rise",
        "The chance of a release against the slack of the certificate: public knowledge.",
    )
    return Section(
        "A refusal that public facts predict: exact communities of the karate club",
        [
            report.paragraph(
                f"Zachary's karate club: {n} people, and the friendships between them as the private edges. "
                "The certificate mechanism releases all labels or none. At this budget it releases none for "
                "any graph of that size, which the public number of vertices shows before an edge is read. "
                "`sosdp private sbm --method auto` flips edges here instead, and about a third of its labels "
                "are wrong."
            ),
            report.box(
                "release",
                "The release: this may be published",
                [report.facts({"released": "no labels: the mechanism declined", "guarantee": guarantee})],
            ),
            report.table(
                ["mechanism", "what decides", "needed for probability 1/2", f"most that {n} vertices offer"],
                [
                    ["certificate", "slack of the dual certificate", needed, most],
                    ["private projection", "signal gamma d", projection_threshold(EPSILON, DELTA), n / 2],
                ],
            ),
            report.paragraph(
                f"Even the best graph on {n} vertices would be answered with probability "
                f"{release_probability(most, EPSILON, DELTA):.1e} by the certificate mechanism. Randomised "
                f"response would need a signal of {randomised_response_threshold(n, EPSILON):.1f}: more "
                "friends than that a person, and all in one's own group."
            ),
            picture,
        ],
        [
            f"no labels: the certificate declined; {guarantee}",
            f"known from public facts: slack needed {needed:.0f}, any graph on {n} vertices has at most "
            f"{most:.0f}",
        ],
    )


STEPS = (
    private.table,
    private.digits,
    private.synthetic,
    private.mixture,
    private.cuts,
    polynomial,
    largest_cut,
    karate,
)
"""The parts of the demonstration in their order: what can be answered first, the refusal last."""
