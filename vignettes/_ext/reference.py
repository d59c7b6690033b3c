"""Pages of reference, one a verb with what it gives, written from the public names before they are read."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from sphinx.application import Sphinx

import discrim
import discrim.sklearn
from discrim import datasets, errors
from discrim.models.registry import MODELS
from discrim.models.results.results import ClassifierResults

FOLDER = "reference"
README = Path(__file__).parents[2] / "README.md"


def titled(text: str, under: str = "=") -> str:
    """A heading."""
    return f"{text}\n{under * len(text)}\n\n"


def directive(kind: str, name: str) -> str:
    """A directive of autodoc."""
    return f".. {kind}:: {name}\n\n"


def members(kind: type, base: type) -> Iterator[str]:
    """Public methods and properties of this package with a docstring, but those that a base has."""
    for name in dir(kind):
        held = inspect.getattr_static(kind, name)
        function = getattr(held, "fget", None) or getattr(held, "__func__", held)
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        if function.__module__.startswith("discrim") and inspect.getattr_static(base, name, None) is not held:
            yield name


def of_class(module: str, kind: type, base: type = object) -> str:
    """A class, with its members but those of a base that has a page of its own."""
    text = directive("autoclass", f"{module}.{kind.__name__}")
    for name in members(kind, base):
        form = "autoproperty" if isinstance(inspect.getattr_static(kind, name), property) else "automethod"
        text += directive(form, f"{module}.{kind.__name__}.{name}")
    return text


def of_module(title: str, module: str, named: Iterable[tuple[str, object]]) -> str:
    """The page of the functions and classes of a module."""
    text = titled(title)
    for name, each in named:
        if inspect.isclass(each):
            text += of_class(module, each, Exception)
        elif inspect.isfunction(each):
            text += directive("autofunction", f"{module}.{name}")
    return text


def taught() -> dict[str, str]:
    """Where each verb is taught, by the table of the README."""
    places = {}
    for row in README.read_text(encoding="utf-8").splitlines():
        cells = row.split(" | ")
        if row.startswith("| `") and len(cells) == 3:
            links = re.findall(r"\[([^]]+)\]\(vignettes/([\w-]+)\.md\)", cells[2])
            text = ", ".join(f":doc:`{title} </{page}>`" for title, page in links)
            places |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), f"Taught in: {text}.\n\n")
    return places


def first_line(name: str) -> str:
    """What a public name is, in a line."""
    return (
        (inspect.getdoc(getattr(discrim, name, None)) or "").partition("\n")[0]
        if name in discrim.__all__
        else ""
    )


def pages() -> dict[str, str]:
    """The text of each page by its name: each public name once."""
    public = {name: getattr(discrim, name) for name in discrim.__all__}
    kinds = {name: each for name, each in public.items() if inspect.isclass(each)}
    written, shown, places = {}, set(), taught()
    for verb, function in public.items():
        if not inspect.isfunction(function):
            continue
        own = [model.results for model in MODELS if model.verb == verb]
        own += re.findall(rf"\b({'|'.join(kinds)})\b", str(inspect.signature(function).return_annotation))
        text = titled(verb) + places.get(verb, "") + directive("autofunction", f"discrim.{verb}")
        for name in dict.fromkeys(own):
            if name not in shown:
                text += titled(name, "-") + of_class("discrim", kinds[name], ClassifierResults)
                shown.add(name)
        written[verb] = text
    for name in kinds.keys() - shown:
        written[name] = titled(name) + of_class("discrim", kinds[name], ClassifierResults)
    home = ClassifierResults.__module__
    written["fits"] = titled("What every fit can do") + of_class(home, ClassifierResults)
    for name, title, module in (
        ("estimators", "Estimators of scikit-learn", discrim.sklearn),
        ("datasets", "Tables that are bundled", datasets),
        ("errors", "Errors and warnings", errors),
    ):
        named = ((each, getattr(module, each)) for each in module.__all__)
        written[name] = of_module(title, module.__name__, named)
    return written


def write_pages(app: Sphinx) -> None:
    """Write them into a folder beside the others, with an index."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    written = pages()
    models = list(dict.fromkeys(model.verb for model in MODELS))
    beside = ["estimators", "datasets", "errors"]
    over = ["fits", *sorted(written.keys() - {*models, *beside, "fits"})]
    written["index"] = titled("Reference")
    for caption, own in (
        ("Models", models), ("Fits, and verbs over fits", over), ("Estimators, tables, errors", beside)
    ):  # fmt: skip
        written["index"] += titled(caption, "-")
        written["index"] += "".join(
            f"- :doc:`{name}`: {first_line(name)}".rstrip(": ") + "\n" for name in own
        )
        names = "".join(f"   {name}\n" for name in own)
        written["index"] += f"\n.. toctree::\n   :hidden:\n\n{names}\n"
    for name, text in written.items():
        file = folder / f"{name}.rst"
        # A page that is as it was is not read again.
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for old in set(folder.glob("*.rst")) - {folder / f"{name}.rst" for name in written}:
        old.unlink()


def keep_quotes(app: Sphinx, page: str, source: list[str]) -> None:
    """Quotes of docstrings stand around words of code, and stay as they are typed."""
    app.config.smartquotes = not page.startswith(f"{FOLDER}/")


def without_private(app: Sphinx, what: str, name: str, *rest: object) -> tuple[str, None] | None:
    """Results are what verbs give: what they are made of is nobody's to write."""
    made = what == "class" and (name.rpartition(".")[0] == "discrim" or name.endswith(".ClassifierResults"))
    return ("", None) if made else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before any is read."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", keep_quotes)
    app.connect("autodoc-process-signature", without_private)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
