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
from discrim.cli.models import engine_of, model_of, models_of
from discrim.cli.output import FORMATS, error_line
from discrim.cli.values import ValueKind, annotations_of, kind_of
from discrim.docstrings import parameter_entries
from discrim.errors import DiscrimError
from discrim.models.registry import BY_VERB, MODELS, MODULE_BY_NAME, plot_kinds, resolve
from discrim.slips import Rewriting, rewritten_keyword

FITTED = "what is fitted"
READ = "how DATA is read"
SHOWN = "what is shown"
WRITTEN = "what is written"

HEADINGS = {
    "assess": "what is judged",
    "export": "what is exported",
    "predict": "what is predicted",
    "report": "what is reported",
}
"""Headings of the first group of options, for verbs that do more than fit a model."""

PICTURED = {"stepwise": "lda", "canonical": "lda"}
"""Verbs that are not models, with the model whose plots they draw."""

JUDGED = ("confusion", "roc", "calibration")
"""Kinds of plots of an assessment."""


class Option(NamedTuple):
    """An option, or a positional argument, that only the command line has.

    Attributes
    ----------
    typed : str
        The option and its placeholder in the help; a positional argument has no hyphens.
    kind : callable, str or True
        Reader of the text, the allowed words, or True for a flag.
    help : str
        Text of the help, in which {choices} is replaced by the words.
    verbs : str
        Verbs that have it. "models" stands for all models, "files" for those whose fits can be saved.
    dest, nargs, required
        As in argparse.
    """

    typed: str
    kind: Any
    help: str
    verbs: str
    dest: str | None = None
    nargs: str | None = None
    required: bool = False


class Source(NamedTuple):
    """A function whose parameters are options, and the names of those parameters; all if none are named."""

    function: str
    names: tuple[str, ...] = ()


def _of_method(results: str, method: str, *names: str) -> Source:
    """Return some parameters of a method of a results class as a source of options."""
    return Source(f"{MODULE_BY_NAME[results]}:{results}.{method}", names)


def _of_verb(verb: str, *names: str) -> Source:
    """Return some parameters of a verb as a source of options."""
    return Source(f"{MODULE_BY_NAME[verb]}:{verb}", names)


_OF_FITS = _of_verb("lda", "prior", "weights", "na_action")

SOURCES = {
    "stepwise": (_of_verb("stepwise"),),
    "choose": (_of_verb("choose"),),
    "compare": (_of_verb("compare", "folds", "repeats", "seed"), _OF_FITS),
    "assess": (
        _of_method("ClassifierResults", "assess", "prior", "level", "bins", "weights", "unseen", "missing"),
    ),
    "canonical": (
        _of_verb("lda", "prior", "weights", "collinear", "levels", "na_action"),
        _of_method("LDAResults", "canonical"),
        _of_method("MLMResults", "canonical"),
    ),
    "manova": (_of_verb("manova"),),
    "plan": (_of_verb("plan"),),
    "predict": (_of_method("ClassifierResults", "predict_proba", "prior", "method", "unseen", "missing"),),
    "export": (_of_method("ClassifierResults", "to_sql", "table", "output", "keep", "prior"),),
    "report": (_of_method("ClassifierResults", "report", "title", "pictures"), _OF_FITS),
}
"""Functions whose parameters are the options of a verb that is not a model."""

NOT_TYPED = {"self", "formula", "data", "moments", "functions", "candidates", "costs", "options"}
"""Parameters that are positional arguments, or whose values cannot be typed."""


READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "verb": (model_of, "qda(prior='equal')"),
    "engine": (engine_of, "Ridge(alpha=2)"),
    "output": (parsing.names, "label,proba"),
}
"""Readers of parameters whose annotations do not determine them, with an example of a text."""

