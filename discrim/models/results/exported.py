"""Decision rules outside Python: an intermediate form of a rule, and its translation to SQL.

`exported` turns the rule of a fit into an `ExportedRule`. Its *columns* are the columns of the table that the
rule reads, numbers or categories. Its *features* are the columns of the design, each an expression in the
nodes of the formula language; values that transforms have estimated are written as numbers, or as a number
for each level. Its *scores* are from linear or normal rules of the features. `as_sql` writes these three in
SQL, and `exported_onnx` in ONNX.

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
from discrim.core.rules.gaussian import separate_plugin
from discrim.core.rules.rules import GaussianRule, IndependentRule, LinearRule, logs_of_prior
from discrim.data.values import Scalar
from discrim.errors import DataError, NotSupportedError
from discrim.formula.design import Design, Spec
from discrim.formula.grammar import Call, Column, Negative, Node, Number, Operation, expression, nodes
from discrim.formula.transforms import LARGEST, State
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import distinct
from discrim.models.base.reading import check_word, told

LOWEST = -708.0
HIGHEST = 709.0
"""Range of exponents in which exp() is a normal float64: outside, engines raise errors or return zero."""

FARTHEST = 1e100
WIDEST = 1e300
"""Largest term of a feature in a score or distance, and largest feature: sums and squares stay finite."""


class Category(NamedTuple):
    """Column of categories with its levels in order."""

    column: str
    levels: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Coded:
    """Feature with a number for each level of a category, by position in `ExportedRule.categories`."""

    category: int
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """Product of two features, one of which depends on a category."""

    left: Feature
    right: Feature


Feature = Node | Coded | Times


class Point(NamedTuple):
    """Centre of features (p,) and their scale: z = (x - origin) * scale - mean."""

    origin: Floats
    scale: Floats
    mean: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ExportedRule:
    """A rule as expressions of columns, then features, then scores.

    Attributes
    ----------
    numbers : tuple of str
        Numeric and boolean columns that it reads.
    truths : frozenset of str
        The boolean columns of the table.
    categories : tuple of Category
    features : tuple of length p
        Expressions of the columns.
    points : tuple of Point
        One for all classes of a linear rule, or one for each.
    weights : tuple of (p, r) float
        Coefficients of a linear rule, with r classes; or one matrix for each class whose squares of products
        with z sum to the squared distance.
    constant : (K,) float
    factor : (K,) float or None
        Factor of minus half the squared distance in a score; None for a linear rule.
    decision : (K, K) float or None
        Matrix that maps scores to decision values; None if these are log posteriors.
    classes : tuple of length K
    has_posteriors : bool
    """

    numbers: tuple[str, ...]
    truths: frozenset[str]
    categories: tuple[Category, ...]
    features: tuple[Feature, ...]
    points: tuple[Point, ...]
    weights: tuple[Floats, ...]
    constant: Floats
    factor: Floats | None
    decision: Floats | None
    classes: tuple[Scalar, ...]
    has_posteriors: bool

    @property
    def limits(self) -> Floats:
        """Absolute values (p,) of features above which results are NULL, because scores might overflow."""
        slopes = zip(self.points, self.weights, strict=True)
        steep = np.max([np.abs(point.scale[:, None] * each).max(axis=1) for point, each in slopes], axis=0)
        return np.asarray(FARTHEST / np.maximum(steep, FARTHEST / WIDEST))

    @property
    def possible(self) -> list[int]:
        """Positions of classes with a positive prior."""
        return np.flatnonzero(np.isfinite(self.constant)).tolist()


def exported(fit: FittedModel[Any], prior: Any = None) -> ExportedRule:
    """Convert the rule of a fit, under a prior, to an `ExportedRule`.

    Raises NotSupportedError, with the reason, if the rule or a term of the formula cannot be exported.
    """
    if fit.options.get("within") is not None:
        raise _staying(fit, "takes rows beside others of their group")
    rule: Any = fit.rule(prior)
    keep = np.arange(len(fit.design_rows.terms))
    if isinstance(rule, IndependentRule):
        if rule.others or rule.normal is None:
            raise _staying(fit, "of categories, counts or kernel densities is no sum of squares")
        rule, keep = rule.normal, rule.positions
    crowded = isinstance(rule, LinearRule) and rule.crowds
    if crowded and isinstance(fit.estimates, LDAFit) and fit.estimates.reduced() is None:
        # Some classes are close together and far from others: distances to class means keep full precision.
        log_prior = logs_of_prior(fit.prior_values(prior))
        each = (fit.estimates.covariance,) * len(log_prior)
        rule = separate_plugin(fit.estimates.moments, each, log_prior)
    points, weights, factor, constant = _scores(fit, rule)
    design = fit.design_rows.design
    categories, every = _features(design)
    every = [every[j] for j in keep.tolist()]
    read = {name for each in every for name in _columns(each)}
    n_classes = len(fit.classes)
    spec = fit.spec
    return ExportedRule(
        numbers=tuple(name for name in design.columns if name in read),
        truths=frozenset(design.boolean_columns),
        categories=categories,
        features=tuple(every),
        points=points,
        weights=weights,
        constant=constant,
        factor=factor,
        decision=None if spec.shows_log_posteriors(fit) else spec.decision(fit, np.eye(n_classes)),
        classes=design.levels,
        has_posteriors=fit.has_posteriors,
    )


def _staying(fit: FittedModel[Any], why: str) -> NotSupportedError:
    """Return the error for a rule that cannot be exported."""
    return NotSupportedError(
        f"{fit.spec.name}() {why}, so that it has no form in SQL or ONNX.",
        hint="save() it and load() it where Python runs, or fit lda(), qda() or logistic().",
    )


def _scores(
    fit: FittedModel[Any], rule: Any
) -> tuple[tuple[Point, ...], tuple[Floats, ...], Floats | None, Floats]:
    """Return the points, weights, factor and constant of a linear or normal rule; see `ExportedRule`."""
    if isinstance(rule, LinearRule):
        point = Point(rule.origin, rule.scale, np.zeros(len(rule.scale)))
        return (point,), (np.asarray(rule.coef),), None, np.asarray(rule.intercept)
    if not isinstance(rule, GaussianRule):
        raise _staying(fit, "gives scores that are neither linear nor those of one normal law a class")
    distances = rule.distances
    n_classes = len(rule.constant)
    single = np.ndim(distances.origin) == 1
    one = len(distances.covariances) == 1
    points = []
    weights = []
    for k in range(n_classes):
        origin = distances.origin if single else distances.origin[k]
        points.append(Point(origin, distances.scale, distances.means[k]))
        whiten = distances.covariances[0 if one else k].whiten
        weights.append(np.asarray(whiten(np.eye(len(distances.scale)))).T)
    return tuple(points), tuple(weights), np.asarray(rule.factor), np.asarray(rule.constant)


def _features(design: Design) -> tuple[tuple[Category, ...], list[Feature]]:
    """Return the categories of a design, and its columns as expressions."""
    spec = design.spec
    if spec is None:
        return (), [Column(name) for name in design.columns]
    if design.functions:
        raise NotSupportedError(
            f"The formula calls {design.functions[0]}() of functions=, which is Python.",
            hint="Compute its column in the table before the fit, and name the column in the formula.",
        )
    categories: list[Category] = []
    values: list[list[Feature]] = []
    places: dict[int, int] = {}
    for at, factor in enumerate(spec.factors):
        read = expression(factor.code, frozenset())
        if factor.levels is None:
            values.append([*_lowered(read.root, iter(factor.states), factor.code)])
        elif read.category is None:
            raise NotSupportedError(
                f"{factor.code} makes categories of what is computed, which has no form outside Python.",
                hint="Compute the column in the table before the fit.",
            )
        else:
            places[at] = len(categories)
            categories.append(Category(read.category, factor.levels))
            values.append([])
    features: list[Feature] = []
    for _, parts in spec.placed():
        for backwards in product(*(range(width) for width in reversed(spec.widths(parts)))):
            feature: Feature | None = None
            for (factor_at, coding), j in zip(parts, reversed(backwards), strict=True):
                part = values[factor_at][j] if coding < 0 else _coded(spec, factor_at, coding, j, places)
                feature = part if feature is None else Times(feature, part)
            features.append(Number(0.0) if feature is None else feature)
    return tuple(categories), features


def _coded(spec: Spec, factor: int, coding: int, j: int, places: dict[int, int]) -> Coded:
    """Return column j of the coding of a factor as a number for each level.

    Parameters
    ----------
    spec : Spec
    factor, coding : int
        Positions of the factor and of its coding.
    j : int
        Column of the coding.
    places : dict of int to int
        Position of the category of each factor.
    """
    levels = range(len(spec.factors[factor].levels or ()))
    code = spec.codings[coding]
    if code.picks is not None:
        return Coded(places[factor], tuple(float(code.picks[j] == level) for level in levels))
    return Coded(places[factor], tuple(float((code.matrix or ())[level][j]) for level in levels))


def _columns(feature: Feature) -> Iterator[str]:
    """Yield the names of the numeric columns that a feature reads."""
    if isinstance(feature, Times):
        yield from _columns(feature.left)
        yield from _columns(feature.right)
    elif not isinstance(feature, Coded):
        yield from (each.name for each in nodes(feature) if isinstance(each, Column))


HIGHEST_DEGREE = 8
"""Largest degree of orthogonal polynomials, whose expressions grow like Fibonacci numbers."""

_LOGARITHMS = {"log2": math.log(2.0), "log10": math.log(10.0)}


def _lowered(node: Node, states: Iterator[State], code: str) -> list[Node]:
    """Return the columns of a formula node as expressions with a small set of operations.

    These are columns, numbers, + - * / **, log, log1p, exp, sqrt and abs. Other nodes raise
    NotSupportedError.

    Parameters
    ----------
    node : Node
    states : iterator of State
        Estimated values of the transforms of the factor, in order of their calls.
    code : str
        Text of the factor for error messages.
    """
    match node:
        case Column() | Number():
            return [node]
        case Negative(operand):
            return [Negative(each) for each in _lowered(operand, states, code)]
        case Operation(first, rest):
            made = _lowered(first, states, code)
            for symbol, operand in rest:
                others = _lowered(operand, states, code)
                if symbol in ("//", "%"):
                    raise _not_written(code, f"The operator {symbol}")
                width = max(len(made), len(others))
                made, others = ([*each] * (width // len(each)) for each in (made, others))
                made = [_of_two(one, symbol, other) for one, other in zip(made, others, strict=True)]
            return made
        case Call("I", (inner,)):
            return _lowered(inner, states, code)
        case Call(("log" | "log1p" | "exp" | "sqrt" | "abs") as function, (inner,)):
            return [Call(function, (each,), ()) for each in _lowered(inner, states, code)]
        case Call(("log2" | "log10") as function, (inner,)):
            unit = Number(_LOGARITHMS[function])
            return [_of_two(Call("log", (x,), ()), "/", unit) for x in _lowered(inner, states, code)]
        case Call(("center" | "scale" | "standardize" | "poly"), (inner,)):
            columns = _lowered(inner, states, code)
            state = next(states)
            if len(dict(state.values).get("centres", ())) > HIGHEST_DEGREE:
                raise _not_written(code, f"poly() of a degree beyond {HIGHEST_DEGREE}")
            return _learnt(state, columns)
    raise _not_written(code, f"{node.function}()" if isinstance(node, Call) else "A matrix")


def _of_two(left: Node, symbol: str, right: Node) -> Node:
    """Return a binary operation as a node."""
    return Operation(left, ((symbol, right),))


def _not_written(code: str, what: str) -> NotSupportedError:
    """Return the error for a term that cannot be exported."""
    return NotSupportedError(
        f"{what} in the term {code!r} has no form in SQL or ONNX.",
        hint=(
            "Compute the column in the table before the fit, or save() the fit and load() it where "
            "Python runs."
        ),
    )


def _learnt(state: State, columns: list[Node]) -> list[Node]:
    """Return the columns of a stateful transform, such as `scale`, with its estimates as numbers."""
    learnt = dict(state.values)
    if state.function != "poly":
        moved = [_of_two(x, "-", Number(mean)) for x, mean in zip(columns, learnt["mean"], strict=True)]
        sds = learnt.get("sd", (1.0,) * len(moved))
        return [x if sd == 1.0 else _of_two(x, "/", Number(sd)) for x, sd in zip(moved, sds, strict=True)]
    (x,) = columns
    if "raw_degree" in learnt:
        return [_of_two(x, "**", Number(float(power))) for power in range(1, learnt["raw_degree"] + 1)]
    scaled = _of_two(_of_two(x, "-", Number(learnt["middle"])), "/", Number(learnt["spread"]))
    norms = (1.0, *learnt["norms"])
    made = []
    before: Node = Number(0.0)
    now: Node = Number(1.0)
    for j, centre in enumerate(learnt["centres"]):
        risen = _of_two(_of_two(scaled, "-", Number(centre)), "*", now)
        if j:
            risen = _of_two(risen, "-", _of_two(Number(norms[j + 1] / norms[j]), "*", before))
        before = now
        now = risen
        made.append(_of_two(now, "/", Number(math.sqrt(norms[j + 2]))))
    return made


class Syntax(NamedTuple):
    """SQL dialect of an engine.

    Attributes
    ----------
    double, whole, text : str
        Types of float64, integers and text.
    literal : str
        Format of a float64 literal, from its digits.
    sign : str
        Quotation mark of names; within a name it is repeated.
    backslash : bool
        Whether a backslash in a string is repeated.
    escaped : {"", "strings", "names and strings"}
        Where quotation marks are escaped by a backslash; elsewhere they are repeated.
    greatest : str
        Function for the largest of several numbers.
    same : str
        Format of a comparison of text that distinguishes case and trailing blanks.
    strict : bool
        Whether a cast of other text to a number is an error.
    stage, end : str
        Keyword before and clause at the end of each common table expression. They make the engine compute its
        columns once, instead of substituting the expressions at thousands of places.
    """

    double: str
    whole: str
    text: str
    literal: str = "{}"
    sign: str = '"'
    backslash: bool = False
    escaped: str = ""
    greatest: str = "GREATEST"
    same: str = "{} = {}"
    strict: bool = True
    stage: str = "AS"
    end: str = ""


Database = Literal["duckdb", "postgres", "sqlite", "mysql", "bigquery", "snowflake", "spark"]
Answer = Literal["label", "proba", "log_proba", "decision"]

DIALECTS: dict[Database, Syntax] = {
    "duckdb": Syntax("DOUBLE", "BIGINT", "VARCHAR"),
    "postgres": Syntax("DOUBLE PRECISION", "INTEGER", "TEXT", literal="float8 '{}'", stage="AS MATERIALIZED"),
    "sqlite": Syntax("REAL", "INTEGER", "TEXT", greatest="MAX", strict=False, stage="AS MATERIALIZED"),
    "mysql": Syntax(
        "DOUBLE",
        "SIGNED",
        "CHAR",
        sign="`",
        backslash=True,
        same="CAST(CONVERT({} USING utf8mb4) AS BINARY) = CAST({} AS BINARY)",
        end="\n  LIMIT 18446744073709551615",
    ),
    "bigquery": Syntax("FLOAT64", "INT64", "STRING", sign="`", escaped="names and strings"),
    "snowflake": Syntax("DOUBLE", "INTEGER", "VARCHAR", literal="'{}'::DOUBLE", backslash=True),
    "spark": Syntax("DOUBLE", "BIGINT", "STRING", sign="`", escaped="strings"),
}
"""Dialects by the option `dialect` of `to_sql`."""

MOST_TEXT = 2**17
"""Largest number of characters of a feature, which each nested function multiplies by two or more."""
TOGETHER = 64
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
    """
    check_word("dialect", dialect, Database)
    rule = exported(fit, prior)
    if output is None:
        output = ("label", "proba" if rule.has_posteriors else "decision")
    wanted = tuple(dict.fromkeys(_names("output", output)))
    for each in wanted:
        check_word("output", each, Answer)
        if each in ("proba", "log_proba"):
            fit.need_posteriors(f'output="{each}"')
    kept = tuple(dict.fromkeys(_names("keep", keep)))
    return _Query(rule, DIALECTS[dialect], _names("table", table), kept).text(wanted)


