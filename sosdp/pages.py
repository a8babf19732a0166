"""The proof pages that come with an installation, and which of them a mechanism rests on."""

from __future__ import annotations

from pathlib import Path

# The page of each mechanism by the beginning of its name; the longest beginning that fits decides.
_PAGES = {
    "bounded average": "bounded_average",
    "clipped moments": "tuples_clustering",
    "cuts.error bound": "cuts_error_bar",
    "cuts.offline": "cuts_offline",
    "cuts.online": "cuts_online",
    "cuts.number of edges": "cuts_online",
    "cuts": "cuts_synthetic_graph",
    "exponential.pure": "exponential_mechanism",
    "exponential.truncated": "truncated_mechanism",
    "frank-wolfe": "mrf_frank_wolfe",
    "friends": "friends",
    "gaussian": "gaussian_release",
    "gaussian.": "gaussian_frame",
    "gaussian.learner": "gaussian_whitening",
    "gaussian.likelihood": "gaussian_likelihood",
    "gaussian.published": "gaussian_published",
    "gaussian.regression": "gaussian_regression",
    "gaussian.whole_mean": "gaussian_whole_means",
    "gmm": "gmm_aggregate",
    "gmm.direct": "gmm_program",
    "h-score test": "tuples_averages",
    "h-score test, sigma": "gmm_aggregate",
    "interior point": "interior_point",
    "margin": "agreement",
    "mrf": "mrf_moments",
    "mrf.correlation-graph": "mrf_structure",
    "mrf.frank-wolfe": "mrf_frank_wolfe",
    "mrf.sparse-logistic": "mrf_frank_wolfe",
    "mrf.t-wise": "mrf_parities",
    "mrf.tree": "mrf_structure",
    "mrf.vote": "mrf_structure",
    "multiplicative weights": "multiplicative_weights",
    "noisy max": "noisy_max",
    "online interaction": "cuts_online",
    "opendp": "opendp_bridge",
    "parity-": "mrf_parities",
    "private count": "columns",
    "private histogram": "private_histogram",
    "private mean": "columns",
    "private quantile": "private_quantile",
    "private scaler": "private_quantile",
    "private sum": "columns",
    "private_estimator.consensus": "consensus",
    "private_estimator.packing": "gaussian_scores",
    "private synthetic table": "synthetic_tables",
    "private table": "tables",
    "private_estimator.projection": "strongly_convex",
    "private_estimator.score": "bracket_scores",
    "private_estimator.statistic": "stability_statistics",
    "projected-gradient": "mrf_moments",
    "projection.gaussian": "gaussian_release",
    "sbm.auto": "sbm_auto",
    "sbm.certificate": "sbm_certificate",
    "sbm.communities": "sbm_communities",
    "sbm.edge_count": "sbm_parameters",
    "sbm.eigenvalue": "sbm_parameters",
    "sbm.exponential": "sbm_exponential",
    "sbm.parameters": "sbm_parameters",
    "sbm.projection": "sbm_weak_recovery",
    "sbm.randomized_response": "sbm_randomized_response",
    "sbm.rounds": "sbm_rounds",
    "sbm.sparse_flips": "sbm_randomized_response",
    "sbm.stars": "sbm_stars",
    "sbm.vertex": "sbm_vertex",
    "sbm.vot": "sbm_voting",
    "sparse vector": "sparse_vector",
    "stability": "certificate_stability",
    "tuples": "tuples_averages",
    "tuples (": "tuples_clustering",
    "tuples.": "tuples_clustering",
    "upper bound": "cuts_error_bar",
    "vote": "agreement",
}
OTHERS = "composition"
"""The page of what no mechanism of this library made by itself: compositions, and promises of others."""


def page_of(mechanism: str) -> str:
    """Name of the page that proves a mechanism of this name; `OTHERS` where none is known."""
    if " + " in mechanism:  # what `compose` calls a composition
        return OTHERS
    fitting = [beginning for beginning in _PAGES if mechanism.startswith(beginning)]
    return _PAGES[max(fitting, key=len)] if fitting else OTHERS


def folder() -> Path:
    """Where the pages lie: in the installed package, or in the documentation of a working copy."""
    package = Path(__file__).resolve().parent
    inside = package / "proofs"
    return inside if inside.is_dir() else package.parent / "docs" / "proofs"


def names() -> list[str]:
    """Names of all pages, sorted."""
    return sorted(path.stem for path in folder().glob("*.md") if path.stem != "index")


def path(name: str) -> Path:
    """The file of a page.

    Raises:
        FileNotFoundError: no page has this name; the message lists near ones.
    """
    result = folder() / f"{name.removesuffix('.md').rpartition('/')[2]}.md"
    if not result.is_file():
        from sosdp.model.option_names import did_you_mean

        hint = did_you_mean(name, names()) or "; 'sosdp proofs' lists them"
        raise FileNotFoundError(f"there is no proof page {name!r}{hint}")
    return result


def title(name: str) -> str:
    """The heading of a page."""
    first = path(name).read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("#").strip()
