"""Options of the command line.

The options of a verb are derived from the signature and docstring of its function: name, default and kind of
value of each parameter, and the first sentence of its description. This module adds the options that only the
command line has: places for formulas and files, and how tables are read, displayed and written.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from discrim.cli import parsing
from discrim.cli.models import read_engine, read_model, read_models
from discrim.cli.output import FORMATS, error_line
from discrim.cli.values import ValueKind, annotations_of, value_kind_of
from discrim.docstrings import parameter_entries
from discrim.errors import DiscrimError
from discrim.models.registry import BY_VERB, MODELS, MODULE_BY_NAME, plot_kinds, resolve
from discrim.slips import Respelling, respell_keyword

# Headings of the groups of options in the help of a verb.
FIT_GROUP = "model"
READING_GROUP = "reading DATA"
SUMMARY_GROUP = "summary"
OUTPUT_GROUP = "output"

FIRST_GROUP_HEADINGS = {
    "assess": "assessment",
    "export": "export",
    "predict": "prediction",
    "report": "report",
}
"""Headings of the first group of options, for verbs that do more than fit a model."""

MODEL_OF_PLOTS = {"stepwise": "lda", "canonical": "lda"}
"""Verbs that are not models, with the model whose plots they draw."""

ASSESSMENT_PLOTS = ("confusion", "roc", "precision_recall", "calibration")
"""Kinds of plots of an assessment."""


class Option(NamedTuple):
    """An option, or a positional argument, that only the command line has.

    Attributes
    ----------
    syntax : str
        The option and its placeholder in the help; a positional argument lacks hyphens.
    kind : callable, str or True
        Function that converts the text, the allowed words separated by blanks, or True for a flag. "" for
        --kind, whose words are the plots of the verb.
    help : str
        Text of the help, in which {choices} is replaced by the words.
    verbs : str
        Verbs with this option, separated by blanks. "models" stands for all models, "files" for models whose
        fits can be saved.
    dest, nargs, required
        Arguments of `add_argument` of argparse.
    """

    syntax: str
    kind: Any
    help: str
    verbs: str
    dest: str | None = None
    nargs: str | None = None
    required: bool = False


class OptionSource(NamedTuple):
    """A function whose parameters become options.

    Attributes
    ----------
    function : str
        Module and qualified name, separated by a colon.
    names : tuple of str
        Parameters that become options, in this order. If empty, all parameters that can be typed.
    """

    function: str
    names: tuple[str, ...] = ()


def _method_source(results: str, method: str, *names: str) -> OptionSource:
    """Return a source of options: the named parameters of a method of a class of results.

    Parameters
    ----------
    results, method : str
        Names of the class and of its method.
    *names : str
        Names of parameters; by default all parameters.

    Returns
    -------
    OptionSource
    """
    return OptionSource(f"{MODULE_BY_NAME[results]}:{results}.{method}", names)


def _verb_source(verb: str, *names: str) -> OptionSource:
    """Return a source of options: the named parameters of a verb, or all if none are named."""
    return OptionSource(f"{MODULE_BY_NAME[verb]}:{verb}", names)


_FIT_OPTIONS = _verb_source("lda", "prior", "weights", "na_action")

SOURCES = {
    "stepwise": (_verb_source("stepwise"),),
    "choose": (_verb_source("choose"),),
    "compare": (_verb_source("compare", "folds", "repeats", "seed"), _FIT_OPTIONS),
    "assess": (
        _method_source(
            "ClassifierResults",
            "assess",
            "prior",
            "level",
            "bins",
            "threshold",
            "weights",
            "unseen",
            "missing",
        ),
    ),
    "threshold": (
        _method_source(
            "ClassifierResults",
            "threshold",
            "sensitivity",
            "specificity",
            "youden",
            "method",
            "level",
            "folds",
            "seed",
        ),
    ),
    "canonical": (
        _verb_source("lda", "prior", "weights", "collinear", "levels", "na_action"),
        _method_source("LDAResults", "canonical"),
        _method_source("MLMResults", "canonical"),
    ),
    "manova": (_verb_source("manova"),),
    "marginal-means": (
        _method_source("MLMResults", "marginal_means", "factors", "by", "at", "level"),
        _method_source("MLMResults", "pairs", "adjust"),
        _verb_source("mlm", "weights", "na_action"),
    ),
    "plan": (_verb_source("plan"),),
    "predict": (
        _method_source("ClassifierResults", "predict", "threshold"),
        _method_source("ClassifierResults", "predict_proba", "prior", "method", "unseen", "missing"),
    ),
    "export": (_method_source("ClassifierResults", "to_sql", "table", "output", "keep", "prior"),),
    "report": (_method_source("ClassifierResults", "report", "title", "pictures"), _FIT_OPTIONS),
}
"""Functions whose parameters are the options of a verb that is not a model."""

NOT_OPTIONS = {"self", "formula", "data", "moments", "functions", "candidates", "costs", "options"}
"""Parameters that are positional arguments, or whose values cannot be typed."""


READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "verb": (read_model, "qda(prior='equal')"),
    "engine": (read_engine, "Ridge(alpha=2)"),
    "output": (parsing.read_names, "label,proba"),
}
"""Functions that convert the text of parameters if their annotations do not suffice, with an example."""

# Verbs with an option, and texts of the help, that several options have in common.
_FORMULA = "models stepwise choose threshold canonical manova marginal-means"
_READ = f"{_FORMULA} compare assess"
_SUMMARIES = f"{_READ} plan"
_CSV = f"{_READ} predict report"
_STEPS = "models stepwise"
_PICTURES = "models stepwise canonical"
_SAVING = "files stepwise choose threshold"
_TABLE = "data set, file, folder or pattern; see below"
_CALLS = "options may follow in parentheses, such as knn(k=5)"

MODEL_ARGUMENTS = (
    Option("formula FORMULA", str, 'quoted formula "class ~ predictors", such as "species ~ ."', _FORMULA),
    Option("compared FORMULA|FIT", str, "quoted formulas, or files of saved fits", "compare", nargs="+"),
    Option("fit FIT", str, "file of a saved fit (see --save)", "assess export predict"),
    Option("reported FORMULA|FIT", str, "quoted formula, or file of a saved fit", "report"),
    Option("data DATA", str, _TABLE, f"{_FORMULA} compare assess predict"),
    Option("data DATA", str, f"table for a formula: {_TABLE}", "report", nargs="?"),
    Option("--verb VERB", read_model, f"model to fit (default lda); {_CALLS}", "report threshold"),
    Option("--verbs VERB,...", read_models, f"candidate models, the simplest first; {_CALLS}", "choose"),
    Option("--verbs VERB,...", read_models, f"models to fit (default lda,qda); {_CALLS}", "compare"),
)
"""Positional arguments, and the options of models."""

READING_OPTIONS = (
    Option(
        "--sep SIGN", parsing.read_separator, "field separator of CSV (default comma), such as ; or tab", _CSV
    ),
    Option("--decimal SIGN", ". ,", "decimal sign of CSV (default point)", _CSV),
)

SUMMARY_OPTIONS = (
    Option(
        "--sections NAME,...",
        parsing.read_names,
        "sections of the summary to show, or all",
        f"{_PICTURES} compare assess threshold marginal-means",
    ),
    Option(
        "--format",
        " ".join(FORMATS),
        "format of the summary (default text); html is a complete page",
        _SUMMARIES,
    ),
    Option(
        "--text-width N",
        parsing.read_text_width,
        "width of text in characters (default: terminal, or 100 in a file)",
        _READ,
    ),
    Option(
        "--errors METHOD,...",
        parsing.read_names,
        "add error rates: apparent (resubstitution), loo, cv, 632+, posterior",
        _STEPS,
    ),
    Option(
        "--folds N", parsing.read_fold_count, "number of folds of --errors cv", _STEPS, dest="error_folds"
    ),
    Option("--seed N", int, "random seed of --errors cv and 632+", _STEPS, dest="error_seed"),
    Option("--test TABLE", str, "also assess the fit on a test table with classes", "models"),
    Option("--proba", True, "add the posterior of each class", "predict"),
    Option("--augment", True, "write the table with predicted classes and posteriors appended", "predict"),
    Option("name NAME", str, "data set to write as CSV; without it, all are listed", "datasets", nargs="?"),
)

_PAGE = "output file: .html, .docx, .md or .qmd"
_FORMATS = "output file; .html, .tex, .md or .xlsx determines the format"
_LABELS = "output file (.parquet, .csv) or new folder of Parquet files; written completely or not at all"
_PICTURE = "file of the plot: .png, .svg or .pdf"
_ENGINES = "write a query for duckdb, postgres, sqlite, mysql, bigquery, snowflake or spark"
_CALIBRATED = "save also the calibration of the posteriors, for predict --method calibrated"

OUTPUT_OPTIONS = (
    Option("--out FILE", str, _FORMATS, _SUMMARIES),
    Option("--out FILE", str, "output file", "datasets export"),
    Option("--out PATH", str, _LABELS, "predict"),
    Option("--out FILE", str, _PAGE, "report", required=True),
    Option(
        "--out-sep SIGN",
        parsing.read_separator,
        "field separator of the output CSV (default --sep)",
        "predict",
    ),
    Option("--out-decimal SIGN", ". ,", "decimal sign of the output CSV (default --decimal)", "predict"),
    Option("--sql ENGINE", str, _ENGINES, "export"),
    Option("--onnx FILE", str, "write an ONNX model; requires the package onnx", "export"),
    Option("--plot FILE", str, f"{_PICTURE}; .html is interactive", _PICTURES),
    Option("--plot FILE", str, _PICTURE, "choose assess plan threshold marginal-means"),
    Option("--kind NAME", "", "kind of plot: {choices}", f"{_PICTURES} assess"),
    Option(
        "--columns NAME,...", parsing.read_names, "columns of the plot, if its kind has columns", _PICTURES
    ),
    Option("--axes NAME,NAME", parsing.read_names, "axes of the plot, such as LD1,LD3", _PICTURES),
    Option("--save FILE", str, "file of the fit, for discrim predict", _SAVING),
    Option("--calibrated", True, _CALIBRATED, _SAVING),
    Option("--force", True, "let --save replace a file that is not a fit", _SAVING),
)

GROUPS = {
    FIT_GROUP: MODEL_ARGUMENTS,
    READING_GROUP: READING_OPTIONS,
    SUMMARY_GROUP: SUMMARY_OPTIONS,
    OUTPUT_GROUP: OUTPUT_OPTIONS,
}
"""Options that only the command line has, by groups of the help."""


class Parameter(NamedTuple):
    """A parameter of a function that becomes an option.

    Attributes
    ----------
    name : str
        Name of the parameter.
    default : object
        Its default; `inspect.Parameter.empty` if it is required.
    kind : ValueKind
        Values that it accepts.
    help : str
        Text of the help.
    """

    name: str
    default: Any
    kind: ValueKind
    help: str

    @property
    def option(self) -> str:
        """The option as it is typed."""
        return "--" + self.name.replace("_", "-")


def sources_of(verb: str) -> tuple[OptionSource, ...]:
    """Return the functions whose parameters are options of a verb of the command line; none for datasets."""
    model = verb.replace("-", "_")
    return (_verb_source(model),) if model in BY_VERB else SOURCES.get(verb, ())


def _function_of(source: OptionSource) -> Any:
    """Import and return the function or method that a source names."""
    module, _, path = source.function.partition(":")
    function = resolve(module)
    for name in path.split("."):
        function = getattr(function, name)
    return function


def parameters_of(source: OptionSource) -> list[Parameter]:
    """Return the parameters of a source whose values can be typed.

    They have the order of the names of the source, or without names the order of the signature.
    """
    function = _function_of(source)
    descriptions = _descriptions(function)
    annotations = annotations_of(function)
    parameters = []
    for name, signature_parameter in inspect.signature(function).parameters.items():
        value_kind = value_kind_of(annotations.get(name, Any))
        is_option = name in source.names if source.names else name not in NOT_OPTIONS
        if (
            is_option
            and signature_parameter.kind is not signature_parameter.VAR_POSITIONAL
            and (name in READERS or value_kind != ValueKind())
        ):
            parameters.append(
                Parameter(name, signature_parameter.default, value_kind, descriptions.get(name, ""))
            )
    if not source.names:
        return parameters
    return sorted(parameters, key=lambda parameter: source.names.index(parameter.name))


_SENTENCE = re.compile(r".+?[.](?=\s+[\"'`A-Z]|\s*$)")


def _descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Return the first sentence of the description of each parameter in the docstring of a function."""
    descriptions = {}
    for names, entry in parameter_entries(function.__doc__).items():
        text = " ".join(entry.partition("\n")[2].split()).replace("``", "`")
        sentence = _SENTENCE.match(text)
        for name in names.replace("*", "").split(", "):
            descriptions[name] = sentence[0] if sentence else text
    return descriptions


