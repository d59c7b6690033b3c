"""Sample-size planning: the function `plan` and its results.

It computes the numbers of training and test observations for a target error before data are collected. The
expected errors are simulated in `discrim.inference.sample_size`.
"""

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
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.reading import (
    check_integer,
    check_number,
    format_argument,
    join_labels,
    with_public_errors,
)
from discrim.models.plots.plottable import PlotOptions, draw_plot, plot
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.plots.evaluation import draw_learning_curve
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

DEFAULT_ROWS = (10, 20, 30, 50, 100, 200, 500, 1000)
"""Default numbers of rows per class."""

MAX_COLUMNS = 10_000
"""Largest number of columns."""

MAX_CLASSES = 50
"""Largest number of classes."""

ASSUMPTIONS = (
    "Assumes normal classes with equal priors, a common covariance matrix, and the same distance between any "
    "two means; for the diagonal rule also independent variables with equal mean differences."
)


class Plan(SummarizedResults):
    """Expected errors by sample size, and sample sizes for a target error.

    Attributes
    ----------
    least_error : float
        Bayes error: the error of the best rule, for known distributions of the classes.
    table : DataFrame by rows per class
        Expected errors of "lda", "diagonal" and "qda", missing if there are too few rows for their covariance
        matrices; and their simulation standard errors "lda_se" and so on.
    wanted : DataFrame by rule
        Sample sizes for the target error: `rows` per class, their `total`, and the expected `error` at this
        size. They are missing if ten million rows are not enough, or if the target exceeds the Bayes error by
        less than two simulation standard errors. The table is empty without a target error.
    judged : int or None
        Number of test rows for a confidence interval of the requested width; None if no width was requested,
        or if more rows are needed than the largest number that `plan` considers.
    """

    def __init__(
        self,
        setting: Setting,
        table: pd.DataFrame,
        required_rows: pd.DataFrame,
        error: float | None,
        test_plan: tuple[float, float, float, int | None] | None,
    ) -> None:
        """Store the results of `plan`.

        Parameters
        ----------
        setting : Setting
            Distance, dimensions and simulation options.
        table : DataFrame
            Expected errors by rows per class.
        required_rows : DataFrame
            Sample sizes for the target error by rule.
        error : float or None
            Target error.
        test_plan : tuple or None
            Expected error, width and level of the confidence interval, and the number of test rows (None if
            it exceeds the maximum).
        """
        self._setting = setting
        self._error = error
        self._test_plan = test_plan
        self._table = table
        self._required_rows = required_rows
        self.least_error = sample_size.bayes_error(setting)
        self.judged = None if test_plan is None else test_plan[-1]

    @property
    @with_display_formats(every="share")
    def table(self) -> pd.DataFrame:
        """Expected errors of the rules and their standard errors by number of rows per class, as a copy."""
        return self._table.copy()

    @property
    @with_display_formats(error="share")
    def wanted(self) -> pd.DataFrame:
        """Sample sizes (rows per class, total) and expected error for the target error by rule, as a copy."""
        return self._required_rows.copy()

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each rule and number of rows per class: rule, rows, estimate, std_error, excess.

        The excess is over the Bayes error. Rules without an expected error at a number of rows are left out.
        """
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
        """Plot the expected error of each rule by the number of rows per class.

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
        return draw_plot((self,), PLAN_PLOTS, None, PlotOptions(ax, colors=colors, title=title))

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The tables as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections to include, in order, or "all"; by default all. The keys are "header",
            "wanted" (with a target error) and "errors".
        """
        return plan_summary(self, sections)


@with_public_errors
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
    """Sample sizes of LDA, diagonal LDA and QDA for training, and of test rows for an error rate.

    Parameters
    ----------
    distance : float
        Mahalanobis distance between the means of any two classes (not squared). For two classes the Bayes
        error is 16 percent at a distance of 2, and 7 percent at a distance of 3.
    p : int
        Number of variables.
    classes : int
        Number of classes.
    error : float, optional
        Target of the expected error. It must exceed the Bayes error.
    excess : float, optional
        Alternative to `error`: target of the difference between the expected error and the Bayes error.
    width : float, optional
        Width of the confidence interval of an error rate that is estimated from test rows.
    level : float
        Level of that interval: 0.95 stands for 95 percent.
    rows : sequence of int, optional
        Numbers of rows per class for which expected errors are shown; by default 10 to 1,000.
    draws : int
        Number of simulated samples for each number of rows. Four times as many halve the standard errors.
    seed : int
        Seed of the simulation.

    Returns
    -------
    Plan
        Expected errors in `table`; training sizes in `wanted`, which is empty without a target error; and the
        number of test rows, `judged`, which is None without `width`.

    Raises
    ------
    DataError
        A number is out of its range; there are more classes than p + 1; or the target error is not between
        the Bayes error and the error of random assignment.

    Notes
    -----
    The classes are normal with equal priors, a common covariance matrix, the same distance between any two
    means, and equal numbers of rows. The expected errors of LDA and QDA are then functions of the distance, p
    and the number of rows. They are simulated from the exact distribution of the few statistics on which a
    rule depends, not approximated by an expansion. For many rows they agree with the expansion of Okamoto
    (1963), and for many variables and rows with the expansion of Raudys (Raudys & Young, 2004, Journal of
    Multivariate Analysis 89, 1-35). The diagonal rule assumes independent variables, which holds in the
    simulation, where the mean differences of all variables are equal. For correlated variables it has larger
    errors; for unequal covariance matrices QDA has smaller errors.

    The number of test rows is chosen so that the exact confidence interval of an error rate has the requested
    width (Beleites et al., 2013, Analytica Chimica Acta 760, 25-33) at the target error, or at the Bayes
    error without a target. Cross-validated predictions count as test rows if the rules of the folds are
    as accurate as the rule of interest.

    The distance can be estimated from earlier data (`fit.distances()` has its square, which is too large in
    small samples), or derived from an assumed Bayes error: for two classes it is -2 times the normal quantile
    of this error. If you have data, use `fit.learning_curve()`.

    Examples
    --------
    >>> from discrim import plan
    >>> sizes = plan(distance=2, p=10, error=0.2, width=0.1)
    >>> round(sizes.least_error, 3), sizes.judged
    (0.159, 264)
    >>> bool(sizes.wanted["rows"]["lda"] < sizes.wanted["rows"]["qda"])
    True
    """
    setting = _read_setting(distance, p, classes, draws, seed)
    bayes_error = sample_size.bayes_error(setting)
    if error is not None and excess is not None:
        raise DataError("error= and excess= cannot be combined.", hint="Pass only one of them.")
    if excess is not None:
        error = bayes_error + check_number("excess", excess, 0, 1, ends="()")
    if error is not None:
        error = check_number("error", error, 0, 1, ends="()")
        if error <= bayes_error or error >= 1 - 1 / classes:
            raise DataError(
                f"error={error:g} is out of range: at this distance the Bayes error is {bayes_error:.4g}, "
                f"and the error of random assignment is {1 - 1 / classes:.4g}.",
                hint="Pass a number between these errors, or excess=.",
            )
    requested_rows = DEFAULT_ROWS if rows is None else rows
    if (
        not isinstance(requested_rows, Sequence | np.ndarray)
        or isinstance(requested_rows, str)
        or not len(requested_rows)
    ):
        raise DataError(
            f"rows={format_argument(rows)} is not valid.",
            hint="Pass numbers of rows per class, such as [10, 20, 50].",
        )
    row_counts = sorted({check_integer("rows", n, 2, sample_size.MAX_ROWS) for n in requested_rows})
    check_level(level)
    test_plan = None
    if width is not None:
        width = check_number("width", width, 0, 1, ends="()")
        expected = bayes_error if error is None else error
        test_plan = expected, width, level, sample_size.required_test_rows(expected, width, level)
    errors_by_rule = {rule: _expected_errors(rule, row_counts, setting) for rule in RULES}
    columns: dict[str, Floats] = {rule: errors[:, 0] for rule, errors in errors_by_rule.items()}
    columns |= {f"{rule}_se": errors[:, 1] for rule, errors in errors_by_rule.items()}
    table = pd.DataFrame(columns, index=pd.Index(row_counts, name="rows"))
    return Plan(setting, table, _rows_for_error(error, setting), error, test_plan)


def _read_setting(distance: float, p: int, classes: int, draws: int, seed: int) -> Setting:
    """Validate the arguments of `plan` that define the simulation; raise a DataError if one is out of range.

    Parameters
    ----------
    distance, p, classes, draws, seed : see `plan`

    Returns
    -------
    Setting
        The arguments as numbers of their types.
    """
    distance = check_number("distance", distance, 0, 100, ends="(]")
    p = check_integer("p", p, 1, MAX_COLUMNS)
    classes = check_integer("classes", classes, 2, MAX_CLASSES)
    if classes > p + 1:
        raise DataError(
            f"classes={classes} is too large: in {p} variable{'s' if p > 1 else ''} at most {p + 1} class "
            "means can have the same distance from each other.",
            hint="Use fewer classes or more variables.",
        )
    draws = check_integer("draws", draws, 100, 10**8)
    return Setting(distance, p, classes, draws, check_integer("seed", seed, 0))


def _expected_errors(rule: SampledRule, row_counts: Sequence[int], setting: Setting) -> Floats:
    """Compute the expected errors of a rule.

    Parameters
    ----------
    rule : {"lda", "diagonal", "qda"}
    row_counts : sequence of N int
        Numbers of rows per class.
    setting : Setting
        Distance, dimensions and simulation options.

    Returns
    -------
    (N, 2) float
        Expected errors and their simulation standard errors; missing for too few rows.
    """
    min_rows = sample_size.min_rows_per_class(rule, setting)
    return np.array(
        [
            sample_size.expected_error(rule, n, setting) if n >= min_rows else (np.nan, np.nan)
            for n in row_counts
        ]
    )


def _rows_for_error(error: float | None, setting: Setting) -> pd.DataFrame:
    """Return the sample sizes of the rules for a target error; an empty table without a target.

    The columns, by rule, are "rows" (per class) and "total", nullable integers, and the expected "error".
    They are missing for a rule that does not reach the target; see `Plan.wanted`.
    """
    rows = []
    for rule in () if error is None else RULES:
        n = sample_size.required_training_rows(rule, error or 0.0, setting)
        reached_error = np.nan if n is None else sample_size.expected_error(rule, n, setting)[0]
        rows.append((n, None if n is None else n * setting.classes, reached_error))
    index = pd.Index(RULES[: len(rows)], name="rule")
    table = pd.DataFrame(rows, columns=["rows", "total", "error"], index=index)
    return table.astype({"rows": "Int64", "total": "Int64", "error": np.float64})


def plan_summary(results: Plan, sections: Sequence[str] | None = None) -> Summary:
    """Return the summary of a sample-size plan: header, sample sizes for the target, expected errors.

    `sections` has keys among "header", "wanted" (with a target error) and "errors", in the order wanted; None
    or "all" for all.
    """
    setting = results._setting
    items: list[HeaderItem] = [
        HeaderItem("Distance between classes", setting.distance, f"{setting.distance:g}"),
        HeaderItem("Variables", setting.p),
        HeaderItem("Classes", setting.classes),
        HeaderItem("Bayes error", results.least_error, f"{100 * results.least_error:.2f} %"),
        HeaderItem(
            "Target error",
            results._error,
            "none" if results._error is None else f"{100 * results._error:.2f} %",
        ),
    ]
    section_by_key: dict[str, Any] = {}
    if results._test_plan is not None:
        error, width, level, n_test_rows = results._test_plan
        n_test_text = f"more than {sample_size.MAX_ROWS:,}" if n_test_rows is None else f"{n_test_rows:,}"
        items.append(HeaderItem("Test observations", n_test_rows, n_test_text))
        note = (
            f"With this number of test observations, the {100 * level:g} % interval of an error of "
            f"{100 * error:.3g} % has the width {width:g}. "
        )
    else:
        note = ""
    section_by_key["header"] = Pairs("Sample sizes", items, note + ASSUMPTIONS)
    if len(results._required_rows):
        unreachable_rules = list(results._required_rows.index[results._required_rows["rows"].isna()])
        note = (
            f"With {join_labels(unreachable_rules)}, up to {sample_size.MAX_ROWS:,} observations do not "
            "reach this error, or draws= is too small to decide."
        )
        section_by_key["wanted"] = Section(
            "Observations for the target error",
            results.wanted.rename(columns={"rows": "per class", "total": "in total"}).rename_axis(None),
            {"per class": "count", "in total": "count", "error": "share"},
            note=note if unreachable_rules else "",
            source=".wanted",
        )
    table = results.table
    max_standard_error = np.nanmax(table.filter(like="_se").to_numpy(), initial=0.0)
    section_by_key["errors"] = Section(
        "Expected error by observations per class",
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
def errors_plot(results: Any, options: PlotOptions) -> Axes:
    """Plot the expected error of each rule by the number of rows per class, and the Bayes error."""
    return draw_learning_curve(
        {rule: results._table[rule].dropna() for rule in RULES},
        {"best rule": results.least_error, "target": results._error},
        ("Rows of each class", "Expected error"),
        f"Expected error, {results._setting.classes} classes at distance {results._setting.distance:g}, "
        f"{results._setting.p} column{'s' if results._setting.p > 1 else ''}",
        ax=options.ax,
        signs=options.signs(list(RULES)),
    )


PLAN_PLOTS = (errors_plot,)
