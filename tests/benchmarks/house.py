"""What it takes to read the package: files, lines, imports, flags, names, and the way of one call.

    python -m tests.benchmarks.house [FOLDER]

Each figure is counted in the tree in which it is run, or in another checkout whose folder is given: by its
syntax where that tells, by patterns of text where a habit of writing is meant.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

FLAGS = re.compile(r"\bstructure\s*(?:==|!=|in\b|not in\b)|\.standardize\b|\.found is\b|\.robust is\b")
"""Questions to which a kind of covariance would have the answer."""

SOURCES = re.compile(r"\bsource is (?:not )?None\b|\.apart\b")
"""Questions whether a table is read part by part."""

NUMBERS_OF_ANOTHER = re.compile(r"(?<!\bself)\._fit\.estimates\b")

TRACED = """
import sys, threading
import discrim
from discrim.datasets import load_iris
table = load_iris()
{warm}
files, depth, deepest = set(), 0, 0
def trace(frame, event, _):
    global depth, deepest
    name = frame.f_code.co_filename
    if "/discrim/" not in name or frame.f_code.co_name == "<module>":
        return
    if event == "call":
        files.add(name)
        depth += 1
        deepest = max(deepest, depth)
    elif event == "return":
        depth -= 1
sys.setprofile(trace)
{call}
sys.setprofile(None)
print(len(files), deepest)
"""


def code_lines(text: str, tree: ast.Module) -> int:
    """Lines with code: neither blank, nor comments, nor docstrings."""
    lines = {k for k, line in enumerate(text.splitlines(), 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def import_lines(tree: ast.Module) -> int:
    """Lines that import statements take."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def defined(tree: ast.Module) -> set[str]:
    """Public classes and functions that a module defines at its top."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")}


def traced(root: Path, call: str) -> tuple[int, int]:
    """Files of the package through which a call runs, once it has run before, and the depth of its calls."""
    script = TRACED.format(warm=call, call=call)
    run = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    files, depth = run.stdout.split()
    return int(files), int(depth)


def counted(root: Path) -> dict[str, float]:
    """What is counted in the files of a checkout, by what it counts."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((root / "discrim").rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    names = Counter(name for tree in trees.values() for name in defined(tree))
    code = sum(code_lines(texts[path], tree) for path, tree in trees.items())
    imported = sum(import_lines(tree) for tree in trees.values())
    tables = {root / "discrim/data", root / "discrim/formula", root / "discrim/design"}
    outside = {path: text for path, text in texts.items() if not tables & set(path.parents)}
    tests = "".join(path.read_text(encoding="utf-8") for path in (root / "tests").rglob("*.py"))
    return {
        "files": len(texts),
        "lines of code, without docstrings": code,
        "lines of imports over lines of other code, in percent": round(100 * imported / (code - imported), 1),
        "lines that ask for a flag of the covariance": _lines(FLAGS, texts),
        "lines outside data/ and design/ that ask for a source": _lines(SOURCES, outside),
        "public names defined in more than one module": sum(count > 1 for count in names.values()),
        "numbers of another object's fit": _lines(NUMBERS_OF_ANOTHER, texts),
        "monkeypatch.setattr in tests": len(re.findall(r"\bmonkeypatch\.setattr\(", tests)),
    }


def walked(root: Path) -> dict[str, float]:
    """The files through which two calls of a checkout run, and how deep one of them goes."""
    fitted, depth = traced(root, 'discrim.lda("species ~ .", table)')
    shown, _ = traced(root, 'str(discrim.lda("species ~ .", table).summary())')
    return {"lda() on iris, files": fitted, "lda() on iris, depth": depth, "lda().summary(), files": shown}


def _lines(pattern: re.Pattern[str], texts: dict[Path, str]) -> int:
    """Lines in which a pattern stands."""
    return sum(bool(pattern.search(line)) for text in texts.values() for line in text.splitlines())


def main() -> None:
    """Print the figures, a line each."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    for what, figure in (counted(root.resolve()) | walked(root.resolve())).items():
        print(f"{what:<56}{figure:>10,}")


if __name__ == "__main__":
    main()
