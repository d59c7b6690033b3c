"""Decision rules outside Python: an intermediate form of a rule, and its translation to SQL.

`export_rule` turns the rule of a fit into an `ExportedRule`. Its *columns* are the columns of the table that
the rule reads, numeric or categorical. Its *features* are the columns of the design, each an expression in
the nodes of the formula language; estimates of transforms are written as numbers, or as a number for each
level. Its *scores* are from linear or normal rules of the features. `as_sql` writes these three in SQL, and
`exported_onnx` in ONNX.

*Precision.* Features are centred before they are multiplied, like in the rules themselves, and posteriors are
exp(s_k - m) / sum_l exp(s_l - m) with m the largest score, which neither overflows nor underflows.

*Missing values.* All results are NULL in a row with a missing value, or in which a feature is not a finite
number. Operations that an engine would refuse, such as the logarithm of zero, are replaced by NULL, and so
are features so far from the classes that a score of them might overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from discrim.core.discriminant.lda import LDAFit
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.gaussian import class_plugin_rule
from discrim.core.rules.rules import GaussianRule, IndependentRule, LinearRule, log_of_prior
from discrim.data.values import Scalar
from discrim.errors import DataError, NotSupportedError
from discrim.formula.design import Design, Spec
from discrim.formula.grammar import Call, Column, Negative, Node, Number, Operation, expression, iter_nodes
from discrim.formula.transforms import MAX_FLOAT, State
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import make_unique_name
from discrim.models.base.reading import check_word, format_argument

MIN_EXPONENT = -708.0
MAX_EXPONENT = 709.0
"""Range of exponents in which exp() is a normal float64: outside, engines raise errors or return zero."""

MAX_FEATURE_TERM = 1e100
MAX_FEATURE = 1e300
"""Largest term of a feature in a score or distance, and largest feature: sums and squares stay finite."""


class Category(NamedTuple):
    """Name of a categorical column of the table, and its levels in order."""

    column: str
    levels: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class LevelValues:
    """Feature with a number for each level of a category.

    Attributes
    ----------
    category : int
        Position in `ExportedRule.categories`.
    values : tuple of float
        Values of the feature in the order of the levels. It is missing for an unseen level.
    """

    category: int
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FeatureProduct:
    """Product of two features, for an interaction in the formula."""

    first: Feature
    second: Feature


Feature = Node | LevelValues | FeatureProduct
"""Column of the design: an expression of numeric columns, a number for each level, or a product of these."""


class FeatureCentre(NamedTuple):
    """Centre and scale of features x: they enter the rule as z = (x - origin) * scale - mean, (p,) each."""

    origin: Floats
    scale: Floats
    mean: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ExportedRule:
    """A rule in three steps: features are expressions of columns, and scores are functions of the features.

    Attributes
    ----------
    numeric_columns : tuple of str
        Numeric and boolean columns of the table that the features read.
    boolean_columns : frozenset of str
        The boolean columns of the table.
    categories : tuple of Category
        Categorical columns of the table that the formula reads.
    features : tuple of length p
        Expressions of the columns.
    centres : tuple of FeatureCentre
        One for all classes of a linear rule, or one for each class.
    weights : tuple of (p, K) or (p, r) float
        The coefficients of all classes of a linear rule, (p, K); or for each class a matrix W (p, r) with
        which the sum of squares of z'W is the squared distance.
    constant : (K,) float
        Score at z = 0; minus infinity for a class with a prior of zero.
    factor : (K,) float or None
        Factor of minus half the squared distance in a score; None for a linear rule.
    decision : (K, K) float or None
        Matrix by which scores (rows by classes) are multiplied on the right for decision values; None if
        these are log posteriors.
    classes : tuple of length K
        Class labels.
    has_posteriors : bool
        Whether the model has posteriors.
    """

    numeric_columns: tuple[str, ...]
    boolean_columns: frozenset[str]
    categories: tuple[Category, ...]
    features: tuple[Feature, ...]
    centres: tuple[FeatureCentre, ...]
    weights: tuple[Floats, ...]
    constant: Floats
    factor: Floats | None
    decision: Floats | None
    classes: tuple[Scalar, ...]
    has_posteriors: bool

    @property
    def limits(self) -> Floats:
        """Largest absolute values (p,) of features with which no score overflows.

        All results of a row with a larger value are missing.
        """
        slopes = zip(self.centres, self.weights, strict=True)
        steep = np.max(
            [np.abs(point.scale[:, None] * coefficients).max(axis=1) for point, coefficients in slopes],
            axis=0,
        )
        return np.asarray(MAX_FEATURE_TERM / np.maximum(steep, MAX_FEATURE_TERM / MAX_FEATURE))

    @property
    def possible_classes(self) -> list[int]:
        """Positions of classes with a positive prior."""
        return np.flatnonzero(np.isfinite(self.constant)).tolist()


def export_rule(fit: FittedModel[Any], prior: Any = None) -> ExportedRule:
    """Convert the rule of a fit to an `ExportedRule`.

    `prior` is in any form that a verb accepts; by default the prior of the fit. Raises NotSupportedError,
    with the reason, if the rule or a term of the formula cannot be exported.
    """
    if fit.options.get("within") is not None:
        raise _not_exportable(fit, "predicts a row together with the other rows of its group")
    rule: Any = fit.rule(prior)
    keep = np.arange(len(fit.design_rows.terms))
    if isinstance(rule, IndependentRule):
        if rule.other_columns or rule.normal is None:
            raise _not_exportable(
                fit,
                "with categories, counts or kernel densities does not have scores that are sums of squares",
            )
        rule, keep = rule.normal, rule.positions
    is_crowded = isinstance(rule, LinearRule) and rule.close_groups
    if is_crowded and isinstance(fit.estimates, LDAFit) and fit.estimates.reduced_axes() is None:
        # Some classes are close together and far from others: distances to class means keep full precision.
        log_prior = log_of_prior(fit.prior_values(prior))
        covariances = (fit.estimates.covariance,) * len(log_prior)
        rule = class_plugin_rule(fit.estimates.moments, covariances, log_prior)
    points, weights, factor, constant = _score_parameters(fit, rule)
    design = fit.design_rows.design
    categories, all_features = _features_of_design(design)
    all_features = [all_features[j] for j in keep.tolist()]
    columns_read = {name for feature in all_features for name in _columns_of_feature(feature)}
    n_classes = len(fit.classes)
    spec = fit.spec
    return ExportedRule(
        numeric_columns=tuple(name for name in design.columns if name in columns_read),
        boolean_columns=frozenset(design.boolean_columns),
        categories=categories,
        features=tuple(all_features),
        centres=points,
        weights=weights,
        constant=constant,
        factor=factor,
        decision=None if spec.shows_log_posteriors(fit) else spec.decision(fit, np.eye(n_classes)),
        classes=design.levels,
        has_posteriors=fit.has_posteriors,
    )


def _not_exportable(fit: FittedModel[Any], reason: str) -> NotSupportedError:
    """Return the error for a rule that cannot be exported; `reason` continues "lda() ..." with a verb."""
    return NotSupportedError(
        f"{fit.spec.name}() {reason} and cannot be exported to SQL or ONNX.",
        hint="Use save() and load() with Python, or fit lda(), qda() or logistic().",
    )


def _score_parameters(
    fit: FittedModel[Any], rule: Any
) -> tuple[tuple[FeatureCentre, ...], tuple[Floats, ...], Floats | None, Floats]:
    """Return the parameters of the scores of a linear or normal rule: centres, weights, factor and constant.

    They are described in `ExportedRule`. A linear rule has one centre, one matrix of weights (p, K) and no
    factor (None); a normal rule has K centres and K matrices. NotSupportedError is raised for other rules.
    """
    if isinstance(rule, LinearRule):
        point = FeatureCentre(rule.origin, rule.scale, np.zeros(len(rule.scale)))
        return (point,), (np.asarray(rule.coef),), None, np.asarray(rule.intercept)
    if not isinstance(rule, GaussianRule):
        raise _not_exportable(
            fit, "has scores that are neither linear nor based on one normal distribution for each class"
        )
    distances = rule.distances
    n_classes = len(rule.constant)
    has_common_origin = np.ndim(distances.origin) == 1
    has_common_covariance = len(distances.covariances) == 1
    points = []
    weights = []
    for k in range(n_classes):
        origin = distances.origin if has_common_origin else distances.origin[k]
        points.append(FeatureCentre(origin, distances.scale, distances.means[k]))
        whiten = distances.covariances[0 if has_common_covariance else k].whiten
        weights.append(np.asarray(whiten(np.eye(len(distances.scale)))).T)
    return tuple(points), tuple(weights), np.asarray(rule.factor), np.asarray(rule.constant)


def _features_of_design(design: Design) -> tuple[tuple[Category, ...], list[Feature]]:
    """Convert a design to the categories that it reads and one `Feature` for each of its columns, in order.

    Raises NotSupportedError if a term cannot be exported.
    """
    spec = design.spec
    if spec is None:
        return (), [Column(name) for name in design.columns]
    if design.functions:
        raise NotSupportedError(
            f"The formula calls {design.functions[0]}() of functions=, which cannot be exported.",
            hint="Compute the column in the table before the fit, and name it in the formula.",
        )
    categories: list[Category] = []
    values: list[list[Feature]] = []
    category_index: dict[int, int] = {}
    for factor_index, factor in enumerate(spec.factors):
        parsed = expression(factor.code, frozenset())
        if factor.levels is None:
            values.append([*_lower_node(parsed.root, iter(factor.states), factor.code)])
        elif parsed.category is None:
            raise NotSupportedError(
                f"{factor.code} makes categories of a computed value, which cannot be exported.",
                hint="Compute the column in the table before the fit.",
            )
        else:
            category_index[factor_index] = len(categories)
            categories.append(Category(parsed.category, factor.levels))
            values.append([])
    features: list[Feature] = []
    for _, term_factors in spec.products_with_columns():
        for column_index in product(*(range(width) for width in reversed(spec.widths(term_factors)))):
            feature: Feature | None = None
            for (factor_at, coding), j in zip(term_factors, reversed(column_index), strict=True):
                factor_feature = (
                    values[factor_at][j]
                    if coding < 0
                    else _coded_column(spec, factor_at, coding, j, category_index)
                )
                feature = factor_feature if feature is None else FeatureProduct(feature, factor_feature)
            features.append(Number(0.0) if feature is None else feature)
    return tuple(categories), features


def _coded_column(
    spec: Spec, factor: int, coding: int, j: int, category_index: dict[int, int]
) -> LevelValues:
    """Return one column of the coding (contrast matrix) of a factor, as a number for each level.

    Parameters
    ----------
    spec : Spec
    factor, coding : int
        Positions of the factor and of its coding in `spec.factors` and `spec.codings`.
    j : int
        Column of the coding.
    category_index : dict of int to int
        Position in `ExportedRule.categories` by position of the factor.
    """
    levels = range(len(spec.factors[factor].levels or ()))
    code = spec.codings[coding]
    if code.picks is not None:
        return LevelValues(category_index[factor], tuple(float(code.picks[j] == level) for level in levels))
    return LevelValues(
        category_index[factor], tuple(float((code.matrix or ())[level][j]) for level in levels)
    )


def _columns_of_feature(feature: Feature) -> Iterator[str]:
    """Iterate over the names of the numeric columns that a feature reads."""
    if isinstance(feature, FeatureProduct):
        yield from _columns_of_feature(feature.first)
        yield from _columns_of_feature(feature.second)
    elif not isinstance(feature, LevelValues):
        yield from (node.name for node in iter_nodes(feature) if isinstance(node, Column))


MAX_POLY_DEGREE = 8
"""Largest degree of orthogonal polynomials, whose expressions grow like Fibonacci numbers."""

_LOGARITHMS = {"log2": math.log(2.0), "log10": math.log(10.0)}


def _lower_node(node: Node, states: Iterator[State], code: str) -> list[Node]:
    """Rewrite a formula node, which may have several columns, by a small set of operations.

    These are columns, numbers, + - * / **, log, log1p, exp, sqrt and abs. NotSupportedError is raised if this
    is not possible.

    Parameters
    ----------
    node : Node
    states : iterator of State
        Estimated values of the transforms of the factor, in order of their calls. One is consumed for each
        transform in the node.
    code : str
        Text of the factor for error messages.

    Returns
    -------
    list of Node
        One for each column.
    """
    match node:
        case Column() | Number():
            return [node]
        case Negative(operand):
            return [Negative(operand_column) for operand_column in _lower_node(operand, states, code)]
        case Operation(first, rest):
            expressions = _lower_node(first, states, code)
            for symbol, operand in rest:
                operand_columns = _lower_node(operand, states, code)
                if symbol in ("//", "%"):
                    raise _term_not_exportable(code, f"The operator {symbol}")
                width = max(len(expressions), len(operand_columns))
                expressions, operand_columns = (
                    [*operand_column] * (width // len(operand_column))
                    for operand_column in (expressions, operand_columns)
                )
                expressions = [
                    _binary_operation(left_column, symbol, right_column)
                    for left_column, right_column in zip(expressions, operand_columns, strict=True)
                ]
            return expressions
        case Call("I", (inner,)):
            return _lower_node(inner, states, code)
        case Call(("log" | "log1p" | "exp" | "sqrt" | "abs") as function, (inner,)):
            return [
                Call(function, (operand_column,), ()) for operand_column in _lower_node(inner, states, code)
            ]
        case Call(("log2" | "log10") as function, (inner,)):
            unit = Number(_LOGARITHMS[function])
            return [
                _binary_operation(Call("log", (x,), ()), "/", unit) for x in _lower_node(inner, states, code)
            ]
        case Call(("center" | "scale" | "standardize" | "poly"), (inner,)):
            columns = _lower_node(inner, states, code)
            state = next(states)
            if len(dict(state.values).get("centres", ())) > MAX_POLY_DEGREE:
                raise _term_not_exportable(code, f"poly() of a degree above {MAX_POLY_DEGREE}")
            return _expand_transform(state, columns)
    raise _term_not_exportable(code, f"{node.function}()" if isinstance(node, Call) else "A matrix")


def _binary_operation(first: Node, symbol: str, second: Node) -> Node:
    """Return a binary operation as a node."""
    return Operation(first, ((symbol, second),))


def _term_not_exportable(code: str, noun: str) -> NotSupportedError:
    """Return the error for a term that cannot be exported.

    Parameters
    ----------
    code : str
        Text of the term.
    noun : str
        Subject of the message: the function or operation that cannot be exported.
    """
    return NotSupportedError(
        f"{noun} in the term {code!r} cannot be exported to SQL or ONNX.",
        hint=("Compute the column in the table before the fit, or use save() and load() with Python."),
    )


def _expand_transform(state: State, columns: list[Node]) -> list[Node]:
    """Write a transform with estimated values, such as `scale`, as expressions with these values as numbers.

    Parameters
    ----------
    state : State
        The transform and its estimated values.
    columns : list of Node
        Expressions of its argument, one for each column.

    Returns
    -------
    list of Node
        One for each column of the result: as many as `columns`, or one for each power of `poly`.
    """
    learnt = dict(state.values)
    if state.function != "poly":
        centred = [
            _binary_operation(x, "-", Number(mean)) for x, mean in zip(columns, learnt["mean"], strict=True)
        ]
        sds = learnt.get("sd", (1.0,) * len(centred))
        return [
            x if sd == 1.0 else _binary_operation(x, "/", Number(sd))
            for x, sd in zip(centred, sds, strict=True)
        ]
    (x,) = columns
    if "raw_degree" in learnt:
        return [
            _binary_operation(x, "**", Number(float(power))) for power in range(1, learnt["raw_degree"] + 1)
        ]
    scaled = _binary_operation(
        _binary_operation(x, "-", Number(learnt["middle"])), "/", Number(learnt["spread"])
    )
    norms = (1.0, *learnt["norms"])
    polynomials = []
    previous: Node = Number(0.0)
    current: Node = Number(1.0)
    for j, centre in enumerate(learnt["centres"]):
        next_polynomial = _binary_operation(_binary_operation(scaled, "-", Number(centre)), "*", current)
        if j:
            next_polynomial = _binary_operation(
                next_polynomial, "-", _binary_operation(Number(norms[j + 1] / norms[j]), "*", previous)
            )
        previous = current
        current = next_polynomial
        polynomials.append(_binary_operation(current, "/", Number(math.sqrt(norms[j + 2]))))
    return polynomials


class SqlDialect(NamedTuple):
    """SQL dialect of an engine.

    Attributes
    ----------
    double, integer, text : str
        Types of float64, integers and text.
    literal : str
        Format of a float64 literal, from its digits.
    name_quote : str
        Quotation mark of names; within a name it is repeated.
    backslash : bool
        Whether a backslash in a string is repeated.
    escaped : {"", "strings", "names and strings"}
        Where quotation marks are escaped by a backslash; elsewhere they are repeated.
    greatest : str
        Function for the largest of several numbers.
    text_equality : str
        Format of a comparison of text that distinguishes case and trailing blanks.
    rejects_text : bool
        Whether a cast of other text to a number is an error.
    cte_prefix, cte_suffix : str
        Keyword before and clause at the end of each common table expression. They make the engine compute its
        columns once, instead of substituting the expressions at thousands of places.
    """

    double: str
    integer: str
    text: str
    literal: str = "{}"
    name_quote: str = '"'
    backslash: bool = False
    escaped: str = ""
    greatest: str = "GREATEST"
    text_equality: str = "{} = {}"
    rejects_text: bool = True
    cte_prefix: str = "AS"
    cte_suffix: str = ""


Database = Literal["duckdb", "postgres", "sqlite", "mysql", "bigquery", "snowflake", "spark"]
Output = Literal["label", "proba", "log_proba", "decision"]

DIALECTS: dict[Database, SqlDialect] = {
    "duckdb": SqlDialect("DOUBLE", "BIGINT", "VARCHAR"),
    "postgres": SqlDialect(
        "DOUBLE PRECISION", "INTEGER", "TEXT", literal="float8 '{}'", cte_prefix="AS MATERIALIZED"
    ),
    "sqlite": SqlDialect(
        "REAL", "INTEGER", "TEXT", greatest="MAX", rejects_text=False, cte_prefix="AS MATERIALIZED"
    ),
    "mysql": SqlDialect(
        "DOUBLE",
        "SIGNED",
        "CHAR",
        name_quote="`",
        backslash=True,
        text_equality="CAST(CONVERT({} USING utf8mb4) AS BINARY) = CAST({} AS BINARY)",
        cte_suffix="\n  LIMIT 18446744073709551615",
    ),
    "bigquery": SqlDialect("FLOAT64", "INT64", "STRING", name_quote="`", escaped="names and strings"),
    "snowflake": SqlDialect("DOUBLE", "INTEGER", "VARCHAR", literal="'{}'::DOUBLE", backslash=True),
    "spark": SqlDialect("DOUBLE", "BIGINT", "STRING", name_quote="`", escaped="strings"),
}
"""Dialects by the option `dialect` of `to_sql`."""

MAX_FEATURE_CHARACTERS = 2**17
"""Largest number of characters of a feature, which each nested function multiplies by two or more."""
MAX_TERMS_PER_GROUP = 64
"""Number of terms of a sum, or of arguments of a function, in one pair of parentheses."""


def as_sql(
    fit: FittedModel[Any],
    dialect: Database,
    table: str | Sequence[str],
    output: Any,
    keep: Sequence[str],
    prior: Any,
) -> str:
    """Return the rule of a fit as a SQL query; see `ClassifierResults.to_sql`.

    Parameters
    ----------
    fit : FittedModel
    dialect, table, output, keep, prior
        Arguments of `to_sql`.

    Returns
    -------
    str
        One query without a semicolon.

    Raises
    ------
    DataError
        An option is unknown, or a name is not a str.
    NotSupportedError
        The rule cannot be exported, or `output` needs posteriors that the model lacks.
    """
    check_word("dialect", dialect, Database)
    rule = export_rule(fit, prior)
    if output is None:
        output = ("label", "proba" if rule.has_posteriors else "decision")
    outputs = tuple(dict.fromkeys(_read_names_option("output", output)))
    for output_name in outputs:
        check_word("output", output_name, Output)
        if output_name in ("proba", "log_proba"):
            fit.require_posteriors(f'output="{output_name}"')
    kept_columns = tuple(dict.fromkeys(_read_names_option("keep", keep)))
    return _Query(rule, DIALECTS[dialect], _read_names_option("table", table), kept_columns).query_text(
        outputs
    )


def _read_names_option(option: str, option_value: Any) -> tuple[str, ...]:
    """Return the names in an option, a str or several, as a tuple.

    Raises DataError if a name is not a str or is empty, or if the option is empty, except for "keep".
    """
    names = (
        (*option_value,)
        if isinstance(option_value, Iterable) and not isinstance(option_value, str)
        else (option_value,)
    )
    for name in names:
        if not isinstance(name, str) or not name or "\0" in name:
            raise DataError(
                f"{option}= has {format_argument(name)}, which is not a name.", hint="Pass names as text."
            )
    if not names and option != "keep":
        raise DataError(f"{option}= is empty.", hint=f"Pass a name, or leave out {option}=.")
    return names


class _Query:
    """Builder of a query of common table expressions (stages), each of which reads the previous one.

    Methods return SQL expressions as text, or iterate over pairs (expression, name) of columns.

    Parameters
    ----------
    rule : ExportedRule
    dialect : SqlDialect
    table : sequence of str
        Parts of the name of the table.
    keep : sequence of str
        Columns of the table that every stage passes on.

    Attributes
    ----------
    prefix : str
        Prefix of the names of computed columns.
    input_names : dict of str to str
        Names of the numeric inputs, by column.
    stages : list of str
        Text of the stages.
    """

    def __init__(
        self, rule: ExportedRule, dialect: SqlDialect, table: Sequence[str], keep: Sequence[str]
    ) -> None:
        self.rule = rule
        self.dialect = dialect
        self.keep = keep
        self.table = table
        # The prefix of computed columns must not occur in names of the user.
        self.prefix = "r_"
        while any(name.lower().startswith(self.prefix) for name in (*table, *keep)):
            self.prefix = f"r{self.prefix}"
        self.input_names = {name: f"{self.prefix}x{i}" for i, name in enumerate(rule.numeric_columns)}
        self.stages: list[str] = []

    def number_literal(self, value: float) -> str:
        """Return the SQL literal of a float64 with all its digits, in parentheses if negative."""
        digits = repr(float(value))
        literal = self.dialect.literal.format(digits if "e" in digits else f"{digits}e0")
        return f"({literal})" if digits.startswith("-") or "::" in literal else literal

    def quote_name(self, name: str) -> str:
        """Return the name of a table or column in quotes."""
        sign = self.dialect.name_quote
        escaped = (
            _escape_with_backslashes(name, sign)
            if "names" in self.dialect.escaped
            else name.replace(sign, 2 * sign)
        )
        return f"{sign}{escaped}{sign}"

    def string_literal(self, value: str) -> str:
        """Return the SQL literal of a text; raise NotSupportedError for a NUL character."""
        if "\0" in value:
            raise NotSupportedError(
                f"The label {value!r} has a NUL character, which SQL does not support.",
                hint="Rename the label.",
            )
        if "strings" in self.dialect.escaped:
            return f"'{_escape_with_backslashes(value, chr(39))}'"
        value = value.replace("\\", "\\\\") if self.dialect.backslash else value
        return "'" + value.replace("'", "''") + "'"

    def label_literal(self, value: Scalar) -> str:
        """Return the SQL literal of a class label or level."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self.string_literal(value)
        return f"({value})" if isinstance(value, int) else self.number_literal(value)

    def join_terms(self, terms: Sequence[str], sign: str = " + ") -> str:
        """Join terms with an operator, nested in parentheses to limit the depth of the expression.

        The text is empty without terms.
        """
        terms = list(terms)
        while len(terms) > MAX_TERMS_PER_GROUP:
            terms = [
                f"({sign.join(terms[i : i + MAX_TERMS_PER_GROUP])})"
                for i in range(0, len(terms), MAX_TERMS_PER_GROUP)
            ]
        return sign.join(terms)

    def greatest(self, values: Sequence[str]) -> str:
        """Return the SQL expression of the largest of one or more numbers, given as SQL expressions."""
        values = list(values)
        while len(values) > 1:
            groups = [values[i : i + MAX_TERMS_PER_GROUP] for i in range(0, len(values), MAX_TERMS_PER_GROUP)]
            values = [
                f"{self.dialect.greatest}({', '.join(group)})" if len(group) > 1 else group[0]
                for group in groups
            ]
        return values[0]

    def add_stage(self, columns: Iterable[tuple[str, str]]) -> None:
        """Append to `stages` a SELECT of pairs (expression, name) and of the columns in `keep`.

        The first stage reads the table under the alias t, and any other the stage before it.
        """
        n = len(self.stages)
        kept_columns = [self.quote_name(column) for column in self.keep]
        source = f"{self.prefix}{n}"
        if n == 0:
            source = ".".join(map(self.quote_name, self.table)) + " AS t"
            kept_columns = [f"t.{column} AS {column}" for column in kept_columns]
        listed = [*kept_columns, *(f"{code} AS {name}" for code, name in columns)]
        self.stages.append("SELECT\n    " + ",\n    ".join(listed) + f"\n  FROM {source}")

    def query_text(self, outputs: Sequence[str]) -> str:
        """Return the text of the query for some outputs: "label", "proba", "log_proba" or "decision"."""
        self.add_stage(self.input_columns())
        self.add_stage(
            (self.feature(feature), f"{self.prefix}f{j}") for j, feature in enumerate(self.rule.features)
        )
        self.add_stage(self.limited_features())
        self.add_stage(self.centred_features())
        if self.rule.factor is not None:
            self.add_stage(self.whitened_features())
        self.add_stage(self.scores())
        scores = [f"{self.prefix}s{k}" for k in self.rule.possible_classes]
        largest = f"{self.prefix}m"
        total = f"{self.prefix}total"
        self.add_stage([*((score, score) for score in scores), (self.greatest(scores), largest)])
        if set(outputs) != {"label"}:
            weights = [self.exponential(f"{score} - {largest}") for score in scores]
            names = [f"{self.prefix}e{k}" for k in self.rule.possible_classes]
            passed_on = [(column, column) for column in (*scores, largest)]
            self.add_stage([*passed_on, *zip(weights, names, strict=True)])
            self.add_stage([*passed_on, *((name, name) for name in names), (self.join_terms(names), total)])
        used_names = [name.casefold() for name in self.keep]
        output_columns = []
        for output in outputs:
            for code, name in getattr(self, f"as_{output}")():
                output_alias = name + make_unique_name(name.casefold(), used_names)[len(name.casefold()) :]
                used_names.append(output_alias.casefold())
                output_columns.append((code, self.quote_name(output_alias)))
        self.add_stage(output_columns)
        *before, last = self.stages
        dialect = self.dialect
        stage_texts = [
            f"{self.prefix}{i} {dialect.cte_prefix} (\n  {stage}{dialect.cte_suffix}\n)"
            for i, stage in enumerate(before, 1)
        ]
        last = last.replace("\n    ", "\n  ").replace("\n  FROM", "\nFROM")
        return "WITH " + ",\n".join(stage_texts) + f"\n{last}"

    def input_columns(self) -> Iterator[tuple[str, str]]:
        """Iterate over (expression, name) of the input columns.

        Numbers are finite float64, named "<prefix>x<i>"; categories are positions of levels, named
        "<prefix>k<i>". Other values become NULL.
        """
        double = self.dialect.double
        for name, alias in self.input_names.items():
            column = f"t.{self.quote_name(name)}"
            value = (
                f"CAST({column} AS {self.dialect.integer})" if name in self.rule.boolean_columns else column
            )
            value = f"CAST({value} AS {double})"
            condition = f"ABS({value}) <= {self.number_literal(MAX_FLOAT)}"
            if not self.dialect.rejects_text:
                condition = f"TYPEOF({column}) IN ('integer', 'real') AND {condition}"
            yield f"CASE WHEN {condition} THEN {value} END", alias
        for i, (name, levels) in enumerate(self.rule.categories):
            cases = " ".join(
                f"WHEN {self.level_condition(f't.{self.quote_name(name)}', level)} THEN {j}"
                for j, level in enumerate(levels)
            )
            yield f"CASE {cases} END", f"{self.prefix}k{i}"

    def level_condition(self, column: str, level: Scalar) -> str:
        """Return the SQL condition that a column, an SQL expression, has a level: a bool, text or number."""
        if isinstance(level, bool):
            return f"CAST({column} AS {self.dialect.integer}) = {int(level)}"
        if isinstance(level, str):
            return self.dialect.text_equality.format(
                f"CAST({column} AS {self.dialect.text})", self.string_literal(level)
            )
        return f"{column} = {self.label_literal(level)}"

    def feature(self, feature: Feature) -> str:
        """Return the SQL expression of a feature; raise NotSupportedError if it is too long."""
        text = self.expression(feature)
        if len(text) > MAX_FEATURE_CHARACTERS:
            raise NotSupportedError(
                "The query of a term with nested functions would be longer than "
                f"{MAX_FEATURE_CHARACTERS:,} characters.",
                hint="Compute the column in the table before the fit.",
            )
        return text

    def expression(self, feature: Feature) -> str:
        """Return the SQL expression of a feature, without a check of its length."""
        match feature:
            case Column(name):
                return self.input_names[name]
            case Number(value):
                return self.number_literal(value)
            case Negative(operand):
                return f"(-{self.feature(operand)})"
            case FeatureProduct(left, right):
                return f"({self.feature(left)} * {self.feature(right)})"
            case LevelValues(category, values):
                cases = " ".join(
                    f"WHEN {j} THEN {self.number_literal(value)}" for j, value in enumerate(values)
                )
                return f"CASE {self.prefix}k{category} {cases} END"
            case Call(function, (inner,)):
                return self.call(function, self.feature(inner))
            case Operation(first, ((symbol, second),)):
                return self.operation(symbol, self.feature(first), second)
        raise TypeError(f"{feature!r} is not a feature.")

    def operation(self, symbol: str, left_text: str, second: Node) -> str:
        """Return the expression of a binary operation; NULL if undefined, such as a division by zero.

        Parameters
        ----------
        symbol : {"+", "-", "*", "/", "**"}
        left_text : str
            Expression of the first operand.
        second : Node
            Second operand.
        """
        right = self.feature(second)
        if symbol == "/":
            return f"({left_text} / NULLIF({right}, {self.number_literal(0.0)}))"
        if symbol != "**":
            return f"({left_text} {symbol} {right})"
        if isinstance(second, Number) and second.value in (2.0, 3.0):
            return "(" + " * ".join([left_text] * int(second.value)) + ")"
        zero = self.number_literal(0.0)
        base = f"CASE WHEN {left_text} <> {zero} OR {right} >= {zero} THEN {left_text} END"
        is_integer = f"{right} = FLOOR({right})"
        return f"CASE WHEN {left_text} >= {zero} OR {is_integer} THEN POWER({base}, {right}) END"

    def call(self, function: str, inner: str) -> str:
        """Return the SQL expression of a function; NULL outside its domain.

        Parameters
        ----------
        function : {"log", "sqrt", "abs", "exp", "log1p"}
        inner : str
            Expression of its argument.
        """
        zero = self.number_literal(0.0)
        match function:
            case "log":
                return f"CASE WHEN {inner} > {zero} THEN LN({inner}) END"
            case "sqrt":
                return f"CASE WHEN {inner} >= {zero} THEN SQRT({inner}) END"
            case "abs":
                return f"ABS({inner})"
            case "exp":
                max_exponent = self.number_literal(MAX_EXPONENT)
                return f"CASE WHEN {inner} <= {max_exponent} THEN {self.exponential(inner)} END"
        # log1p after Kahan: the rounding error of 1 + x cancels, because it is in the divisor too.
        one = self.number_literal(1.0)
        one_plus_x = f"({one} + {inner})"
        return (
            f"CASE WHEN {one_plus_x} = {one} THEN {inner} WHEN {one_plus_x} > {zero} THEN LN({one_plus_x}) * "
            f"({inner} / ({one_plus_x} - {one})) END"
        )

    def exponential(self, inner: str) -> str:
        """Return the SQL expression of exp(inner), with zero where some engines would report underflow."""
        min_exponent = self.number_literal(MIN_EXPONENT)
        zero = self.number_literal(0.0)
        return (
            f"CASE WHEN {inner} >= {min_exponent} THEN EXP({inner}) WHEN {inner} < {min_exponent} THEN "
            f"{zero} END"
        )

    def limited_features(self) -> Iterator[tuple[str, str]]:
        """Iterate over (expression, name) of the features, which become NULL outside `ExportedRule.limits`.

        The names are "<prefix>f<j>".
        """
        for j, (feature, limit) in enumerate(zip(self.rule.features, self.rule.limits, strict=True)):
            value = f"{self.prefix}f{j}"
            bounded = f"CASE WHEN ABS({value}) <= {self.number_literal(limit)} THEN {value} END"
            yield value if isinstance(feature, LevelValues) else bounded, value

    def centred_features(self) -> Iterator[tuple[str, str]]:
        """Iterate over (expression, name) of the features, transformed by each `FeatureCentre` in turn.

        The names are "<prefix>d<g>_<j>" for centre g and feature j.
        """
        for g, point in enumerate(self.rule.centres):
            for j in range(len(self.rule.features)):
                value = f"{self.prefix}f{j}"
                if point.origin[j]:
                    value = f"({value} - {self.number_literal(point.origin[j])})"
                if point.scale[j] != 1:
                    value = f"{value} * {self.number_literal(point.scale[j])}"
                if point.mean[j]:
                    value = f"{value} - {self.number_literal(point.mean[j])}"
                yield value, f"{self.prefix}d{g}_{j}"

    def scalar_product(self, g: int, coefficients: Floats) -> str:
        """Return the SQL expression of the scalar product of centred features and coefficients.

        Parameters
        ----------
        g : int
            Position of the `FeatureCentre` by which the features are centred.
        coefficients : (p,) float
            Coefficients of the features.
        """
        terms = [
            f"{self.prefix}d{g}_{j} * {self.number_literal(coefficients[j])}"
            for j in np.flatnonzero(coefficients).tolist()
        ]
        return self.join_terms(terms) or self.number_literal(0.0)

    def whitened_features(self) -> Iterator[tuple[str, str]]:
        """Iterate over (expression, name) of the whitened features of each class with a positive prior.

        Their sum of squares is the squared distance. The names are "<prefix>w<k>_<i>" for class k.
        """
        for k in self.rule.possible_classes:
            for i, column in enumerate(self.rule.weights[k].T):
                yield self.scalar_product(k, column), f"{self.prefix}w{k}_{i}"

    def scores(self) -> Iterator[tuple[str, str]]:
        """Iterate over (expression, name) of the scores of the classes with a positive prior.

        The names are "<prefix>s<k>" for class k. A score is NULL if any feature is NULL, even with a
        coefficient of zero.
        """
        rule = self.rule
        for k in rule.possible_classes:
            score = f"{self.prefix}s{k}"
            constant = self.number_literal(rule.constant[k])
            if rule.factor is not None:
                names = [f"{self.prefix}w{k}_{i}" for i in range(rule.weights[k].shape[1])]
                squares = self.join_terms([f"{name} * {name}" for name in names])
                yield f"{constant} + {self.number_literal(-0.5 * rule.factor[k])} * ({squares})", score
                continue
            coef = rule.weights[0][:, k]
            value = f"{constant} + {self.scalar_product(0, coef)}"
            idle = [f"{self.prefix}d0_{j} IS NOT NULL" for j in np.flatnonzero(coef == 0).tolist()]
            yield f"CASE WHEN {self.join_terms(idle, ' AND ')} THEN {value} END" if idle else value, score

    def class_columns(
        self, prefix: str, code: Callable[[int], str], impossible: str
    ) -> list[tuple[str, str]]:
        """Return the expression and name of an output column for each class.

        Parameters
        ----------
        prefix : str
            Prefix of the names, which are "<prefix>_<class>".
        code : callable
            Function of the position of a class that returns its expression.
        impossible : str
            Expression for classes with a prior of zero, in rows without missing values.

        Returns
        -------
        list of (str, str)
            Expression and name, in the order of the classes.
        """
        possible = set(self.rule.possible_classes)
        impossible_case = f"CASE WHEN {self.prefix}m IS NOT NULL THEN {impossible} END"
        return [
            (code(k) if k in possible else impossible_case, f"{prefix}_{label}")
            for k, label in enumerate(self.rule.classes)
        ]

    def as_label(self) -> list[tuple[str, str]]:
        """Return (expression, name) of the label of the class with the largest score, the first of ties."""
        cases = [
            f"WHEN {self.prefix}s{k} >= {self.prefix}m THEN {self.label_literal(self.rule.classes[k])}"
            for k in self.rule.possible_classes
        ]
        return [("\n      ".join(["CASE", *cases, "END"]), "label")]

    def as_proba(self) -> list[tuple[str, str]]:
        """Return (expression, name) of the posterior of each class."""
        return self.class_columns(
            "proba", lambda k: f"{self.prefix}e{k} / {self.prefix}total", self.number_literal(0.0)
        )

    def as_log_proba(self) -> list[tuple[str, str]]:
        """Return (expression, name) of each log posterior; NULL for a class with a prior of zero."""
        return self.class_columns(
            "log_proba", lambda k: f"({self.prefix}s{k} - {self.prefix}m) - LN({self.prefix}total)", "NULL"
        )

    def as_decision(self) -> list[tuple[str, str]]:
        """Return (expression, name) of the values of `decision_function` by class.

        For two classes there is one column, the score of the second minus the score of the first.
        Raises NotSupportedError if a class has a prior of zero.
        """
        n_classes = len(self.rule.classes)
        possible = self.rule.possible_classes
        if len(possible) < n_classes:
            raise NotSupportedError(
                'output="decision" is infinite for a class with a prior of zero.',
                hint='Use output="log_proba".',
            )
        if n_classes == 2:
            return [(f"{self.prefix}s1 - {self.prefix}s0", "decision")]
        matrix = self.rule.decision
        if matrix is None:
            return [(code, f"decision{name.removeprefix('log_proba')}") for code, name in self.as_log_proba()]
        products = [
            [
                f"{self.prefix}s{i} * {self.number_literal(matrix[i, k])}"
                for i in np.flatnonzero(matrix[:, k]).tolist()
            ]
            for k in range(n_classes)
        ]
        # The sum of a reference class is empty, and its value zero.
        return self.class_columns(
            "decision", lambda k: self.join_terms(products[k]) or f"0 * {self.prefix}m", "NULL"
        )


def _escape_with_backslashes(text: str, sign: str) -> str:
    """Escape backslashes, line breaks and the quotation mark `sign` in a text by backslashes."""
    text = text.replace("\\", "\\\\").replace(sign, f"\\{sign}")
    return text.replace("\n", "\\n").replace("\r", "\\r")
