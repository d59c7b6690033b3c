"""Size and structure of the package: files, lines, imports, duplicate names, files that a call visits.

    python -m tests.benchmarks.code_metrics [FOLDER]

The metrics are computed for the current checkout, or for another one whose folder is given.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

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
    """Count lines that are not blank, comments or docstrings."""
    lines = {k for k, line in enumerate(text.splitlines(), 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def import_lines(tree: ast.Module) -> int:
    """Count lines of import statements."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def public_definitions(tree: ast.Module) -> set[str]:
    """Return the names of public classes and functions at module level."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")}


def trace_call(root: Path, call: str) -> tuple[int, int]:
    """Run a call twice in a fresh process and trace the second run.

    Parameters
    ----------
    root : Path
        Folder of a checkout.
    call : str
        Python expression; `discrim` and `table` (iris) are defined.

    Returns
    -------
    n_files : int
        Number of files of the package in which functions are called.
    depth : int
        Largest depth of nested calls within the package.
    """
    script = TRACED.format(warm=call, call=call)
    run = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    n_files, depth = run.stdout.split()
    return int(n_files), int(depth)


def static_metrics(root: Path) -> dict[str, float]:
    """Compute the metrics that need only the source text, by description."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted((root / "discrim").rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    name_counts = Counter(name for tree in trees.values() for name in public_definitions(tree))
    code = sum(code_lines(texts[path], tree) for path, tree in trees.items())
    imported = sum(import_lines(tree) for tree in trees.values())
    tests = "".join(path.read_text(encoding="utf-8") for path in (root / "tests").rglob("*.py"))
    return {
        "files": len(texts),
        "lines of code, without docstrings": code,
        "lines of imports over lines of other code, in percent": round(100 * imported / (code - imported), 1),
        "public names defined in more than one module": sum(count > 1 for count in name_counts.values()),
        "monkeypatch.setattr in tests": len(re.findall(r"\bmonkeypatch\.setattr\(", tests)),
    }


def traced_metrics(root: Path) -> dict[str, float]:
    """Compute the number of files that two calls visit, and the depth of one of them."""
    fit_files, depth = trace_call(root, 'discrim.lda("species ~ .", table)')
    summary_files, _ = trace_call(root, 'str(discrim.lda("species ~ .", table).summary())')
    return {
        "lda() on iris, files": fit_files,
        "lda() on iris, depth": depth,
        "lda().summary(), files": summary_files,
    }


def main() -> None:
    """Print one metric per line."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    metrics = static_metrics(root.resolve()) | traced_metrics(root.resolve())
    for description, value in metrics.items():
        print(f"{description:<56}{value:>10,}")


if __name__ == "__main__":
    main()
