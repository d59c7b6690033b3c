"""Scores of sparse rows from what is stored of them.

Theory. A linear score of x = b + s is that of the base b plus s'coef, and a product with s costs as much as
is stored. The multinomials of naive Bayes do the same with logarithms of probabilities. Other rules take rows
that are written out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.sparse_rows import SparseRows
from discrim.core.rules.rules import IndependentRule, LinearRule, PartRule, Rule

__all__ = ["stored_scores", "takes_stored"]

Floats = NDArray[np.float64]


def takes_stored(rule: Rule) -> bool:
    """Whether a rule gives scores from what is stored of rows."""
    if isinstance(rule, PartRule):
        return takes_stored(rule.rule)
    if isinstance(rule, IndependentRule):
        return rule.normal is None and all(getattr(each, "takes_stored", False) for each in rule.others)
    return isinstance(rule, LinearRule) and not rule.crowds


def stored_scores(rule: Rule, rows: SparseRows) -> Floats:
    """Scores (m, K) of sparse rows without missing values, by a rule that `takes_stored`."""
    if isinstance(rule, PartRule):
        return stored_scores(rule.rule, rows.columns(rule.keep))
    if isinstance(rule, IndependentRule):
        total = np.repeat(rule.log_prior[:, None], len(rows), axis=1)
        others: tuple[Any, ...] = rule.others
        for each in others:
            total = total + each.log_densities(rows)
        return np.asarray(total.T)
    if not isinstance(rule, LinearRule):
        raise TypeError(f"{type(rule).__name__} takes rows that are written out: pass rows.dense().")
    with np.errstate(over="ignore", invalid="ignore"):
        base = ((rows.base - rule.origin) * rule.scale) @ rule.coef + rule.intercept
        scores = rows.products(base, rule.coef * rule.scale[:, None])
        far = np.flatnonzero(~np.isfinite(scores).all(axis=1))
    if len(far):
        scores[far] = rule.scores(rows.rows(far).dense())
    return scores
