"""Choice of terms by the cross-validated error of any verb."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.progress import late_bar

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

__all__ = ["by_error"]


def by_error(
    fit: Callable[[Sequence[str]], ClassifierResults],
    terms: list[str],
    include: list[str],
    direction: str,
    chance: float,
    folds: int,
    seed: int | None,
) -> tuple[list[str], pd.DataFrame]:
    """Add or take back one term at a time, as long as the error falls.

    Parameters
    ----------
    fit : callable
        From terms to a fitted object.
    terms, include : list of str
        Candidates, and those of them that are always in.
    direction : {"forward", "backward", "both"}
    chance : float
        Error without any term.
    folds, seed
        Of cross-validation, the same for all candidates.

    Returns
    -------
    list of str, DataFrame
        The chosen terms, and a row a step: action, term, terms_in, error, se.
    """
    seed = int(np.random.default_rng(seed).integers(2**32)) if seed is None else seed
    known: dict[frozenset[str], tuple[float, float]] = {frozenset(): (chance, np.nan)}

    def error(chosen: Sequence[str]) -> tuple[float, float]:
        key = frozenset(chosen)
        if key not in known:
            # In the formula's order, so that the same terms are the same fit.
            row = fit([t for t in terms if t in key]).error_rates(["cv"], folds=folds, seed=seed).iloc[0]
            known[key] = float(row["estimate"]), float(row["se"])
        return known[key]

    chosen = list(terms) if direction == "backward" else list(include)
    rows: list[dict[str, Any]] = []
    if chosen:
        rows.append(_row("start", " + ".join(chosen), chosen, error(chosen)))
    while True:
        moves = [("entered", t, [*chosen, t]) for t in terms if t not in chosen and direction != "backward"]
        if direction != "forward":
            moves += [("removed", t, [c for c in chosen if c != t]) for t in chosen if t not in include]
        with late_bar(len(moves), f"step {len(rows) + 1}") as tell:
            best, now = None, error(chosen)[0]
            for action, term, then in moves:
                found = error(then)[0]
                # Of equal errors the fewer terms.
                if found < now or (found == now and action == "removed"):
                    best, now = (action, term, then), found
                tell(1)
        if best is None:
            break
        chosen = best[2]
        rows.append(_row(best[0], best[1], chosen, error(chosen)))
    columns = ["step", "action", "term", "terms_in", "error", "se"]
    numbered = [{"step": i + 1} | row for i, row in enumerate(rows)]
    return chosen, pd.DataFrame(numbered, columns=columns).set_index("step")


def _row(action: str, term: str, chosen: list[str], error: tuple[float, float]) -> dict[str, Any]:
    row = {"action": action, "term": term, "terms_in": len(chosen)}
    return row | {"error": error[0], "se": error[1]}
