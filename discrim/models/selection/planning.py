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

DEFAULT_ROWS = (10, 20, 30, 50, 100, 200, 500, 1000)
"""Rows of each class that are looked at by default."""

MAX_COLUMNS = 10_000
"""Columns up to which samples are drawn."""

MAX_CLASSES = 50
"""Classes up to which samples are drawn."""

ASSUMPTIONS = (
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
        required_rows: pd.DataFrame,
        error: float | None,
        test_plan: tuple[float, float, float, int | None] | None,
    ) -> None:
        self._setting = setting
        self._error = error
        self._test_plan = test_plan
        self._table = table
        self._required_rows = required_rows
        self.least_error = sample_size.least_error(setting)
        self.judged = None if test_plan is None else test_plan[-1]

    @property
    @displayed(every="share")
    def table(self) -> pd.DataFrame:
        """Expected errors by rows of a class."""
        return self._table.copy()

    @property
    @displayed(error="share")
    def wanted(self) -> pd.DataFrame:
        """Numbers of rows that reach the error that was asked for."""
        return self._required_rows.copy()

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each rule and number of rows: rule, rows, estimate, std_error, excess."""
        tables = [
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
        return pd.concat(tables, ignore_index=True).dropna(subset=["estimate"], ignore_index=True)

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
    setting = _read_setting(distance, p, classes, draws, seed)
    bayes_error = sample_size.least_error(setting)
    if error is not None and excess is not None:
        raise DataError("error= and excess= say the same.", hint="Pass one of the two.")
    if excess is not None:
        error = bayes_error + check_number("excess", excess, 0, 1, ends="()")
    if error is not None:
        error = check_number("error", error, 0, 1, ends="()")
        if error <= bayes_error or error >= 1 - 1 / classes:
            raise DataError(
                f"error={error:g}: at this distance the best rule errs in {bayes_error:.4g} of the rows, and "
                f"chance in {1 - 1 / classes:.4g}.",
                hint="Give a number between the two, or excess=.",
            )
    requested_rows = DEFAULT_ROWS if rows is None else rows
    if (
        not isinstance(requested_rows, Sequence | np.ndarray)
        or isinstance(requested_rows, str)
        or not len(requested_rows)
    ):
        raise DataError(
            f"rows={told(rows)} is not valid.", hint="Give numbers of rows of a class, as [10, 20, 50]."
        )
    row_counts = sorted({check_whole("rows", n, 2, sample_size.MOST_ROWS) for n in requested_rows})
    check_level(level)
    test_plan = None
    if width is not None:
        width = check_number("width", width, 0, 1, ends="()")
        expected = bayes_error if error is None else error
        test_plan = expected, width, level, sample_size.rows_judged(expected, width, level)
    errors_by_rule = {rule: _expected_errors(rule, row_counts, setting) for rule in RULES}
    columns: dict[str, Floats] = {rule: errors[:, 0] for rule, errors in errors_by_rule.items()}
    columns |= {f"{rule}_se": errors[:, 1] for rule, errors in errors_by_rule.items()}
    table = pd.DataFrame(columns, index=pd.Index(row_counts, name="rows"))
    return Plan(setting, table, _rows_for_error(error, setting), error, test_plan)


def _read_setting(distance: float, p: int, classes: int, draws: int, seed: int) -> Setting:
    distance = check_number("distance", distance, 0, 100, ends="(]")
    p = check_whole("p", p, 1, MAX_COLUMNS)
    classes = check_whole("classes", classes, 2, MAX_CLASSES)
    if classes > p + 1:
        raise DataError(
            f"classes={classes}: no more than {p + 1} classes are at one distance from each other in {p} "
            f"column{'s' if p > 1 else ''}.",
            hint="Give fewer classes or more columns.",
        )
    draws = check_whole("draws", draws, 100, 10**8)
    return Setting(distance, p, classes, draws, check_whole("seed", seed, 0))


def _expected_errors(rule: SampledRule, row_counts: Sequence[int], setting: Setting) -> Floats:
    """Expected errors and their standard errors (N, 2) of numbers of rows of each class."""
    min_rows = sample_size.fewest_rows(rule, setting)
    return np.array(
        [
            sample_size.expected_error(rule, n, setting) if n >= min_rows else (np.nan, np.nan)
            for n in row_counts
        ]
    )


def _rows_for_error(error: float | None, setting: Setting) -> pd.DataFrame:
    """Rows of each rule that have an error."""
    rows = []
    for rule in () if error is None else RULES:
        n = sample_size.rows_for(rule, error or 0.0, setting)
        reached_error = np.nan if n is None else sample_size.expected_error(rule, n, setting)[0]
        rows.append((n, None if n is None else n * setting.classes, reached_error))
    index = pd.Index(RULES[: len(rows)], name="rule")
    table = pd.DataFrame(rows, columns=["rows", "total", "error"], index=index)
    return table.astype({"rows": "Int64", "total": "Int64", "error": np.float64})


def plan_summary(results: Plan, sections: Sequence[str] | None = None) -> Summary:
    """Header, rows that are wanted, expected errors."""
    setting = results._setting
    items: list[HeaderItem] = [
        HeaderItem("Distance of two classes", setting.distance, f"{setting.distance:g}"),
        HeaderItem("Columns", setting.p),
        HeaderItem("Classes", setting.classes),
        HeaderItem("Error of the best rule", results.least_error, f"{100 * results.least_error:.2f} %"),
        HeaderItem(
            "Error wanted",
            results._error,
            "none" if results._error is None else f"{100 * results._error:.2f} %",
        ),
    ]
    section_by_key: dict[str, Any] = {}
    if results._test_plan is not None:
        error, width, level, n_test_rows = results._test_plan
        n_test_text = f"more than {sample_size.MOST_ROWS:,}" if n_test_rows is None else f"{n_test_rows:,}"
        items.append(HeaderItem("Rows to be judged", n_test_rows, n_test_text))
        note = (
            f"With so many rows that were not fitted, a {100 * level:g} % interval of an error of "
            f"{100 * error:.3g} % is {width:g} wide. "
        )
    else:
        note = ""
    section_by_key["header"] = Pairs("How many rows?", items, note + ASSUMPTIONS)
    if len(results._required_rows):
        unreachable_rules = list(results._required_rows.index[results._required_rows["rows"].isna()])
        note = (
            f"For {listed(unreachable_rules)} no number of rows up to {sample_size.MOST_ROWS:,} reaches "
            "this error, or "
            "draws= is too small to tell."
        )
        section_by_key["wanted"] = Section(
            "Rows for the error that is wanted",
            results.wanted.rename(columns={"rows": "a class", "total": "in all"}).rename_axis(None),
            {"a class": "count", "in all": "count", "error": "share"},
            note=note if unreachable_rules else "",
            source=".wanted",
        )
    table = results.table
    max_standard_error = np.nanmax(table.filter(like="_se").to_numpy(), initial=0.0)
    section_by_key["errors"] = Section(
        "Expected error by rows of each class",
        table[list(RULES)],
        dict.fromkeys(RULES, "share"),
        note=(
            f"From {setting.draws:,} simulated samples; standard errors are at most {max_standard_error:.1g}."
        ),
        source=".table",
    )
    section_builders: dict[str, Callable[[], Any]] = {
        name: partial(section_by_key.__getitem__, name) for name in section_by_key
    }
    return summarize("Plan of a discriminant analysis", section_builders, sections)


@plot("errors", "expected error by rows")
def errors_plot(results: Any, options: PictureOptions) -> Axes:
    """Expected error of each rule by rows of a class, above that of the best."""
    return draw_by_rows(
        {rule: results._table[rule].dropna() for rule in RULES},
        {"best rule": results.least_error, "wanted": results._error},
        ("Rows of each class", "Expected error"),
        f"Expected error, {results._setting.classes} classes at distance {results._setting.distance:g}, "
        f"{results._setting.p} column{'s' if results._setting.p > 1 else ''}",
        ax=options.ax,
        signs=options.signs(list(RULES)),
    )


PLAN_PLOTS = (errors_plot,)