def _names(option: str, given: Any) -> tuple[str, ...]:
    """Return one or several names as a tuple; raise DataError for other values."""
    names = (*given,) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    for name in names:
        if not isinstance(name, str) or not name or "\0" in name:
            raise DataError(f"{option}= holds {told(name)}, which is no name.", hint="Give the name as text.")
    if not names and option != "keep":
        raise DataError(f"{option}= holds no name.", hint="Give one, or leave it out.")
    return names


class _Query:
    """A query of common table expressions (stages), each of which reads the columns of the one before.

    Parameters
    ----------
    rule : ExportedRule
    dialect : Syntax
    table : sequence of str
        Parts of the name of the table.
    keep : sequence of str
        Columns of the table that every stage passes on.

    Attributes
    ----------
    own : str
        Prefix of the names of computed columns.
    x : dict of str to str
        Names of the numeric inputs, by column.
    stages : list of str
        Text of the stages.
    """

    def __init__(
        self, rule: ExportedRule, dialect: Syntax, table: Sequence[str], keep: Sequence[str]
    ) -> None:
        self.rule = rule
        self.dialect = dialect
        self.keep = keep
        self.table = table
        # The prefix of computed columns must not occur in names of the user.
        self.own = "r_"
        while any(name.lower().startswith(self.own) for name in (*table, *keep)):
            self.own = f"r{self.own}"
        self.x = {name: f"{self.own}x{i}" for i, name in enumerate(rule.numbers)}
        self.stages: list[str] = []

    def number(self, value: float) -> str:
        """Return a float64 literal with all its digits, in parentheses if it has a sign."""
        digits = repr(float(value))
        written = self.dialect.literal.format(digits if "e" in digits else f"{digits}e0")
        return f"({written})" if digits.startswith("-") or "::" in written else written

    def name(self, name: str) -> str:
        """Return a quoted name."""
        sign = self.dialect.sign
        whole = _escaped(name, sign) if "names" in self.dialect.escaped else name.replace(sign, 2 * sign)
        return f"{sign}{whole}{sign}"

    def string(self, value: str) -> str:
        """Return a quoted string."""
        if "\0" in value:
            raise NotSupportedError(
                f"The label {value!r} holds a NUL, which no text of SQL does.", hint="Rename it."
            )
        if "strings" in self.dialect.escaped:
            return f"'{_escaped(value, chr(39))}'"
        value = value.replace("\\", "\\\\") if self.dialect.backslash else value
        return "'" + value.replace("'", "''") + "'"

    def scalar(self, value: Scalar) -> str:
        """Return the literal of a class label."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self.string(value)
        return f"({value})" if isinstance(value, int) else self.number(value)

    def joined(self, terms: Sequence[str], sign: str = " + ") -> str:
        """Join terms with an operator, nested in parentheses to limit the depth of the expression."""
        terms = list(terms)
        while len(terms) > TOGETHER:
            terms = [f"({sign.join(terms[i : i + TOGETHER])})" for i in range(0, len(terms), TOGETHER)]
        return sign.join(terms)

    def greatest(self, values: Sequence[str]) -> str:
        """Return the expression for the largest of several numbers."""
        values = list(values)
        while len(values) > 1:
            pieces = [values[i : i + TOGETHER] for i in range(0, len(values), TOGETHER)]
            values = [
                f"{self.dialect.greatest}({', '.join(each)})" if len(each) > 1 else each[0] for each in pieces
            ]
        return values[0]

    def stage(self, columns: Iterable[tuple[str, str]]) -> None:
        """Add a stage with pairs of expressions and names; the columns in `keep` are passed on."""
        n = len(self.stages)
        kept = [self.name(each) for each in self.keep]
        source = f"{self.own}{n}"
        if n == 0:
            source = ".".join(map(self.name, self.table)) + " AS t"
            kept = [f"t.{each} AS {each}" for each in kept]
        listed = [*kept, *(f"{code} AS {name}" for code, name in columns)]
        self.stages.append("SELECT\n    " + ",\n    ".join(listed) + f"\n  FROM {source}")

    def text(self, wanted: Sequence[str]) -> str:
        """Return the query for the requested outputs."""
        self.stage(self.inputs())
        self.stage((self.feature(each), f"{self.own}f{j}") for j, each in enumerate(self.rule.features))
        self.stage(self.bounded())
        self.stage(self.centred())
        if self.rule.factor is not None:
            self.stage(self.whitened())
        self.stage(self.scores())
        scores = [f"{self.own}s{k}" for k in self.rule.possible]
        largest = f"{self.own}m"
        total = f"{self.own}total"
        self.stage([*((each, each) for each in scores), (self.greatest(scores), largest)])
        if set(wanted) != {"label"}:
            weights = [self.exponential(f"{each} - {largest}") for each in scores]
            names = [f"{self.own}e{k}" for k in self.rule.possible]
            beside = [(each, each) for each in (*scores, largest)]
            self.stage([*beside, *zip(weights, names, strict=True)])
            self.stage([*beside, *((each, each) for each in names), (self.joined(names), total)])
        taken = [name.casefold() for name in self.keep]
        listed = []
        for each in wanted:
            for code, name in getattr(self, f"as_{each}")():
                own = name + distinct(name.casefold(), taken)[len(name.casefold()) :]
                taken.append(own.casefold())
                listed.append((code, self.name(own)))
        self.stage(listed)
        *before, last = self.stages
        how = self.dialect
        named = [f"{self.own}{i} {how.stage} (\n  {each}{how.end}\n)" for i, each in enumerate(before, 1)]
        last = last.replace("\n    ", "\n  ").replace("\n  FROM", "\nFROM")
        return "WITH " + ",\n".join(named) + f"\n{last}"

    def inputs(self) -> Iterator[tuple[str, str]]:
        """Yield the inputs: finite float64, or positions of the levels of categories; else NULL."""
        double = self.dialect.double
        for name, own in self.x.items():
            column = f"t.{self.name(name)}"
            value = f"CAST({column} AS {self.dialect.whole})" if name in self.rule.truths else column
            value = f"CAST({value} AS {double})"
            condition = f"ABS({value}) <= {self.number(LARGEST)}"
            if not self.dialect.strict:
                condition = f"TYPEOF({column}) IN ('integer', 'real') AND {condition}"
            yield f"CASE WHEN {condition} THEN {value} END", own
        for i, (name, levels) in enumerate(self.rule.categories):
            cases = " ".join(
                f"WHEN {self.is_level(f't.{self.name(name)}', level)} THEN {j}"
                for j, level in enumerate(levels)
            )
            yield f"CASE {cases} END", f"{self.own}k{i}"

    def is_level(self, column: str, level: Scalar) -> str:
        """Return the condition that a column has a level."""
        if isinstance(level, bool):
            return f"CAST({column} AS {self.dialect.whole}) = {int(level)}"
        if isinstance(level, str):
            return self.dialect.same.format(f"CAST({column} AS {self.dialect.text})", self.string(level))
        return f"{column} = {self.scalar(level)}"

    def feature(self, feature: Feature) -> str:
        """Return the expression of a feature; raise NotSupportedError if it is too long."""
        text = self.expression(feature)
        if len(text) > MOST_TEXT:
            raise NotSupportedError(
                "A term of the formula has functions within functions, whose query would be longer than "
                f"{MOST_TEXT:,} characters.",
                hint="Compute the column in the table before the fit.",
            )
        return text

    def expression(self, feature: Feature) -> str:
        """Return the expression of a feature, of any length."""
        match feature:
            case Column(name):
                return self.x[name]
            case Number(value):
                return self.number(value)
            case Negative(operand):
                return f"(-{self.feature(operand)})"
            case Times(left, right):
                return f"({self.feature(left)} * {self.feature(right)})"
            case Coded(category, values):
                cases = " ".join(f"WHEN {j} THEN {self.number(value)}" for j, value in enumerate(values))
                return f"CASE {self.own}k{category} {cases} END"
            case Call(function, (inner,)):
                return self.call(function, self.feature(inner))
            case Operation(first, ((symbol, second),)):
                return self.operation(symbol, self.feature(first), second)
        raise TypeError(f"{feature!r} is no feature: pass what _lowered makes.")

    def operation(self, symbol: str, left: str, second: Node) -> str:
        """Return the expression of a binary operation; NULL if undefined, such as a division by zero.

        Parameters
        ----------
        symbol : {"+", "-", "*", "/", "**"}
        left : str
            Expression of the first operand.
        second : Node
            Second operand.
        """
        right = self.feature(second)
        if symbol == "/":
            return f"({left} / NULLIF({right}, {self.number(0.0)}))"
        if symbol != "**":
            return f"({left} {symbol} {right})"
        if isinstance(second, Number) and second.value in (2.0, 3.0):
            return "(" + " * ".join([left] * int(second.value)) + ")"
        zero = self.number(0.0)
        base = f"CASE WHEN {left} <> {zero} OR {right} >= {zero} THEN {left} END"
        whole = f"{right} = FLOOR({right})"
        return f"CASE WHEN {left} >= {zero} OR {whole} THEN POWER({base}, {right}) END"

    def call(self, function: str, inner: str) -> str:
        """Return the expression of a function of one number; NULL outside its domain."""
        zero = self.number(0.0)
        match function:
            case "log":
                return f"CASE WHEN {inner} > {zero} THEN LN({inner}) END"
            case "sqrt":
                return f"CASE WHEN {inner} >= {zero} THEN SQRT({inner}) END"
            case "abs":
                return f"ABS({inner})"
            case "exp":
                return f"CASE WHEN {inner} <= {self.number(HIGHEST)} THEN {self.exponential(inner)} END"
        # log1p after Kahan: the rounding error of 1 + x cancels, because it is in the divisor too.
        one = self.number(1.0)
        more = f"({one} + {inner})"
        return (
            f"CASE WHEN {more} = {one} THEN {inner} "
            f"WHEN {more} > {zero} THEN LN({more}) * ({inner} / ({more} - {one})) END"
        )

    def exponential(self, inner: str) -> str:
        """Return the expression of exp(), which is zero if some engines would report underflow."""
        least = self.number(LOWEST)
        zero = self.number(0.0)
        return f"CASE WHEN {inner} >= {least} THEN EXP({inner}) WHEN {inner} < {least} THEN {zero} END"

    def bounded(self) -> Iterator[tuple[str, str]]:
        """Yield the features, NULL outside their limits."""
        for j, (feature, limit) in enumerate(zip(self.rule.features, self.rule.limits, strict=True)):
            value = f"{self.own}f{j}"
            bounded = f"CASE WHEN ABS({value}) <= {self.number(limit)} THEN {value} END"
            yield value if isinstance(feature, Coded) else bounded, value

    def centred(self) -> Iterator[tuple[str, str]]:
        """Yield the features centred and scaled at each point."""
        for g, point in enumerate(self.rule.points):
            for j in range(len(self.rule.features)):
                value = f"{self.own}f{j}"
                if point.origin[j]:
                    value = f"({value} - {self.number(point.origin[j])})"
                if point.scale[j] != 1:
                    value = f"{value} * {self.number(point.scale[j])}"
                if point.mean[j]:
                    value = f"{value} - {self.number(point.mean[j])}"
                yield value, f"{self.own}d{g}_{j}"

    def product(self, g: int, coefficients: Floats) -> str:
        """Return the scalar product of the features centred at point g and coefficients (p,)."""
        terms = [
            f"{self.own}d{g}_{j} * {self.number(coefficients[j])}"
            for j in np.flatnonzero(coefficients).tolist()
        ]
        return self.joined(terms) or self.number(0.0)

    def whitened(self) -> Iterator[tuple[str, str]]:
        """Yield the whitened features, whose sum of squares is the squared distance, for each class."""
        for k in self.rule.possible:
            for i, column in enumerate(self.rule.weights[k].T):
                yield self.product(k, column), f"{self.own}w{k}_{i}"

    def scores(self) -> Iterator[tuple[str, str]]:
        """Yield the scores of the classes with a positive prior."""
        rule = self.rule
        for k in rule.possible:
            score = f"{self.own}s{k}"
            constant = self.number(rule.constant[k])
            if rule.factor is not None:
                names = [f"{self.own}w{k}_{i}" for i in range(rule.weights[k].shape[1])]
                squares = self.joined([f"{name} * {name}" for name in names])
                yield f"{constant} + {self.number(-0.5 * rule.factor[k])} * ({squares})", score
                continue
            coef = rule.weights[0][:, k]
            value = f"{constant} + {self.product(0, coef)}"
            idle = [f"{self.own}d0_{j} IS NOT NULL" for j in np.flatnonzero(coef == 0).tolist()]
            yield f"CASE WHEN {self.joined(idle, ' AND ')} THEN {value} END" if idle else value, score

    def each_class(self, named: str, code: Callable[[int], str], impossible: str) -> list[tuple[str, str]]:
        """Return the expression and name of an output column for each class.

        Parameters
        ----------
        named : str
            Prefix of the names.
        code : callable
            Function of the position of a class that returns its expression.
        impossible : str
            Expression for classes with a prior of zero.
        """
        possible = set(self.rule.possible)
        there = f"CASE WHEN {self.own}m IS NOT NULL THEN {impossible} END"
        return [
            (code(k) if k in possible else there, f"{named}_{label}")
            for k, label in enumerate(self.rule.classes)
        ]

    def as_label(self) -> list[tuple[str, str]]:
        """Return the label of the class with the largest score, the first of ties."""
        cases = [
            f"WHEN {self.own}s{k} >= {self.own}m THEN {self.scalar(self.rule.classes[k])}"
            for k in self.rule.possible
        ]
        return [("\n      ".join(["CASE", *cases, "END"]), "label")]

    def as_proba(self) -> list[tuple[str, str]]:
        """Return the posterior of each class."""
        return self.each_class("proba", lambda k: f"{self.own}e{k} / {self.own}total", self.number(0.0))

    def as_log_proba(self) -> list[tuple[str, str]]:
        """Return the log posteriors; NULL for a class with a prior of zero."""
        return self.each_class(
            "log_proba", lambda k: f"({self.own}s{k} - {self.own}m) - LN({self.own}total)", "NULL"
        )

    def as_decision(self) -> list[tuple[str, str]]:
        """Return the values of `decision_function`; for two classes their difference."""
        n_classes = len(self.rule.classes)
        possible = self.rule.possible
        if len(possible) < n_classes:
            raise NotSupportedError(
                'output="decision" is infinite for a class whose prior is zero.', hint='Ask for "log_proba".'
            )
        if n_classes == 2:
            return [(f"{self.own}s1 - {self.own}s0", "decision")]
        made = self.rule.decision
        if made is None:
            return [(code, f"decision{name.removeprefix('log_proba')}") for code, name in self.as_log_proba()]
        products = [
            [f"{self.own}s{i} * {self.number(made[i, k])}" for i in np.flatnonzero(made[:, k]).tolist()]
            for k in range(n_classes)
        ]
        # The sum of a reference class is empty, and its value zero.
        return self.each_class("decision", lambda k: self.joined(products[k]) or f"0 * {self.own}m", "NULL")


def _escaped(text: str, sign: str) -> str:
    """Return text in which backslashes, quotation marks and line breaks are escaped."""
    text = text.replace("\\", "\\\\").replace(sign, f"\\{sign}")
    return text.replace("\n", "\\n").replace("\r", "\\r")
