"""Error rates beside a summary, as --errors asks for them."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from discrim.cli.parser import one_of
from discrim.errors import DataError

__all__ = ["Errors", "errors_of", "with_errors"]


class Errors(NamedTuple):
    """Error rates that are asked for.

    Attributes
    ----------
    methods : list of str
    folds, seed : int or None
    """

    methods: list[str]
    folds: int | None
    seed: int | None


def errors_of(options: dict[str, Any]) -> Errors | None:
    """Take what error rates are asked for from the other options."""
    from discrim.models.judging.assessment import ErrorMethod

    methods = options.pop("errors", None)
    folds, seed = options.pop("error_folds", None), options.pop("error_seed", None)
    random = {"--folds": (folds, ("cv",)), "--seed": (seed, ("cv", "632+"))}
    for option, (value, of) in random.items():
        if value is not None and not set(of) & set(methods or ()):
            raise DataError(
                f"{option} goes with --errors {' and '.join(of)}: add that, or leave {option} out"
            )
    if methods is None:
        return None
    known = list(get_args(ErrorMethod))
    for method in methods:
        if method not in known:
            way_out = one_of(method, known)
            raise DataError(f"--errors: {method!r} is no method{way_out}")
    # A verb that deals rows to folds itself has these options for both.
    own = options.get("folds")
    folds = own if folds is None and isinstance(own, int) else folds
    return Errors(methods, folds, options.get("seed") if seed is None else seed)


def with_errors(summary: Any, fit: Any, asked: Errors | None) -> Any:
    """A summary with the error rates of a fit as its last section."""
    if asked is None:
        return summary
    from discrim.report.tables import INTERVAL, Section

    folds = {} if asked.folds is None else {"folds": asked.folds}
    table = fit.error_rates(asked.methods, seed=asked.seed, **folds)
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"prior": "text", "choice": "text"}
    formats |= dict.fromkeys(["wrong", "total"], "count")
    note = ""
    if "cv" in asked.methods:
        note = f"cv: {asked.folds or 10} folds" + (f", seed {asked.seed}." if asked.seed is not None else ".")
    note += f" {table.attrs.get('note', '')}"
    section = Section(
        "Error rates",
        table.rename_axis(None),
        formats,
        headings=INTERVAL,
        note=note.strip(),
        source=f"fit.error_rates({asked.methods!r})",
    )
    return summary.extended("errors", section)
