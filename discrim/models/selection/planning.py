"""The function `plan`: how many rows a discriminant analysis needs, before there are any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.errors import DataError
from discrim.inference import sample_size
from discrim.inference.error_rates import check_level
from discrim.inference.sample_size import RULES, SampledRule, Setting
from discrim.models.base.displayed import Shown, displayed
from discrim.models.base.reading import check_number, check_whole, listed, told, with_keyword_hints
from discrim.models.plots.pictured import PictureOptions, draw_kind, plot
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.plots.judged import draw_by_rows
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

ROWS = (10, 20, 30, 50, 100, 200, 500, 1000)
"""Rows of each class that are looked at by default."""

MOST_COLUMNS = 10_000
"""Columns up to which samples are drawn."""

MOST_CLASSES = 50
"""Classes up to which samples are drawn."""

ASSUMES = (
    "Assumes normal classes with equal priors and one covariance, and the same distance between any two "
    "means; for the diagonal rule also independent columns, each with the same difference."
)


class Plan(Shown):
    """How many rows a rule needs.

    Attributes
    ----------
    least_error : float
        Error of the best rule, which knows the law of the classes.
    table : DataFrame by rows of a class
        Expected errors of "lda", "diagonal" and "qda", missing if the rows are too few for their covariances;
        and the standard errors of these numbers over the draws, "lda_se" and so on.
    wanted : DataFrame by rule
        What reaches the error that was asked for: rows of each class, rows in all, and the expected error
        there; missing if no number of rows up to ten million does, or if the wanted error is above that of
        the best rule by less than twice the standard error of the draws. Without a wanted error there are no
        rows.
    judged : int or None
        Rows to be judged, none of them used in the fit, for an interval of the width that was asked for.
    """

    def __init__(
        self,
        setting: Setting,
        table: pd.DataFrame,
        wanted: pd.DataFrame,
        error: float | None,
        judging: tuple[float, float, float, int | None] | None,
    ) -> None:
        self._setting = setting
        self._error = error
        self._judging = judging
        self._table = table
        self._wanted = wanted
        self.least_error = sample_size.least_error(setting)
        self.judged = None if judging is None else judging[-1]

    @property
    @displayed(every="share")
    def table(self) -> pd.DataFrame:
        """Expected errors by rows of a class."""
        return self._table.copy()

    @property
    @displayed(error="share")
    def wanted(self) -> pd.DataFrame:
        """Numbers of rows that reach the error that was asked for."""
        return self._wanted.copy()

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each rule and number of rows: rule, rows, estimate, std_error, excess."""
        parts = [
            pd.DataFrame(
                {
                    "rule": rule,
                    "rows": self._table.index,
                    "estimate": self._table[rule].to_numpy(),
                    "std_error": self._table[f"{rule}_se"].to_numpy(),
                    "excess": self._table[rule].to_numpy() - self.least_error,
                }
            )
            for rule in RULES
        ]
        return pd.concat(parts, ignore_index=True).dropna(subset=["estimate"], ignore_index=True)

    def plot(self, ax: Axes | None = None, *, colors: Any = None, title: str | None = None) -> Axes:
        """Draw the expected error of each rule by the number of rows.

        Parameters
        ----------
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        colors : mapping, sequence, str or Colormap, optional
            Colours by rule, or a colormap of matplotlib or its name.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes

        Examples
        --------
        >>> from discrim import plan
        >>> plan(distance=2, p=5, rows=[10, 20, 50], draws=1000).plot().get_xlabel()
        'Rows of each class'
        """
        return draw_kind((self,), PLAN_PLOTS, None, PictureOptions(ax, colors=colors, title=title))

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The figures as a summary, which prints as text and is shown as a table in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order, or "all"; by default all.
        """
        return plan_summary(self, sections)


@with_keyword_hints
def plan(
    distance: float,
    p: int,
    *,
    classes: int = 2,
    error: float | None = None,
    excess: float | None = None,
    width: float | None = None,
    level: float = 0.95,
    rows: Sequence[int] | None = None,
    draws: int = 2**16,
    seed: int = 0,
) -> Plan:
    """Say how many rows LDA, diagonal LDA and QDA need, and how many are to be judged.

    Parameters
    ----------
    distance : float
        Mahalanobis distance between the means of each two classes (not squared). The best rule for two
        classes is wrong for 16 percent of rows at a distance of 2, and for 7 percent at 3.
    p : int
        Number of columns.
    classes : int
        Number of classes.
    error : float, optional
        Expected error that is wanted. It has to be above that of the best rule.
    excess : float, optional
        The wanted error in another form: how far it may be above that of the best rule.
    width : float, optional
        Wanted width of the interval of an error rate, which is to be found from rows that were not fitted.
    level : float
        Level of that interval: 0.95 stands for 95 percent.
    rows : sequence of int, optional
        Rows of each class whose expected errors are shown; by default 10 to 1,000.
    draws : int
        Number of samples that are drawn for each number; four times as many halve the standard errors.
    seed : int
        Seed of the draws.

    Returns
    -------
    Plan

    Raises
    ------
    DataError
        A number is out of its range; there are more classes than p + 1; or the wanted error is not above that
        of the best rule.

    Notes
    -----
    The classes are normal, of equal shares, have one covariance, and one distance between each two means;
    each class has the same number of rows. Under this law the expected error of LDA and QDA is a function of
    the distance, p and the number of rows. It is found from samples of the exact law of the few numbers on
    which a rule depends, and not from an expansion; for many rows it agrees with that of Okamoto (1963), and
    for many columns and rows with that of Raudys (Raudys & Young, 2004, Journal of Multivariate Analysis 89,
    1-35). The diagonal rule assumes independent columns, which is true here, and the classes differ equally
    in all of them. If columns are correlated it does worse, and if covariances differ QDA does better.

    The rows to be judged are as many as make the exact interval of an error rate so narrow (Beleites et al.,
    2013, Analytica Chimica Acta 760, 25-33), at the error that is wanted or else that of the best rule. Rows
    judged by cross-validation count too if the rules of the folds are as good as the one in question.

    A distance can be taken from earlier data (`fit.distances()` has its square, which is too large if rows
    are few), or from the error that the best rule is thought to have: for two classes it is -2 times the
    normal quantile of that error. With data of your own, use `fit.learning_curve()`.

    Examples
    --------
    >>> from discrim import plan
    >>> found = plan(distance=2, p=10, error=0.2, width=0.1)
    >>> round(found.least_error, 3), found.judged
    (0.159, 264)
    >>> bool(found.wanted["rows"]["lda"] < found.wanted["rows"]["qda"])
    True
    """
    setting = _setting(distance, p, classes, draws, seed)
    least = sample_size.least_error(setting)
    if error is not None and excess is not None:
        raise DataError("error= and excess= say the same.", hint="Pass one of the two.")
    if excess is not None:
        error = least + check_number("excess", excess, 0, 1, ends="()")
    if error is not None:
        error = check_number("error", error, 0, 1, ends="()")
        if error <= least or error >= 1 - 1 / classes:
            raise DataError(
                f"error={error:g}: at this distance the best rule errs in {least:.4g} of the rows, and "
                f"chance in {1 - 1 / classes:.4g}.",
                hint="Give a number between the two, or excess=.",
            )
    given = ROWS if rows is None else rows
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or not len(given):
        raise DataError(
            f"rows={told(rows)} is not valid.", hint="Give numbers of rows of a class, as [10, 20, 50]."
        )
    numbers = sorted({check_whole("rows", n, 2, sample_size.MOST_ROWS) for n in given})
    check_level(level)
    judging = None
    if width is not None:
        width = check_number("width", width, 0, 1, ends="()")
        expected = least if error is None else error
        judging = expected, width, level, sample_size.rows_judged(expected, width, level)
    looked = {rule: _errors(rule, numbers, setting) for rule in RULES}
    columns: dict[str, Floats] = {rule: each[:, 0] for rule, each in looked.items()}
    columns |= {f"{rule}_se": each[:, 1] for rule, each in looked.items()}
    table = pd.DataFrame(columns, index=pd.Index(numbers, name="rows"))
    return Plan(setting, table, _wanted(error, setting), error, judging)


def _setting(distance: float, p: int, classes: int, draws: int, seed: int) -> Setting:
    distance = check_number("distance", distance, 0, 100, ends="(]")
    p = check_whole("p", p, 1, MOST_COLUMNS)
    classes = check_whole("classes", classes, 2, MOST_CLASSES)
    if classes > p + 1:
        raise DataError(
            f"classes={classes}: no more than {p + 1} classes are at one distance from each other in {p} "
            f"column{'s' if p > 1 else ''}.",
            hint="Give fewer classes or more columns.",
        )
    draws = check_whole("draws", draws, 100, 10**8)
    return Setting(distance, p, classes, draws, check_whole("seed", seed, 0))


def _errors(rule: SampledRule, numbers: Sequence[int], setting: Setting) -> Floats:
    """Expected errors and their standard errors (N, 2) of numbers of rows of each class."""
    least = sample_size.fewest_rows(rule, setting)
    return np.array(
        [sample_size.expected_error(rule, n, setting) if n >= least else (np.nan, np.nan) for n in numbers]
    )


def _wanted(error: float | None, setting: Setting) -> pd.DataFrame:
    """Rows of each rule that have an error."""
    rows = []
    for rule in () if error is None else RULES:
        n = sample_size.rows_for(rule, error or 0.0, setting)
        there = np.nan if n is None else sample_size.expected_error(rule, n, setting)[0]
        rows.append((n, None if n is None else n * setting.classes, there))
    index = pd.Index(RULES[: len(rows)], name="rule")
    table = pd.DataFrame(rows, columns=["rows", "total", "error"], index=index)
    return table.astype({"rows": "Int64", "total": "Int64", "error": np.float64})


def plan_summary(found: Plan, sections: Sequence[str] | None = None) -> Summary:
    """Header, rows that are wanted, expected errors."""
    setting = found._setting
    items: list[HeaderItem] = [
        HeaderItem("Distance of two classes", setting.distance, f"{setting.distance:g}"),
        HeaderItem("Columns", setting.p),
        HeaderItem("Classes", setting.classes),
        HeaderItem("Error of the best rule", found.least_error, f"{100 * found.least_error:.2f} %"),
        HeaderItem(
            "Error wanted", found._error, "none" if found._error is None else f"{100 * found._error:.2f} %"
        ),
    ]
    made: dict[str, Any] = {}
    if found._judging is not None:
        error, width, level, judged = found._judging
        shown = f"more than {sample_size.MOST_ROWS:,}" if judged is None else f"{judged:,}"
        items.append(HeaderItem("Rows to be judged", judged, shown))
        note = (
            f"With so many rows that were not fitted, a {100 * level:g} % interval of an error of "
            f"{100 * error:.3g} % is {width:g} wide. "
        )
    else:
        note = ""
    made["header"] = Pairs("How many rows?", items, note + ASSUMES)
    if len(found._wanted):
        lost = list(found._wanted.index[found._wanted["rows"].isna()])
        note = (
            f"For {listed(lost)} no number of rows up to {sample_size.MOST_ROWS:,} reaches this error, or "
            "draws= is too small to tell."
        )
        made["wanted"] = Section(
            "Rows for the error that is wanted",
            found.wanted.rename(columns={"rows": "a class", "total": "in all"}).rename_axis(None),
            {"a class": "count", "in all": "count", "error": "share"},
            note=note if lost else "",
            source=".wanted",
        )
    table = found.table
    largest = np.nanmax(table.filter(like="_se").to_numpy(), initial=0.0)
    made["errors"] = Section(
        "Expected error by rows of each class",
        table[list(RULES)],
        dict.fromkeys(RULES, "share"),
        note=f"From {setting.draws:,} simulated samples; standard errors are at most {largest:.1g}.",
        source=".table",
    )
    parts: dict[str, Callable[[], Any]] = {name: partial(made.__getitem__, name) for name in made}
    return summarize("Plan of a discriminant analysis", parts, sections)


@plot("errors", "expected error by rows")
def errors_plot(found: Any, options: PictureOptions) -> Axes:
    """Expected error of each rule by rows of a class, above that of the best."""
    return draw_by_rows(
        {rule: found._table[rule].dropna() for rule in RULES},
        {"best rule": found.least_error, "wanted": found._error},
        ("Rows of each class", "Expected error"),
        f"Expected error, {found._setting.classes} classes at distance {found._setting.distance:g}, "
        f"{found._setting.p} column{'s' if found._setting.p > 1 else ''}",
        ax=options.ax,
        signs=options.signs(list(RULES)),
    )


PLAN_PLOTS = (errors_plot,)
