"""Rules that leave Python: a decision rule as expressions of columns and arrays of scores, and as SQL.

A rule is taken apart once. Its *columns* are those of the table that it reads, numbers or categories. Its
*features* are the columns of the design, each an expression in the nodes of the formula language, in which
what transforms learnt is written out as numbers, or a table of numbers by level. Its *scores* are those of
linear or normal rules of the features. Whatever writes a rule in another language translates these three; SQL
is written here.

*Digits.* Features are centred before they are multiplied, as in the rules themselves, and posteriors are
exp(s_k - m) / sum_l exp(s_l - m) with m the largest score, so that they neither overflow nor sink.

*What is missing.* Everything is NULL in a row that misses a value, or in which a feature is no finite number.
Operations which an engine would refuse, such as the logarithm of zero, are NULL before it sees them, and so
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
"""Between which exponentials are doubles with all their digits: engines refuse others, or make them zero."""

FARTHEST = 1e100
WIDEST = 1e300
"""What a feature may add to a score or a distance, and what it may be: sums and squares stay finite."""


class Category(NamedTuple):
    """A column of categories, and its levels in order."""

    column: str
    levels: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Coded:
    """A number for each level of one of the rule's categories."""

    category: int
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """The product of two features, one of which is a table by level."""

    left: Feature
    right: Feature


Feature = Node | Coded | Times


class Point(NamedTuple):
    """Where features (p,) are measured from: z = (x - origin) * scale - mean."""

    origin: Floats
    scale: Floats
    mean: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ExportedRule:
    """A rule as expressions of columns, then features, then scores.

    Attributes
    ----------
    numbers : tuple of str
        Columns of numbers or truth values that it reads.
    truths : frozenset of str
        Those of truth values.
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
        What half of a squared distance is multiplied by; None of a linear rule.
    decision : (K, K) float or None
        What makes decision values of scores, by a product; None where they are log posteriors.
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
        """Absolute values (p,) beyond which nothing is said of a row, as its scores might overflow."""
        slopes = zip(self.points, self.weights, strict=True)
        steep = np.max([np.abs(point.scale[:, None] * each).max(axis=1) for point, each in slopes], axis=0)
        return np.asarray(FARTHEST / np.maximum(steep, FARTHEST / WIDEST))

    @property
    def possible(self) -> list[int]:
        """Classes that a row may be given to, as those of a prior of zero may not."""
        return np.flatnonzero(np.isfinite(self.constant)).tolist()


def exported(fit: FittedModel[Any], prior: Any = None) -> ExportedRule:
    """The rule of a fit, taken apart; a NotSupportedError names what has no place outside Python."""
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
        # Close classes that lie far from others: about its own mean each keeps the digits of its differences.
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
    return NotSupportedError(
        f"{fit.spec.name}() {why}, so that it has no form in SQL or ONNX.",
        hint="save() it and load() it where Python runs, or fit lda(), qda() or logistic().",
    )


def _scores(
    fit: FittedModel[Any], rule: Any
) -> tuple[tuple[Point, ...], tuple[Floats, ...], Floats | None, Floats]:
    """Points, weights, factor and constant of a rule."""
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
    """The categories of a design, and its columns as expressions."""
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
    levels = range(len(spec.factors[factor].levels or ()))
    code = spec.codings[coding]
    if code.picks is not None:
        return Coded(places[factor], tuple(float(code.picks[j] == level) for level in levels))
    return Coded(places[factor], tuple(float((code.matrix or ())[level][j]) for level in levels))


def _columns(feature: Feature) -> Iterator[str]:
    """Columns of numbers that a feature reads."""
    if isinstance(feature, Times):
        yield from _columns(feature.left)
        yield from _columns(feature.right)
    elif not isinstance(feature, Coded):
        yield from (each.name for each in nodes(feature) if isinstance(each, Column))


HIGHEST_DEGREE = 8
"""Of orthogonal polynomials: each repeats the two before it, so that they grow as Fibonacci's numbers do."""

_LOGARITHMS = {"log2": math.log(2.0), "log10": math.log(10.0)}


def _lowered(node: Node, states: Iterator[State], code: str) -> list[Node]:
    """The columns that a node makes, in columns, numbers, + - * / **, log, log1p, exp, sqrt and abs alone."""
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
    return Operation(left, ((symbol, right),))


def _not_written(code: str, what: str) -> NotSupportedError:
    return NotSupportedError(
        f"{what} in the term {code!r} has no form in SQL or ONNX.",
        hint=(
            "Compute the column in the table before the fit, or save() the fit and load() it where "
            "Python runs."
        ),
    )


