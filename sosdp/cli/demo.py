"""`sosdp demo`: the main job on real input, in under a minute, as a report one can read.

Two polynomial problems go from file to exact certificate; two real graphs go through the private mechanism,
one that can be answered at the budget and one that cannot.  What is released and what is only an evaluation
(it uses the private graph and the known labels, so it could never be published) are kept apart, in the report
as in the code.
"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import sosdp.cli.demo_tables as tables
import sosdp.cli.report as report
from sosdp.answer import Answer, certify, certify_optimum, solve_problem
from sosdp.cli.demo_tables import Output, Section, best_cut
from sosdp.cli.output import ANSWERED, NOT_ANSWERED, InputError, one_line, quiet_stdout
from sosdp.extras import MissingPackage, missing
from sosdp.plot import figures as plot
from sosdp.show import rounded_safely

EPSILON, DELTA = 1.0, 1e-6


def run(arguments: Namespace) -> int:
    """Run the demonstration into `arguments.out`; exit 0 when every certificate it wrote was verified."""
    folder = Path(arguments.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: --out: {error.strerror or error}") from error
    start = time.perf_counter()
    output = Output(folder)
    print(f"sosdp demo, writing to {folder}/")
    sections = []
    for number, step in enumerate(STEPS, 1):
        with quiet_stdout():
            section = _section(step, output)
        print(f"\n{number}. {section.title}")
        for line in section.lines:
            print(f"   {line}")
        sections.append(section)
    seconds = time.perf_counter() - start
    document = report.page("sosdp: what it does, on real input", _blocks(sections), _footer(seconds))
    path = report.write(folder / "report.html", document)
    print(f"\nreport: {path} ({seconds:.0f} s)")
    lacking = missing("matplotlib", "sklearn", "networkx")
    if lacking:
        print('with pictures and more data: pip install "sosdp[demo]"')
    return ANSWERED if all(section.fine for section in sections) else NOT_ANSWERED


def _section(step: Callable[[Output], Section], output: Output) -> Section:
    """One part of the demonstration, or a line that says what it lacks."""
    try:
        return step(output)
    except MissingPackage as error:
        title = (step.__doc__ or "").partition(":")[0]
        return Section(f"{title} (left out)", [report.paragraph(one_line(error))], [one_line(error)])


def _blocks(sections: list[Section]) -> list[str]:
    lead = (
        "State a polynomial program; get a bound that is proven, and a private estimator whose promise "
        "survives real solvers. Everything on this page was computed by the run that wrote it, from data "
        "that come with the installed packages."
    )
    titles = [f"{number}. {section.title}" for number, section in enumerate(sections, 1)]
    blocks = [report.paragraph(lead, lead=True), report.contents(titles)]
    for title, section in zip(titles, sections, strict=True):
        blocks += [report.heading(title, anchor=True), *section.blocks]
    return blocks


def _footer(seconds: float) -> str:
    from sosdp._version import __version__

    return (
        f"Written by sosdp {__version__} in {seconds:.0f} s. The certificates and releases named here lie "
        "beside this file; check a certificate with: sosdp verify FILE"
    )


def certified(output: Output, name: str) -> tuple[Any, Any, Any, str]:
    """Solve an example file, write its certificate, check it from disk: (problem, answer, proof, verdict)."""
    from certificates.check import check_file
    from sosdp.model.problem_file import load_problem

    source = files("sosdp.cli").joinpath("examples", f"{name}.sos.json").read_text(encoding="utf-8")
    file = output.text(f"{name}.sos.json", source)
    problem = load_problem(file)
    answer = solve_problem(problem)
    proof = proven(answer)
    target = output.folder / f"{name}.cert.json"
    proof.save(target)
    return problem, answer, proof, check_file(target, file).status


def proven(answer: Answer) -> Any:
    """The exact proof of the optimum where there is one; of the whole number nearby; else of a bound."""
    import certificates
    from certificates.find.rounding import NotCertifiable

    try:
        return certify_optimum(answer)
    except (NotCertifiable, ValueError):  # no point attains it, or none was found
        whole = round(answer.bound or 0.0)
    try:
        return certificates.extract(answer.parts[0]).exact(bound=whole)
    except (NotCertifiable, ValueError):
        return certify(answer)


def _commands(name: str) -> str:
    return report.code(
        f"$ sosdp solve {name}.sos.json --certificate {name}.cert.json\n"
        f"$ sosdp verify {name}.cert.json --against {name}.sos.json"
    )


def _proof_facts(answer: Any, proof: Any, verdict: str) -> str:
    side = max(len(m.basis) for m in proof.multipliers)
    return report.facts(
        {
            "solver's value": f"{answer.bound:.9g}",
            f"proven {answer.bound_kind} bound": rounded_safely(answer.certified_bound, answer.bound_kind)
            + " (floating point, all rounding counted)",
            "exact certificate": f"bound {proof.claim.bound}, {len(proof.multipliers)} multipliers, "
            f"largest Gram matrix of side {side}",
            "independent checker": verdict,
        }
    )


def polynomial(output: Output) -> Section:
    """Motzkin's polynomial on a disc: nonnegative, famously not a sum of squares, and its minimum proven."""
    problem, answer, proof, verdict = certified(output, "motzkin_ball")
    section = Section("A polynomial: from a file to a proof", fine=verdict == "valid")
    section.blocks += [
        report.paragraph(
            "Motzkin's polynomial is nonnegative but not a sum of squares, so no such argument bounds it "
            "on the whole plane. On a disc one exists. The problem file says `minimize x**4*y**2 + "
            "x**2*y**4 - 3*x**2*y**2 + 1` subject to `x**2 + y**2 <= 3`, at degree 8."
        ),
        _commands("motzkin_ball"),
        _proof_facts(answer, proof, verdict),
        report.paragraph(
            "The true minimum is 0, at four points; they are read off the optimal pseudo-expectation. The "
            "certificate is an identity between polynomials with rational coefficients: the checker "
            "expands it and trusts neither the solver nor the rest of this library."
        ),
        output.picture(
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
        ),
    ]
    section.lines += [
        f"value {answer.bound:.2g}, proven to be at least {proof.claim.bound}; {len(answer.atoms)} "
        "minimisers",
        f"motzkin_ball.cert.json: {verdict}",
    ]
    return section


