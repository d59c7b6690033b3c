"""Decision rules as ONNX, a graph of operators that many runtimes support, in float64.

The rule comes from `discrim.models.results.exported`; its features are computed column by column and its
scores by matrix products. A value that is not finite becomes NaN, by x + (x - x), and so do all results of
its row.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from discrim.data.values import Scalar
from discrim.errors import missing_package
from discrim.formula.grammar import Call, Column, Negative, Number, Operation
from discrim.models.base.fit import FittedModel
from discrim.models.results.exported import Coded, ExportedRule, Feature, Times, exported

OPSET = 19
IR_VERSION = 9
"""The first set of operators that compares text, and the format of its files."""

_KINDS: dict[str, tuple[Any, Scalar]] = {
    "STRING": (object, ""),
    "INT64": (np.int64, np.iinfo(np.int64).min),
    "DOUBLE": (np.float64, math.nan),
}
"""Kinds of labels and levels: the dtype of arrays of them, and the label of a row without one."""

_OPERATORS = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "**": "Pow"}
_FUNCTIONS = {"log": "Log", "exp": "Exp", "sqrt": "Sqrt", "abs": "Abs"}


def as_onnx(fit: FittedModel[Any], prior: Any) -> Any:
    """The rule of a fit as a model of ONNX; see `ClassifierResults.to_onnx`."""
    try:
        import onnx
    except ImportError:
        raise missing_package("to_onnx()", "onnx", "onnx", "write the rule with to_sql()") from None
    rule = exported(fit, prior)
    graph = _Graph(onnx, rule)
    graph.write()
    tensors = onnx.TensorProto
    values = "probabilities" if rule.has_posteriors else "values"
    make = onnx.helper.make_tensor_value_info
    width = 1 if graph.single else len(rule.classes)
    outputs = [
        make("label", getattr(tensors, graph.kind), ["rows"]),
        make(values, tensors.DOUBLE, ["rows", width]),
    ]
    made = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "rule", graph.inputs, outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="discrim",
        doc_string=f"{fit.title}: {fit.formula}",
    )
    onnx.helper.set_model_props(made, {"classes": json.dumps(rule.classes), "formula": fit.formula})
    onnx.checker.check_model(made)
    return made


def _kind(values: tuple[Scalar, ...]) -> str:
    return "STRING" if isinstance(values[0], str) else "INT64" if isinstance(values[0], int) else "DOUBLE"


class _Graph:
    """Nodes, inputs and constants of one graph."""

    def __init__(self, onnx: Any, rule: ExportedRule) -> None:
        self.onnx = onnx
        self.rule = rule
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.single = not rule.has_posteriors and len(rule.classes) == 2
        self.kind = _kind(rule.classes)
        self._kinds: dict[str, str] = {}
        self._numbers: dict[str, str] = {}
        self._levels: dict[int, tuple[str, str]] = {}

    def add(self, operator: str, *inputs: str, name: str = "", **options: Any) -> str:
        """Add a node and return the name of its output."""
        name = name or f"/{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **options))
        return name

    def constant(self, values: Any) -> str:
        """Add an array and return its name."""
        name = f"/c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def finite(self, value: str) -> str:
        """Return the value with infinite elements replaced by NaN."""
        return self.add("Add", value, self.add("Sub", value, value))

    def input(self, name: str, kind: str) -> str:
        """Add a column of the table (rows, 1) as an input if it is new, and return its type."""
        if name not in self._kinds:
            self._kinds[name] = kind
            kind_of = getattr(self.onnx.TensorProto, kind)
            self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind_of, ["rows", 1]))
        return self._kinds[name]

    def write(self) -> None:
        """Add all nodes of the rule, from the inputs to the outputs."""
        rule = self.rule
        for name in rule.numbers:
            self.input(name, "DOUBLE")
            self._numbers[name] = self.finite(name)
        for i, (name, levels) in enumerate(rule.categories):
            self._levels[i] = self.levels(name, levels)
        columns = [self.feature(each) for each in rule.features]
        features = self.add("Concat", *columns, axis=1)
        near = self.add("LessOrEqual", self.add("Abs", features), self.constant(rule.limits[None]))
        scores = self.scores(self.add("Where", near, features, self.constant(np.nan)))
        axes = self.constant(np.array([1]))
        largest = self.add("ReduceMax", scores, axes, keepdims=0)
        best = self.add("ArgMax", scores, axis=1, keepdims=0)
        none = self.constant(np.array(-1))
        # Infinite scores, and those of a row that misses a value, have no largest one.
        unknown = self.add("IsNaN", self.finite(largest))
        code = self.add("Where", unknown, none, best)
        dtype, beyond = _KINDS[self.kind]
        known = np.array([*rule.classes, beyond], dtype=dtype)
        self.add("Gather", self.constant(known), code, name="label")
        if rule.has_posteriors:
            rest = self.add("Unsqueeze", largest, axes)
            self.add("Softmax", self.add("Sub", scores, rest), axis=1, name="probabilities")
        elif self.single:
            self.add("MatMul", scores, self.constant(np.array([[-1.0], [1.0]])), name="values")
        else:
            self.add("Identity", scores, name="values")

    def levels(self, name: str, levels: tuple[Scalar, ...]) -> tuple[str, str]:
        """Return indicators (rows, levels) of the levels of a column, and their sum (rows, 1)."""
        dtype, _ = _KINDS[self.input(name, _kind(levels))]
        same = self.add("Equal", name, self.constant(np.array([levels], dtype=dtype)))
        indicators = self.add("Cast", same, to=self.onnx.TensorProto.DOUBLE)
        return indicators, self.add("ReduceSum", indicators, self.constant(np.array([1])), keepdims=1)

    def feature(self, feature: Feature) -> str:
        """Return a feature as a column (rows, 1)."""
        match feature:
            case Column(name):
                return self._numbers[name]
            case Number(value):
                return self.constant(np.array([[value]]))
            case Negative(operand):
                return self.add("Neg", self.feature(operand))
            case Times(left, right):
                return self.add("Mul", self.feature(left), self.feature(right))
            case Coded(category, values):
                indicators, there = self._levels[category]
                # An unseen level is none of them: 0/0.
                of_level = self.add("MatMul", indicators, self.constant(np.array(values)[:, None]))
                return self.add("Div", of_level, there)
            case Operation(first, ((symbol, second),)):
                return self.add(_OPERATORS[symbol], self.feature(first), self.feature(second))
            case Call("log1p", (inner,)):
                return self.log1p(self.feature(inner))
            case Call(function, (inner,)):
                return self.add(_FUNCTIONS[function], self.feature(inner))
        raise TypeError(f"{feature!r} is no feature: pass those of an ExportedRule.")

    def log1p(self, x: str) -> str:
        """Return log(1 + x) by Kahan's method, in which the rounding error of 1 + x cancels."""
        one = self.constant(np.array([[1.0]]))
        more = self.add("Add", one, x)
        ratio = self.add("Div", x, self.add("Sub", more, one))
        return self.add(
            "Where", self.add("Equal", more, one), x, self.add("Mul", self.add("Log", more), ratio)
        )

    def scores(self, features: str) -> str:
        """Return scores (rows, K) of features (rows, p)."""
        rule = self.rule
        constant = self.constant(self.rule.constant[None])
        origin, scale, mean = (np.stack(each)[:, None] for each in zip(*rule.points, strict=True))
        if rule.factor is None:
            origin = origin[0]
            scale = scale[0]
            mean = mean[0]
        centred = self.add("Mul", self.add("Sub", features, self.constant(origin)), self.constant(scale))
        if mean.any():
            centred = self.add("Sub", centred, self.constant(mean))
        if rule.factor is None:
            return self.add("Add", self.add("MatMul", centred, self.constant(rule.weights[0])), constant)
        # Classes, rows, whitened columns.
        whitened = self.add("MatMul", centred, self.constant(np.stack(rule.weights)))
        squares = self.add(
            "ReduceSum", self.add("Mul", whitened, whitened), self.constant(np.array([2])), keepdims=0
        )
        by_row = self.add("Transpose", squares, perm=[1, 0])
        return self.add("Add", self.add("Mul", by_row, self.constant(-0.5 * rule.factor[None])), constant)