def _learnt(state: State, columns: list[Node]) -> list[Node]:
    """The columns of a call that learnt from the rows, with its numbers written out."""
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
    """How an engine writes what others write in another way.

    Attributes
    ----------
    double, whole, text : str
        Types of doubles, whole numbers and text.
    literal : str
        A double, of its digits.
    sign : str
        What encloses a name; it is doubled within it.
    backslash : bool
        Whether a backslash in a string is doubled.
    escaped : {"", "strings", "names and strings"}
        What has a backslash before a sign that would end it; elsewhere the sign is doubled.
    greatest : str
        The largest of several numbers.
    same : str
        Whether a text is a string, letter by letter.
    strict : bool
        Whether the engine has text that is no number cast to a number be an error.
    stage, end : str
        What stands before and at the end of a stage, so that its expressions are computed, and not written
        out in each place of the next stage that reads them: these would be thousands.
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
"""The engines, by the word of `to_sql(dialect=)`."""

MOST_TEXT = 2**17
"""Characters of one feature: each function doubles those of what it is of, or more."""
TOGETHER = 64
"""Terms of a sum, or arguments of a function, that stand in one pair of brackets."""


def as_sql(
    fit: FittedModel[Any],
    dialect: Database,
    table: str | Sequence[str],
    output: Any,
    keep: Sequence[str],
    prior: Any,
) -> str:
    """The rule of a fit as a query; see `ClassifierResults.to_sql`."""
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
    """One name or several, or a DataError."""
    names = (*given,) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    for name in names:
        if not isinstance(name, str) or not name or "\0" in name:
            raise DataError(f"{option}= holds {told(name)}, which is no name.", hint="Give the name as text.")
    if not names and option != "keep":
        raise DataError(f"{option}= holds no name.", hint="Give one, or leave it out.")
    return names


class _Query:
    """One query: stages of named columns, each of which reads the one before."""

    def __init__(
        self, rule: ExportedRule, dialect: Syntax, table: Sequence[str], keep: Sequence[str]
    ) -> None:
        self.rule = rule
        self.dialect = dialect
        self.keep = keep
        self.table = table
        # Names of our own are no beginnings of names of others.
        self.own = "r_"
        while any(name.lower().startswith(self.own) for name in (*table, *keep)):
            self.own = f"r{self.own}"
        self.x = {name: f"{self.own}x{i}" for i, name in enumerate(rule.numbers)}
        self.stages: list[str] = []

    def number(self, value: float) -> str:
        """A double with all its digits, in brackets where it has a sign."""
        digits = repr(float(value))
        written = self.dialect.literal.format(digits if "e" in digits else f"{digits}e0")
        return f"({written})" if digits.startswith("-") or "::" in written else written

    def name(self, name: str) -> str:
        """A name of the table's, as it is."""
        sign = self.dialect.sign
        whole = _escaped(name, sign) if "names" in self.dialect.escaped else name.replace(sign, 2 * sign)
        return f"{sign}{whole}{sign}"

    def string(self, value: str) -> str:
        """A string, as it is."""
        if "\0" in value:
            raise NotSupportedError(
                f"The label {value!r} holds a NUL, which no text of SQL does.", hint="Rename it."
            )
        if "strings" in self.dialect.escaped:
            return f"'{_escaped(value, chr(39))}'"
        value = value.replace("\\", "\\\\") if self.dialect.backslash else value
        return "'" + value.replace("'", "''") + "'"

    def scalar(self, value: Scalar) -> str:
        """A label of a class."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self.string(value)
        return f"({value})" if isinstance(value, int) else self.number(value)

    def joined(self, terms: Sequence[str], sign: str = " + ") -> str:
        """Terms with a sign between them, in brackets no deeper than engines bear."""
        terms = list(terms)
        while len(terms) > TOGETHER:
            terms = [f"({sign.join(terms[i : i + TOGETHER])})" for i in range(0, len(terms), TOGETHER)]
        return sign.join(terms)

    def greatest(self, values: Sequence[str]) -> str:
        """The largest of several numbers."""
        values = list(values)
        while len(values) > 1:
            pieces = [values[i : i + TOGETHER] for i in range(0, len(values), TOGETHER)]
            values = [
                f"{self.dialect.greatest}({', '.join(each)})" if len(each) > 1 else each[0] for each in pieces
            ]
        return values[0]

    def stage(self, columns: Iterable[tuple[str, str]]) -> None:
        """Add a stage of expressions and their names; the columns to keep go through it."""
        n = len(self.stages)
        kept = [self.name(each) for each in self.keep]
        source = f"{self.own}{n}"
        if n == 0:
            source = ".".join(map(self.name, self.table)) + " AS t"
            kept = [f"t.{each} AS {each}" for each in kept]
        listed = [*kept, *(f"{code} AS {name}" for code, name in columns)]
        self.stages.append("SELECT\n    " + ",\n    ".join(listed) + f"\n  FROM {source}")

    def text(self, wanted: Sequence[str]) -> str:
        """The whole query."""
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
        """The columns as finite doubles, and categories as positions of their levels; else NULL."""
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
        """Whether a column has a level."""
        if isinstance(level, bool):
            return f"CAST({column} AS {self.dialect.whole}) = {int(level)}"
        if isinstance(level, str):
            return self.dialect.same.format(f"CAST({column} AS {self.dialect.text})", self.string(level))
        return f"{column} = {self.scalar(level)}"

    def feature(self, feature: Feature) -> str:
        """A feature as an expression of the inputs; what a condition is on stands in it twice."""
        text = self.expression(feature)
        if len(text) > MOST_TEXT:
            raise NotSupportedError(
                "A term of the formula has functions within functions, whose query would be longer than "
                f"{MOST_TEXT:,} characters.",
                hint="Compute the column in the table before the fit.",
            )
        return text

    def expression(self, feature: Feature) -> str:
        """A feature, of features that are short enough."""
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
        """Two operands; NULL where there is no number, as where one divides by zero."""
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
        """A function of one number; NULL where it has no value."""
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
        # Kahan's log1p: the rounding of 1 + x is in the divisor as well.
        one = self.number(1.0)
        more = f"({one} + {inner})"
        return (
            f"CASE WHEN {more} = {one} THEN {inner} "
            f"WHEN {more} > {zero} THEN LN({more}) * ({inner} / ({more} - {one})) END"
        )

    def exponential(self, inner: str) -> str:
        """exp() of a number, which is zero where some engines would raise an error."""
        least = self.number(LOWEST)
        zero = self.number(0.0)
        return f"CASE WHEN {inner} >= {least} THEN EXP({inner}) WHEN {inner} < {least} THEN {zero} END"

    def bounded(self) -> Iterator[tuple[str, str]]:
        """Features within their limits; else NULL."""
        for j, (feature, limit) in enumerate(zip(self.rule.features, self.rule.limits, strict=True)):
            value = f"{self.own}f{j}"
            bounded = f"CASE WHEN ABS({value}) <= {self.number(limit)} THEN {value} END"
            yield value if isinstance(feature, Coded) else bounded, value

    def centred(self) -> Iterator[tuple[str, str]]:
        """Features about each point."""
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
        """A sum of centred features times coefficients (p,)."""
        terms = [
            f"{self.own}d{g}_{j} * {self.number(coefficients[j])}"
            for j in np.flatnonzero(coefficients).tolist()
        ]
        return self.joined(terms) or self.number(0.0)

    def whitened(self) -> Iterator[tuple[str, str]]:
        """Products whose squares sum to the squared distances."""
        for k in self.rule.possible:
            for i, column in enumerate(self.rule.weights[k].T):
                yield self.product(k, column), f"{self.own}w{k}_{i}"

    def scores(self) -> Iterator[tuple[str, str]]:
        """Scores of the classes that are possible."""
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
        """A column for each class, of what is said of one that is possible and of one that is not."""
        possible = set(self.rule.possible)
        there = f"CASE WHEN {self.own}m IS NOT NULL THEN {impossible} END"
        return [
            (code(k) if k in possible else there, f"{named}_{label}")
            for k, label in enumerate(self.rule.classes)
        ]

    def as_label(self) -> list[tuple[str, str]]:
        """The class of the largest score, the first of equals."""
        cases = [
            f"WHEN {self.own}s{k} >= {self.own}m THEN {self.scalar(self.rule.classes[k])}"
            for k in self.rule.possible
        ]
        return [("\n      ".join(["CASE", *cases, "END"]), "label")]

    def as_proba(self) -> list[tuple[str, str]]:
        """Posteriors."""
        return self.each_class("proba", lambda k: f"{self.own}e{k} / {self.own}total", self.number(0.0))

    def as_log_proba(self) -> list[tuple[str, str]]:
        """Log posteriors; NULL of a class that is not possible."""
        return self.each_class(
            "log_proba", lambda k: f"({self.own}s{k} - {self.own}m) - LN({self.own}total)", "NULL"
        )

    def as_decision(self) -> list[tuple[str, str]]:
        """The values of `decision_function`; of two classes their difference."""
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
        # Of a reference the sum is empty, and its value zero.
        return self.each_class("decision", lambda k: self.joined(products[k]) or f"0 * {self.own}m", "NULL")


def _escaped(text: str, sign: str) -> str:
    """Text within signs, with what would end it, or a line, behind a backslash."""
    text = text.replace("\\", "\\\\").replace(sign, f"\\{sign}")
    return text.replace("\n", "\\n").replace("\r", "\\r")