def largest_cut(output: Output) -> Section:
    """The largest cut of the Petersen graph: an upper bound by certificate, and a cut that meets it."""
    _, answer, proof, verdict = certified(output, "maxcut_petersen")
    edges = [pair for v in range(5) for pair in ((v, (v + 1) % 5), (v, v + 5), (v + 5, (v + 2) % 5 + 5))]
    side = best_cut(answer.parts[0], edges)
    size = sum(side[u] != side[v] for u, v in edges)
    proven = int(proof.claim.bound)  # a cut is a whole number of edges
    settled = verdict == "valid" and size == proven
    section = Section("A graph problem: the largest cut, settled", fine=settled)
    turn = {v: np.pi / 2 + 2 * np.pi * (v % 5) / 5 for v in side}
    layout = {v: ((1 + (v < 5)) * np.cos(turn[v]), (1 + (v < 5)) * np.sin(turn[v])) for v in side}
    section.blocks += [
        report.paragraph(
            "Split the ten vertices of the Petersen graph in two so that as many of its 15 edges as "
            "possible cross. The relaxation gives an upper bound that holds for every split; rounding its "
            "solution gives a split."
        ),
        _commands("maxcut_petersen"),
        _proof_facts(answer, proof, verdict),
        report.paragraph(
            f"No cut has more than {proven} edges (proven), and the cut below has {size}"
            + (": it is optimal." if settled else ", so the question stays open between the two.")
        ),
        output.picture(
            "petersen.png",
            lambda: plot.cut(layout, edges, side, f"A cut of {size} of the 15 edges"),
            f"The Petersen graph with its vertices in two groups; {size} edges join the groups",
            "Solid edges cross between the two groups, dotted ones do not.",
        ),
    ]
    section.lines += [
        f"no cut has more than {proven} edges, and one with {size} was found",
        f"maxcut_petersen.cert.json: {verdict}",
    ]
    return section


def release_of(output: Output, name: str, graph: Any) -> Any:
    """Fit the certificate mechanism at the demonstration's budget and save what it released."""
    from problems.sbm import CertificateRecovery

    fitted = CertificateRecovery(epsilon=EPSILON, delta=DELTA).fit(graph)
    output.text(f"{name}.release.json", json.dumps(fitted.release_.to_dict(), indent=1) + "\n")
    return fitted


def _release_facts(fitted: Any) -> Mapping[str, str]:
    guarantee = fitted.guarantee_
    labels = fitted.labels_
    if labels is None:
        answer = "nothing: the mechanism declined"
    else:
        answer = f"two groups, of {int((labels == 1).sum())} and {int((labels == -1).sum())} vertices"
    return {
        "released": answer,
        "guarantee": guarantee.statement(),
        "mechanism": fitted.release_.mechanism,
        "assumptions": "; ".join(guarantee.assumptions)
        or "none beyond the operating system's random numbers",
    }


