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
from discrim.models.results.exported import ExportedRule, Feature, FeatureProduct, LevelValues, export_rule

OPSET = 19
IR_VERSION = 9
"""Versions of the operators, the first that compare text, and of the file format."""

_ONNX_TYPES: dict[str, tuple[Any, Scalar]] = {
    "STRING": (object, ""),
    "INT64": (np.int64, np.iinfo(np.int64).min),
    "DOUBLE": (np.float64, math.nan),
}
"""Types of labels and levels in ONNX: the dtype of their arrays, and the label of a row without a class."""

_OPERATORS = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "**": "Pow"}
_FUNCTIONS = {"log": "Log", "exp": "Exp", "sqrt": "Sqrt", "abs": "Abs"}


def as_onnx(fit: FittedModel[Any], prior: Any) -> Any:
    """Convert the rule of a fit to an `onnx.ModelProto`; see `ClassifierResults.to_onnx`."""
    try:
        import onnx
    except ImportError:
        raise missing_package("to_onnx()", "onnx", "onnx", "write the rule with to_sql()") from None
    rule = export_rule(fit, prior)
    graph = _Graph(onnx, rule)
    graph.add_rule()
    tensors = onnx.TensorProto
    values_name = "probabilities" if rule.has_posteriors else "values"
    value_info = onnx.helper.make_tensor_value_info
    width = 1 if graph.has_single_value else len(rule.classes)
    outputs = [
        value_info("label", getattr(tensors, graph.label_type), ["rows"]),
        value_info(values_name, tensors.DOUBLE, ["rows", width]),
    ]
    model = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "rule", graph.inputs, outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="discrim",
        doc_string=f"{fit.title}: {fit.formula}",
    )
    onnx.helper.set_model_props(model, {"classes": json.dumps(rule.classes), "formula": fit.formula})
    onnx.checker.check_model(model)
    return model


def _onnx_type(values: tuple[Scalar, ...]) -> str:
    """Return the ONNX type, a key of `_ONNX_TYPES`, of labels or levels; booleans are "INT64"."""
    return "STRING" if isinstance(values[0], str) else "INT64" if isinstance(values[0], int) else "DOUBLE"


