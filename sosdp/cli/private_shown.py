"""How `sosdp private` prints releases for people: names and values, a line or more each."""

from __future__ import annotations

from typing import Any

from sosdp.cli.output import Fields, promise_fields
from sosdp.cli.private_gaussian import TARGETED

UNTOUCHED = "nothing: public facts say that it would be declined, so the records were not read"
DECLINED = "nothing: at this budget the mechanism declines, and that is the release"


def fields(name: str, release: dict[str, Any]) -> Fields:
    """The fields of a release of this name."""
    public, value = release["public"], dict(release["value"])
    result: dict[str, str | None] = dict(promise_fields(release))
    if name == "sbm":
        result["vertices"] = f"{public['n']} ({public['vertex_set']}; public)"
    else:
        word = "columns" if name == "mrf" else "coordinates"
        result["records"] = f"{public['n']} of {public['dimension']} {word} (public)"
    if not value.pop("released"):
        result["released"] = UNTOUCHED if release["guarantee"]["epsilon"] == 0 else DECLINED
        result["advice"] = public.get("advice")
        value = {}
    names = public.get("columns")
    if names is not None and name not in TARGETED:
        result["columns"] = " ".join(f"{k}:{n}" if name == "mrf" else n for k, n in enumerate(names))
    printers = {"sbm": _labels, "mrf": _field, "pca": _components} | dict.fromkeys(TARGETED, _coefficients)
    return {**result, **(printers.get(name, _numbers)(value, public) if value else {})}


def _labels(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    labels = value["labels"]
    sides = {sign: [str(n) for n, x in zip(value["nodes"], labels) if x == sign] for sign in (1, -1)}
    return {
        "released": f"{len(sides[1])} vertices labelled 1 and {len(sides[-1])} labelled -1",
        **{f"label {sign}": " ".join(members) for sign, members in sides.items()},
    }


def _field(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    result: dict[str, str | None] = {}
    if value["edges"] is not None:
        result["edges"] = " ".join(f"{i}-{j}" for i, j in value["edges"]) or "none"
    if value["field"] is not None:
        rows = value["field"] if isinstance(value["field"][0], list) else [value["field"]]
        result["field"] = _rows(rows)
    if value["weights"] is not None and not isinstance(value["weights"][0][0], list):
        result["weights"] = _rows(value["weights"])
    return result


def _rows(rows: list[list[float]]) -> str:
    return "\n".join(" ".join(f"{entry:.4g}" for entry in row) for row in rows)


def _coefficients(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    lines = []
    for name, coefficient in value["coefficients"].items():
        pair = value["interval"][name]
        ends = "no interval" if pair is None else f"[{pair[0]:.6g}, {pair[1]:.6g}]"
        lines.append(f"{name} {coefficient:.6g} {ends}")
    return {
        "coefficients": "\n".join(lines),
        "intercept": f"{value['intercept']:.6g}",
        "r2": f"{value['r2']:.4g}" if "r2" in value else None,
        "residual": f"{value['residual_deviation']:.6g}" if "r2" in value else None,
        **{name: ", ".join(value[name]) for name in ("left_out", "unseen") if value[name]},
    }


def _components(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    columns = (value[name] for name in ("components", "explained_variance", "angle", "told_apart"))
    lines = [
        _rows([row])
        + f"  variance {size:.4g}  angle {angle:.2g}"
        + ("" if separate else "  not separated from its neighbours")
        for row, size, angle, separate in zip(*columns, strict=True)
    ]
    return {"components": "\n".join(lines)}


def _numbers(value: dict[str, Any], public: dict[str, Any]) -> Fields:
    """Of means, covariances and centres: every part by its name."""
    result: dict[str, str | None] = {}
    names, estimates = public.get("columns"), public.get("estimates")
    for name in ("mostly_one_value", "skewed", "at_bounds"):  # indices of columns
        if name in value:
            value[name] = [str(k) if names is None else names[k] for k in value[name]]
    if estimates is not None and "mean" in value:
        known = estimates[0] if len(set(estimates)) == 1 else "mean"
        value = {known if name == "mean" else name: numbers for name, numbers in value.items()}
        if known == "mean" and len(set(estimates)) > 1:
            result["estimates"] = ", ".join(estimates)
    for name, given in value.items():
        numbers = given if isinstance(given, list) else [str(given) if isinstance(given, bool) else given]
        rows = numbers if numbers and (numbers[0] is None or isinstance(numbers[0], list)) else [numbers]
        result[name] = "\n".join(
            "none" if row is None else " ".join(x if isinstance(x, str) else f"{x:.6g}" for x in row)
            for row in rows
        )
    return result