_FORMULA = "models stepwise choose canonical manova"
_READ = f"{_FORMULA} compare assess"
_SUMMARIES = f"{_READ} plan"
_CSV = f"{_READ} predict report"
_STEPS = "models stepwise"
_PICTURES = "models stepwise canonical"
_SAVING = "files stepwise choose"
_TABLE = "name of a table, file, folder or pattern; see below"
_CALLS = "options may follow in brackets, as knn(k=5)"

PLACES = (
    Option("formula FORMULA", str, 'classes ~ columns, as "species ~ ."; quote it', _FORMULA),
    Option("compared FORMULA|FIT", str, "formulas, quoted; or files of saved fits", "compare", nargs="+"),
    Option("fit FIT", str, "file that --save wrote", "assess export predict"),
    Option("reported FORMULA|FIT", str, "a formula, quoted; or the file of a saved fit", "report"),
    Option("data DATA", str, _TABLE, f"{_FORMULA} compare assess predict"),
    Option("data DATA", str, f"of a formula: {_TABLE}", "report", nargs="?"),
    Option("--verb VERB", model_of, f"the model: lda if not given; {_CALLS}", "report"),
    Option("--verbs VERB,...", models_of, f"the models, the simplest first; {_CALLS}", "choose"),
    Option("--verbs VERB,...", models_of, f"the models: lda,qda if not given; {_CALLS}", "compare"),
)
"""Positional arguments, and the options of models."""

READING = (
    Option("--sep SIGN", parsing.separator, "between fields of CSV: a comma if not given; ; or tab", _CSV),
    Option("--decimal SIGN", ". ,", "decimal sign of its numbers: a point if not given", _CSV),
)

SHOWING = (
    Option(
        "--sections NAME,...",
        parsing.names,
        "only these parts of the summary, or all",
        f"{_PICTURES} compare assess",
    ),
    Option("--format", " ".join(FORMATS), "text if not given; html is a whole page", _SUMMARIES),
    Option("--text-width N", parsing.text_width, "columns of text: those of the terminal, or 100", _READ),
    Option(
        "--errors METHOD,...", parsing.names, "add error rates: apparent, loo, cv, 632+, posterior", _STEPS
    ),
    Option("--folds N", parsing.fold_count, "folds of --errors cv", _STEPS, dest="error_folds"),
    Option("--seed N", int, "seed of --errors cv and 632+", _STEPS, dest="error_seed"),
    Option("--test TABLE", str, "also assess the fit on another table with classes", "models"),
    Option("--proba", True, "the posterior of each class as well", "predict"),
    Option("--augment", True, "the table itself, label and posteriors beside it", "predict"),
    Option("name NAME", str, "the table to write as CSV; without it, all are listed", "datasets", nargs="?"),
)

_PAGE = "the page: .html, .docx, .md or .qmd"
_FORMATS = "to a file, whose .html, .tex, .md or .xlsx says the format"
_LABELS = "to a file .parquet or .csv, or a new folder of Parquet; it is there when it is whole"
_PICTURE = "a picture: .png, .svg or .pdf"
_ENGINES = "a query for duckdb, postgres, sqlite, mysql, bigquery, snowflake or spark"
_CALIBRATED = "with it the calibration of its posteriors, for predict --method calibrated"

WRITING = (
    Option("--out FILE", str, _FORMATS, _SUMMARIES),
    Option("--out FILE", str, "to a file", "datasets export"),
    Option("--out PATH", str, _LABELS, "predict"),
    Option("--out FILE", str, _PAGE, "report", required=True),
    Option(
        "--out-sep SIGN", parsing.separator, "between fields of written CSV: --sep if not given", "predict"
    ),
    Option("--out-decimal SIGN", ". ,", "decimal sign of written CSV: --decimal if not given", "predict"),
    Option("--sql ENGINE", str, _ENGINES, "export"),
    Option("--onnx FILE", str, "a model of ONNX; needs the package onnx", "export"),
    Option("--plot FILE", str, f"{_PICTURE}; .html answers a pointer", _PICTURES),
    Option("--plot FILE", str, _PICTURE, "choose assess plan"),
    Option("--kind NAME", "", "what --plot draws: {choices}", f"{_PICTURES} assess"),
    Option(
        "--columns NAME,...", parsing.names, "columns that --plot draws, of kinds that take some", _PICTURES
    ),
    Option("--axes NAME,NAME", parsing.names, "axes that --plot draws, such as LD1,LD3", _PICTURES),
    Option("--save FILE", str, "the fit, for discrim predict", _SAVING),
    Option("--calibrated", True, _CALIBRATED, _SAVING),
    Option("--force", True, "let --save replace a file that is no fit", _SAVING),
)