def digits(output: Output) -> Section:
    """Handwritten sixes and sevens by similarity: the true groups, released privately."""
    from problems.sbm import RandomizedResponseRecovery, digits_graph, error_rate, release_probability
    from problems.sbm.program import dual_slack

    data = digits_graph(6, 7)
    n = len(data.labels)
    edges = data.adjacency.nnz // 2
    fitted = release_of(output, "digits", data.adjacency)
    section = Section("A graph that can be answered: handwritten digits")
    section.blocks += [
        report.paragraph(
            f"{n} images of handwritten sixes and sevens, joined where one is among the other's 100 "
            "nearest. The graph is taken as private, and the groups are wanted. Neighbouring graphs "
            "differ in one edge, so what is protected is each single similarity, not an image."
        ),
        report.code(
            "from sosdp.problems.sbm import CertificateRecovery, digits_graph\ngraph = digits_graph(6, "
            "7).to_networkx()\nest = CertificateRecovery(epsilon=1.0, "
            "delta=1e-6).fit(graph)\nest.labels_, est.guarantee_"
        ),
        report.box("release", "The release: this may be published", [report.facts(_release_facts(fitted))]),
    ]
    section.lines.append(f"{_release_facts(fitted)['released']}; {fitted.guarantee_.statement()}")
    slack = dual_slack(data.adjacency, data.labels, fitted.public_tau(n))
    chance = release_probability(slack, EPSILON, DELTA)
    baseline = RandomizedResponseRecovery(epsilon=EPSILON).fit(data.adjacency)
    rows: list[list[str | float | int]] = []
    wrong = None
    if fitted.labels_ is not None:
        wrong = round(n * error_rate(fitted.labels_, data.labels))
        rows.append(["certificate (released above)", f"{EPSILON:g}", f"{DELTA:g}", wrong])
    if baseline.labels_ is not None:
        missed = round(n * error_rate(baseline.labels_, data.labels))
        rows.append(["randomised response, a standard baseline", f"{EPSILON:g}", "0", missed])
    evaluation = [
        report.paragraph(
            f"The graph has {edges} edges, and the certificate of its best bisection a slack of "
            f"{slack:.1f}: a release was to be expected with probability {chance:.5f}. Against the known "
            "classes:"
        ),
        report.table(["method", "epsilon", "delta", f"wrong labels of {n}"], rows),
    ]
    evaluation += _smaller_budget()
    if fitted.labels_ is not None:
        evaluation.append(_digit_picture(output, data, fitted.labels_))
    label = "The evaluation: it uses the private graph and the true classes, and is not part of the release"
    section.blocks.append(report.box("evaluation", label, evaluation))
    if wrong is not None:
        section.lines.append(f"evaluation, not released: {wrong} of {n} labels are wrong")
    return section


def _smaller_budget() -> list[str]:
    """Certificate and baseline where the budget is short: the chance that every label is right."""
    from problems.sbm import RandomizedResponseRecovery, digits_graph, error_rate, release_probability
    from problems.sbm.program import dual_slack

    data = digits_graph(6, 7, 110)
    slack = dual_slack(data.adjacency, data.labels, 0.5)
    seeds = range(40)
    rows: list[list[str | float | int]] = []
    for epsilon in (0.5, 0.6):
        flips = [RandomizedResponseRecovery(epsilon, insecure_seed=k).fit(data.adjacency) for k in seeds]
        right = sum(error_rate(fit.labels_, data.labels) == 0 for fit in flips if fit.labels_ is not None)
        certificate = release_probability(slack, epsilon, DELTA)
        rows.append([f"{epsilon:g}", f"{certificate:.2f}", f"{right / len(seeds):.2f}"])
    return [
        report.paragraph(
            "Flipping edges at random, the standard baseline, does well at epsilon 1 on a graph this "
            "dense. With less budget the certificate is ahead (110 neighbours; 40 seeded runs of the "
            "baseline), and it can tell when it knows: it releases the optimum or declines, where flips "
            "are silently wrong."
        ),
        report.table(["epsilon", "certificate: all labels right", "flips: all labels right"], rows),
    ]