def specifications_help(verb: str) -> list[str]:
    """Return the specifications with parameters that options of a verb accept, as they are typed.

    For example ``--covariance "shrunk(shrinkage='oas', grid=None, standardize=False)"``; required parameters
    lack a value.
    """
    calls = []
    verb_parameters = [parameter for source in sources_of(verb) for parameter in parameters_of(source)]
    for verb_parameter in verb_parameters:
        for specification in verb_parameter.kind.specifications:
            fields = inspect.signature(specification).parameters.values()
            is_required = any(field.default is field.empty for field in fields)
            if fields and (is_required or specification.word in verb_parameter.kind.words):
                arguments = [
                    field.name if field.default is field.empty else f"{field.name}={field.default!r}"
                    for field in fields
                ]
                calls.append(f'{verb_parameter.option} "{specification.word}({", ".join(arguments)})"')
    return calls


def add_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add all options of a verb to its parser, in the groups of the help."""
    model = BY_VERB.get(verb.replace("-", "_"))
    verb_words = {verb}
    if model is not None:
        verb_words |= {"models", *(["files"] if model.can_be_saved else [])}
    for heading, rows in GROUPS.items():
        verb_options = [row for row in rows if verb_words & set(row.verbs.split())]
        sources = sources_of(verb) if heading == FIT_GROUP else ()
        if not verb_options and not sources:
            continue
        group: Any = parser.add_argument_group(
            FIRST_GROUP_HEADINGS.get(verb, FIT_GROUP) if heading == FIT_GROUP else heading
        )
        exclusive = (
            group.add_mutually_exclusive_group() if (verb, heading) == ("predict", SUMMARY_GROUP) else group
        )
        for row in verb_options:
            # A verb that uses folds itself keeps its own --folds and --seed.
            if row.syntax.split()[0] not in parser._option_string_actions:
                _add_option(exclusive, row, verb)
        parameters = {parameter.name: parameter for source in sources for parameter in parameters_of(source)}
        for parameter in parameters.values():
            _add_parameter(group, parameter, list(parameters.values()))


def _add_parameter(group: Any, parameter: Parameter, all_parameters: Sequence[Parameter]) -> None:
    """Add a parameter of a function to an argument group as an option.

    Parameters
    ----------
    group : argument group of argparse
    parameter : Parameter
    all_parameters : sequence of Parameter
        All parameters of the verb. If the typed value is a word of another parameter, the error suggests the
        option of that parameter.
    """
    name = parameter.name
    value_kind = parameter.kind
    default = parameter.default
    text = parameter.help.replace("%", "%%")
    if value_kind.is_flag:
        action = "store_true" if default is False else argparse.BooleanOptionalAction
        group.add_argument(parameter.option, dest=name, action=action, help=text)
        return
    if value_kind.words and "WORD" in value_kind.metavar:
        text += f" Words: {', '.join(value_kind.words)}."
    read, example = READERS.get(name, (value_kind.read, ""))
    if example:
        text += f" Typed as {example}."
    # Zero is equal to False, and is a default to be shown.
    if (
        not any(default is hidden_default for hidden_default in (None, False, inspect.Parameter.empty))
        and default != ()
    ):
        text += f" Default: {default}."
    arguments: dict[str, Any] = {"metavar": "VALUE" if example else value_kind.metavar}
    if value_kind.is_word and value_kind.metavar != "WORD":
        arguments = {"choices": value_kind.words}
    group.add_argument(
        parameter.option,
        dest=name,
        type=_argparse_reader(
            read, {verb_parameter.option: verb_parameter.kind.words for verb_parameter in all_parameters}
        ),
        required=default is inspect.Parameter.empty,
        help=text,
        **arguments,
    )


def _argparse_reader(
    read: Callable[[str], Any], words_by_option: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> Callable[[str], Any]:
    """Return a reader that raises an ArgumentTypeError, whose message argparse shows.

    argparse replaces the message of any other ValueError by its own.

    Parameters
    ----------
    read : callable
        Function that converts the text of a value.
    words_by_option : dict of str to sequence of str
        Words that each option of the verb accepts, for the hint that a word belongs to another option.

    Returns
    -------
    callable
    """

    def value(text: str) -> Any:
        """Convert the text of a value, or raise an ArgumentTypeError."""
        try:
            return read(text)
        except DiscrimError as error:
            raise argparse.ArgumentTypeError(error_line(error)) from error
        except argparse.ArgumentTypeError as error:
            other = next(
                (option for option, option_words in words_by_option.items() if text in option_words), None
            )
            if other is None:
                raise
            raise argparse.ArgumentTypeError(f"{error}. Use it with {other}.") from error

    return value


def respell_option(
    verb: str, known_values: Mapping[str, Any], unknown_texts: Mapping[str, str]
) -> Respelling:
    """Return the correct spelling of an unknown option that is a parameter of another option.

    Parameters
    ----------
    verb : str
        The verb of the command line.
    known_values : dict of str to object
        Values of the known options that were typed, by the name of the parameter, such as "covariance".
    unknown_texts : dict of str to str
        Text of the value of each unknown option, by the option as typed, such as "--reg-param". The text is
        empty for an option without a value.

    Returns
    -------
    Respelling
        Respelling of the first such option, see `respell_keyword`; otherwise empty.
    """
    scalar = ValueKind(accepts_integer=True, accepts_float=True, accepts_text=True)
    literal = replace(scalar, items=scalar)
    values = {
        option.lstrip("-").replace("-", "_"): literal.read(text) if text else True
        for option, text in unknown_texts.items()
    }
    for source in sources_of(verb):
        function = _function_of(source)
        shared_values = {
            name: known_values[name]
            for name in inspect.signature(function).parameters
            if name in known_values
        }
        respelling = respell_keyword(function, {**shared_values, **values})
        if respelling.name:
            return respelling
    return Respelling()


def _add_option(group: Any, row: Option, verb: str) -> None:
    """Add an option that only the command line has to an argument group.

    Parameters
    ----------
    group : argument group of argparse
    row : Option
    verb : str
        Verb of the command line, which determines the choices of --kind.
    """
    flag, *metavar = row.syntax.split()
    arguments = {name: value for name in ("dest", "nargs", "required") if (value := getattr(row, name))}
    if metavar:
        arguments["metavar"] = metavar[0]
    text = row.help
    if row.kind is True:
        arguments["action"] = "store_true"
    elif isinstance(row.kind, str):
        arguments["choices"] = row.kind.split()
        if row.syntax.startswith("--kind"):
            model = MODEL_OF_PLOTS.get(verb, verb.replace("-", "_"))
            available_kinds = dict.fromkeys(
                plot_kind for entry in MODELS if entry.verb == model for plot_kind in plot_kinds(entry)
            )
            arguments["choices"] = ASSESSMENT_PLOTS if verb == "assess" else tuple(available_kinds)
        text = text.format(choices=", ".join(arguments["choices"]))
    else:
        arguments["type"] = _argparse_reader(row.kind)
    group.add_argument(flag, help=text, **arguments)