GROUPS = {FITTED: PLACES, READ: READING, SHOWN: SHOWING, WRITTEN: WRITING}
"""Options that only the command line has, by groups of the help."""


class Parameter(NamedTuple):
    """A parameter of a function as an option: its name, default, kind of values and help."""

    name: str
    default: Any
    kind: ValueKind
    help: str

    @property
    def option(self) -> str:
        """The option as it is typed."""
        return "--" + self.name.replace("_", "-")


def sources_of(verb: str) -> tuple[Source, ...]:
    """Return the functions whose parameters are options of a verb of the command line."""
    model = verb.replace("-", "_")
    return (_of_verb(model),) if model in BY_VERB else SOURCES.get(verb, ())


def _function_of(source: Source) -> Any:
    """Return the function of a source."""
    module, _, path = source.function.partition(":")
    function = resolve(module)
    for name in path.split("."):
        function = getattr(function, name)
    return function


def parameters_of(source: Source) -> list[Parameter]:
    """Return the parameters of a function that can be typed as options."""
    function = _function_of(source)
    described = _descriptions(function)
    annotations = annotations_of(function)
    found = []
    for name, each in inspect.signature(function).parameters.items():
        kind = kind_of(annotations.get(name, Any))
        wanted = name in source.names if source.names else name not in NOT_TYPED
        if wanted and each.kind is not each.VAR_POSITIONAL and (name in READERS or kind != ValueKind()):
            found.append(Parameter(name, each.default, kind, described.get(name, "")))
    return sorted(found, key=lambda one: source.names.index(one.name)) if source.names else found


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
    """Return the specifications that options of a verb accept, as they are typed with their defaults."""
    calls = []
    for parameter in (each for source in sources_of(verb) for each in parameters_of(source)):
        for each in parameter.kind.specifications:
            taken = inspect.signature(each).parameters.values()
            required = any(one.default is one.empty for one in taken)
            if taken and (required or each.word in parameter.kind.words):
                options = [
                    one.name if one.default is one.empty else f"{one.name}={one.default!r}" for one in taken
                ]
                calls.append(f'{parameter.option} "{each.word}({", ".join(options)})"')
    return calls