def _digit_picture(output: Output, data: Any, labels: np.ndarray) -> str:
    from problems.sbm.datasets import handwritten_digits

    pixels, shown = handwritten_digits()
    images = pixels[np.isin(shown, (6, 7))]
    points = images - images.mean(axis=0)
    left, scale, _ = np.linalg.svd(points, full_matrices=False)
    plane = left[:, :2] * scale[:2]
    upper = data.adjacency.tocoo()
    edges = np.column_stack([upper.row, upper.col])[upper.row < upper.col]
    pictures = {sign: images[labels == sign].mean(axis=0).reshape(8, 8) for sign in (1, -1)}
    return output.picture(
        "digits.png",
        lambda: plot.groups(
            plane, labels, edges, pictures, ("The graph and its released labels", "Mean image of each group")
        ),
        "A graph whose vertices form two clouds with different labels, and the mean image of each group: "
        "a six, a seven",
        "Left: the images in the plane of their two principal components, coloured by the released label; "
        "lines are edges, dark where they join the two groups. Right: the average image of each released "
        "group.",
    )


def karate(output: Output) -> Section:
    """Zachary's karate club: too small for any answer at this budget, which public facts alone foretell."""
    from problems.sbm import (
        digits_graph,
        karate_club,
        projection_threshold,
        randomised_response_threshold,
        release_probability,
        required_slack,
    )
    from problems.sbm.program import dual_slack

    data = karate_club()
    n = len(data.labels)
    fitted = release_of(output, "karate", data.adjacency)
    tau = fitted.public_tau(n)
    largest = n * max(tau, 1 - tau)  # trace of the slack matrix over n - 1, for every graph and labelling
    needed = required_slack(EPSILON, DELTA, failure=0.5)
    section = Section("A graph that cannot: the karate club")
    rows: list[list[str | float | int]] = [
        ["certificate", "slack of the dual certificate", needed, largest],
        ["private projection", "signal gamma d", projection_threshold(EPSILON, DELTA), n / 2],
    ]
    section.blocks += [
        report.paragraph(
            f"Zachary's karate club: {n} people, and the friendships between them as the private edges. "
            "At the same budget nothing useful can be said, and one need not look at a single edge to "
            "know it: the number of vertices is public, and it limits what any graph of that size can "
            "offer."
        ),
        report.box("release", "The release: this may be published", [report.facts(_release_facts(fitted))]),
        report.table(
            ["mechanism", "what decides", "needed for an even chance", f"most that {n} vertices can offer"],
            rows,
        ),
        report.paragraph(
            f"Even the best graph on {n} vertices would be answered with probability "
            f"{release_probability(largest, EPSILON, DELTA):.1e} by the certificate mechanism. Randomised "
            f"response would need a signal of {randomised_response_threshold(n, EPSILON):.1f}: more "
            "friends than that a person, and all in one's own group. A method that returned confident "
            "groups here would be guessing or leaking."
        ),
    ]
    section.lines += [
        f"{_release_facts(fitted)['released']}; {fitted.guarantee_.statement()}",
        f"foretold by public facts: slack needed {needed:.0f}, any graph on {n} vertices has at most "
        f"{largest:.0f}",
    ]
    marks = {f"any graph on\n{n} vertices:\nat most {largest:.0f}": (largest, plot.VERMILION)}
    six_seven = digits_graph(6, 7)
    slack = dual_slack(six_seven.adjacency, six_seven.labels, fitted.public_tau(len(six_seven.labels)))
    marks[f"digits 6 and 7:\n{slack:.0f}"] = (slack, plot.BLUE)
    grid = np.linspace(0.0, max(60.0, 1.15 * slack), 400)
    curve = np.array([release_probability(value, EPSILON, DELTA) for value in grid])
    section.blocks.append(
        report.box(
            "evaluation",
            "The evaluation: the blue mark uses the private graph",
            [
                output.picture(
                    "chance.png",
                    lambda: plot.accept_curve(
                        grid, curve, marks, f"When there is an answer (epsilon {EPSILON:g}, delta {DELTA:g})"
                    ),
                    "The chance of an answer rises from 0 to 1 as the slack grows; the karate club lies "
                    "far to the left of the rise, the digits to the right",
                    "The chance of a release against the slack of the certificate. The curve and the red "
                    "mark are public knowledge.",
                )
            ],
        )
    )
    return section


STEPS = (
    polynomial,
    largest_cut,
    digits,
    karate,
    tables.table,
    tables.mixture,
    tables.cuts,
    tables.field,
)
"""The parts of the demonstration in their order."""