class _Graph:
    """Builder of the graph of a rule. Nodes are identified by the names of their outputs.

    Parameters
    ----------
    onnx : module
        The package onnx.
    rule : ExportedRule

    Attributes
    ----------
    nodes, constants, inputs : list
        Objects of onnx.
    has_single_value : bool
        Whether the rule has one decision value instead of a column for each class.
    label_type : str
        ONNX type of the class labels.
    """

    def __init__(self, onnx: Any, rule: ExportedRule) -> None:
        self.onnx = onnx
        self.rule = rule
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.has_single_value = not rule.has_posteriors and len(rule.classes) == 2
        self.label_type = _onnx_type(rule.classes)
        self._input_types: dict[str, str] = {}
        self._numeric_inputs: dict[str, str] = {}
        self._levels: dict[int, tuple[str, str]] = {}

    def add_node(self, operator: str, *inputs: str, name: str = "", **options: Any) -> str:
        """Add a node and return the name of its output.

        Parameters
        ----------
        operator : str
            Operator of ONNX, such as "MatMul".
        *inputs : str
            Names of the nodes, constants or inputs that it reads.
        name : str
            Name of its output; by default a new one.
        **options
            Attributes of the operator, such as `axis`.
        """
        name = name or f"/{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **options))
        return name

    def add_constant(self, values: Any) -> str:
        """Add an array, or a number, as a constant and return its name."""
        name = f"/c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def add_infinite_to_nan(self, value: str) -> str:
        """Add nodes that replace infinite elements of a node by NaN; return the name of the result."""
        return self.add_node("Add", value, self.add_node("Sub", value, value))

    def add_input(self, name: str, onnx_type: str) -> str:
        """Add a column of the table (rows, 1) as an input if it is new.

        Returns its type, which is the type with which it was first added.
        """
        if name not in self._input_types:
            self._input_types[name] = onnx_type
            tensor_type = getattr(self.onnx.TensorProto, onnx_type)
            self.inputs.append(self.onnx.helper.make_tensor_value_info(name, tensor_type, ["rows", 1]))
        return self._input_types[name]

    def add_rule(self) -> None:
        """Add all inputs, constants and nodes of the rule.

        The outputs are "label" and, for a model with posteriors, "probabilities", else "values".
        """
        rule = self.rule
        for name in rule.numeric_columns:
            self.add_input(name, "DOUBLE")
            self._numeric_inputs[name] = self.add_infinite_to_nan(name)
        for i, (name, levels) in enumerate(rule.categories):
            self._levels[i] = self.add_levels(name, levels)
        columns = [self.add_feature(feature) for feature in rule.features]
        features = self.add_node("Concat", *columns, axis=1)
        is_within_limits = self.add_node(
            "LessOrEqual", self.add_node("Abs", features), self.add_constant(rule.limits[None])
        )
        scores = self.add_scores(
            self.add_node("Where", is_within_limits, features, self.add_constant(np.nan))
        )
        axes = self.add_constant(np.array([1]))
        largest = self.add_node("ReduceMax", scores, axes, keepdims=0)
        argmax = self.add_node("ArgMax", scores, axis=1, keepdims=0)
        no_class = self.add_constant(np.array(-1))
        # The largest score is undefined for a row with an infinite or missing score.
        is_missing = self.add_node("IsNaN", self.add_infinite_to_nan(largest))
        code = self.add_node("Where", is_missing, no_class, argmax)
        dtype, missing_label = _ONNX_TYPES[self.label_type]
        labels = np.array([*rule.classes, missing_label], dtype=dtype)
        self.add_node("Gather", self.add_constant(labels), code, name="label")
        if rule.has_posteriors:
            largest_column = self.add_node("Unsqueeze", largest, axes)
            self.add_node(
                "Softmax", self.add_node("Sub", scores, largest_column), axis=1, name="probabilities"
            )
        elif self.has_single_value:
            self.add_node("MatMul", scores, self.add_constant(np.array([[-1.0], [1.0]])), name="values")
        else:
            self.add_node("Identity", scores, name="values")

    def add_levels(self, name: str, levels: tuple[Scalar, ...]) -> tuple[str, str]:
        """Add a categorical column as input, and nodes for the indicators of its levels.

        Parameters
        ----------
        name : str
            Name of the column.
        levels : tuple
            Its levels in order.

        Returns
        -------
        indicators, total : str
            Names of the nodes of the indicators (rows, levels) and of their sum (rows, 1).
        """
        dtype, _ = _ONNX_TYPES[self.add_input(name, _onnx_type(levels))]
        same = self.add_node("Equal", name, self.add_constant(np.array([levels], dtype=dtype)))
        indicators = self.add_node("Cast", same, to=self.onnx.TensorProto.DOUBLE)
        return indicators, self.add_node(
            "ReduceSum", indicators, self.add_constant(np.array([1])), keepdims=1
        )

    def add_feature(self, feature: Feature) -> str:
        """Add nodes for a feature; return the name of the result, a column (rows, 1), or (1, 1) if constant.

        It is NaN for a level that the fit has not seen.
        """
        match feature:
            case Column(name):
                return self._numeric_inputs[name]
            case Number(value):
                return self.add_constant(np.array([[value]]))
            case Negative(operand):
                return self.add_node("Neg", self.add_feature(operand))
            case FeatureProduct(left, right):
                return self.add_node("Mul", self.add_feature(left), self.add_feature(right))
            case LevelValues(category, values):
                indicators, indicator_sum = self._levels[category]
                # All indicators of an unseen level are zero: 0/0.
                level_value = self.add_node(
                    "MatMul", indicators, self.add_constant(np.array(values)[:, None])
                )
                return self.add_node("Div", level_value, indicator_sum)
            case Operation(first, ((symbol, second),)):
                return self.add_node(_OPERATORS[symbol], self.add_feature(first), self.add_feature(second))
            case Call("log1p", (inner,)):
                return self.add_log1p(self.add_feature(inner))
            case Call(function, (inner,)):
                return self.add_node(_FUNCTIONS[function], self.add_feature(inner))
        raise TypeError(f"{feature!r} is not a feature.")

    def add_log1p(self, x: str) -> str:
        """Add nodes for log(1 + x) by Kahan's method, in which the rounding error of 1 + x cancels.

        `x` and the returned text are names of nodes.
        """
        one = self.add_constant(np.array([[1.0]]))
        one_plus_x = self.add_node("Add", one, x)
        ratio = self.add_node("Div", x, self.add_node("Sub", one_plus_x, one))
        return self.add_node(
            "Where",
            self.add_node("Equal", one_plus_x, one),
            x,
            self.add_node("Mul", self.add_node("Log", one_plus_x), ratio),
        )

    def add_scores(self, features: str) -> str:
        """Add nodes for the scores of the rule, and return the name of the last one.

        Parameters
        ----------
        features : str
            Name of the node of the features (rows, p).

        Returns
        -------
        str
            Name of the node of the scores (rows, K).
        """
        rule = self.rule
        constant = self.add_constant(self.rule.constant[None])
        origin, scale, mean = (np.stack(arrays)[:, None] for arrays in zip(*rule.centres, strict=True))
        if rule.factor is None:
            origin = origin[0]
            scale = scale[0]
            mean = mean[0]
        centred = self.add_node(
            "Mul", self.add_node("Sub", features, self.add_constant(origin)), self.add_constant(scale)
        )
        if mean.any():
            centred = self.add_node("Sub", centred, self.add_constant(mean))
        if rule.factor is None:
            return self.add_node(
                "Add", self.add_node("MatMul", centred, self.add_constant(rule.weights[0])), constant
            )
        # Classes, rows, whitened columns.
        whitened = self.add_node("MatMul", centred, self.add_constant(np.stack(rule.weights)))
        squares = self.add_node(
            "ReduceSum",
            self.add_node("Mul", whitened, whitened),
            self.add_constant(np.array([2])),
            keepdims=0,
        )
        by_row = self.add_node("Transpose", squares, perm=[1, 0])
        return self.add_node(
            "Add", self.add_node("Mul", by_row, self.add_constant(-0.5 * rule.factor[None])), constant
        )