def add_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add all options of a verb to its parser, in the groups of the help."""
    model = BY_VERB.get(verb.replace("-", "_"))
    words = {verb}
    if model is not None:
        words |= {"models", *(["files"] if model.can_be_saved else [])}
    for heading, rows in GROUPS.items():
        own = [row for row in rows if words & set(row.verbs.split())]
        sources = sources_of(verb) if heading == FITTED else ()
        if not own and not sources:
            continue
        group: Any = parser.add_argument_group(HEADINGS.get(verb, FITTED) if heading == FITTED else heading)
        exclusive = group.add_mutually_exclusive_group() if (verb, heading) == ("predict", SHOWN) else group
        for row in own:
            # A verb that uses folds itself keeps its own --folds and --seed.
            if row.typed.split()[0] not in parser._option_string_actions:
                _add(exclusive, row, verb)
        parameters = {each.name: each for source in sources for each in parameters_of(source)}
        for parameter in parameters.values():
            _add_parameter(group, parameter, list(parameters.values()))


def _add_parameter(group: Any, parameter: Parameter, all_parameters: Sequence[Parameter]) -> None:
    """Add a parameter of a function as an option.

    Parameters
    ----------
    group : argument group of argparse
    parameter : Parameter
    all_parameters : sequence of Parameter
        Parameters of the verb, one of which a misplaced word may belong to.
    """
    name = parameter.name
    kind = parameter.kind
    default = parameter.default
    text = parameter.help.replace("%", "%%")
    if kind.is_flag:
        action = "store_true" if default is False else argparse.BooleanOptionalAction
        group.add_argument(parameter.option, dest=name, action=action, help=text)
        return
    if kind.words and "WORD" in kind.metavar:
        text += f" Words: {', '.join(kind.words)}."
    read, example = READERS.get(name, (kind.read, ""))
    if example:
        text += f" Typed as {example}."
    # Zero is equal to False, and is a default to be shown.
    if not any(default is each for each in (None, False, inspect.Parameter.empty)) and default != ():
        text += f" Default: {default}."
    more: dict[str, Any] = {"metavar": "VALUE" if example else kind.metavar}
    if kind.is_word and kind.metavar != "WORD":
        more = {"choices": kind.words}
    group.add_argument(
        parameter.option,
        dest=name,
        type=_reader(read, {each.option: each.kind.words for each in all_parameters}),
        required=default is inspect.Parameter.empty,
        help=text,
        **more,
    )


def _reader(
    read: Callable[[str], Any], words: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> Callable[[str], Any]:
    """Return a reader whose errors are argparse's, which replaces the message of any other ValueError.

    Parameters
    ----------
    read : callable
        Reads the text of a value.
    words : dict of str to sequence of str
        Words of all options, for the hint that a word is a value of another option.

    Returns
    -------
    callable
    """

    def value(text: str) -> Any:
        try:
            return read(text)
        except DiscrimError as error:
            raise argparse.ArgumentTypeError(error_line(error)) from error
        except argparse.ArgumentTypeError as error:
            other = next((option for option, known in words.items() if text in known), None)
            if other is None:
                raise
            raise argparse.ArgumentTypeError(f"{error}. Use it with {other}.") from error

    return value


def rewritten_option(verb: str, known: Mapping[str, Any], unknown: Mapping[str, str]) -> Rewriting:
    """Return the correct spelling of unknown options that are parameters of a specification.

    Parameters
    ----------
    verb : str
        The verb of the command line.
    known : dict of str to object
        Values of the other options, by parameter.
    unknown : dict of str to str
        Texts of the values of unknown options.

    Returns
    -------
    Rewriting
    """
    one = ValueKind(whole=True, number=True, text=True)
    literal = replace(one, items=one)
    values = {
        option.lstrip("-").replace("-", "_"): literal.read(text) if text else True
        for option, text in unknown.items()
    }
    for source in sources_of(verb):
        function = _function_of(source)
        shared = {name: known[name] for name in inspect.signature(function).parameters if name in known}
        rewriting = rewritten_keyword(function, {**shared, **values})
        if rewriting.name:
            return rewriting
    return Rewriting()


def _add(group: Any, row: Option, verb: str) -> None:
    """Add an option of the command line to a parser.

    Parameters
    ----------
    group : argument group of argparse
    row : Option
    verb : str
        Verb of the command line.
    """
    flag, *metavar = row.typed.split()
    more = {name: value for name in ("dest", "nargs", "required") if (value := getattr(row, name))}
    if metavar:
        more["metavar"] = metavar[0]
    text = row.help
    if row.kind is True:
        more["action"] = "store_true"
    elif isinstance(row.kind, str):
        more["choices"] = row.kind.split()
        if row.typed.startswith("--kind"):
            model = PICTURED.get(verb, verb.replace("-", "_"))
            kinds = dict.fromkeys(
                kind for entry in MODELS if entry.verb == model for kind in plot_kinds(entry)
            )
            more["choices"] = JUDGED if verb == "assess" else tuple(kinds)
        text = text.format(choices=", ".join(more["choices"]))
    else:
        more["type"] = _reader(row.kind)
    group.add_argument(flag, help=text, **more)
