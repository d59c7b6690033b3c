"""Changes of one operator, comparison, constant or branch of a Python module, as text.

A change replaces one span of the source and leaves all other characters, so that line numbers stay the same.
Annotations, docstrings, error messages, decorators, `__all__` and argument checks of `zip` and SciPy are not
changed, because no result depends on them.
"""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

__all__ = ["FOLDERS", "Mutant", "draw_mutants", "find_mutants"]

FOLDERS = ("discrim/core", "discrim/inference")
"""Folders whose modules are changed."""

Span = Callable[[ast.expr], tuple[int, int]]

_OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
_FUNCTIONS = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all"}
_FUNCTIONS |= {there: here for here, there in _FUNCTIONS.items()}
_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Mutant:
    """The source of a module with one span replaced.

    Attributes
    ----------
    path : str
        Path of the module relative to the project.
    start, end : int
        Span in characters.
    text : str
        Replacement.
    line : int
        Line of the start, from 1.
    reached : range
        Lines of which one is executed whenever the span is: those of its statement, or of the function if
        the span is in a default argument; empty for code that runs only on import.
    name : str
        Name to which the span is assigned, for code that runs only on import.
    before, after : str
        The line before and after the change.
    """

    path: str
    start: int
    end: int
    text: str
    line: int
    reached: range
    name: str
    before: str
    after: str

    def apply(self, source: str) -> str:
        """Return the source of the module with the change."""
        return source[: self.start] + self.text + source[self.end :]


def draw_mutants(root: Path, seed: int, count: int, within: Iterable[str] = FOLDERS) -> list[Mutant]:
    """Draw `count` changes of the modules in folders or files; they depend only on the seed and the sources.

    The changes are sorted by a digest of each, so that other files and other lines do not change their order.
    """
    paths = {p for place in within for p in [root / place, *(root / place).rglob("*.py")] if p.is_file()}
    mutants_by_key: dict[str, Mutant] = {}
    for path in sorted(paths):
        for mutant in find_mutants(path.relative_to(root).as_posix(), path.read_text("utf-8")):
            key, repetition = f"{mutant.path}\n{mutant.before}\n{mutant.after}", 0
            while f"{seed}\n{key}\n{repetition}" in mutants_by_key:
                repetition += 1
            mutants_by_key[f"{seed}\n{key}\n{repetition}"] = mutant
    order = sorted(mutants_by_key, key=lambda key: hashlib.sha256(key.encode()).digest())
    return [mutants_by_key[key] for key in order[:count]]


def find_mutants(path: str, source: str) -> Iterator[Mutant]:
    """Yield every change of a module in the order of its lines."""
    lines = source.splitlines(keepends=True)
    firsts = [0]
    for line in lines:
        firsts.append(firsts[-1] + len(line))

    def place(line: int, column: int) -> int:
        # Columns of ast are bytes.
        return firsts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    tokens = [
        (firsts[t.start[0] - 1] + t.start[1], t.string)
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
        if t.type in (tokenize.OP, tokenize.NAME)
    ]

    def span(node: ast.expr) -> tuple[int, int]:
        return place(node.lineno, node.col_offset), place(node.end_lineno or 0, node.end_col_offset or 0)

    def changes(node: ast.AST) -> Iterator[tuple[int, int, str]]:
        yield from _operator_changes(node, span, tokens)
        yield from _expression_changes(node, span, source)

    for node, reached, name in _walk(ast.parse(source), range(0), ""):
        for start, end, text in changes(node):
            line = bisect_right(firsts, start)
            before = lines[line - 1]
            column = start - firsts[line - 1]
            after = (before[:column] + text + source[end:]).split("\n")[0]
            yield Mutant(path, start, end, text, line, reached, name, before.strip(), after.strip())


def _operator_changes(
    node: ast.AST, span: Span, tokens: list[tuple[int, str]]
) -> Iterator[tuple[int, int, str]]:
    """Yield replacements of the operators of an expression."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            triples = [(left, op, right)]
        case ast.Compare(left=left, ops=ops, comparators=rest):
            triples = list(zip([left, *rest], ops, rest, strict=False))
        case ast.BoolOp(op=op, values=values):
            triples = [(a, op, b) for a, b in pairwise(values)]
        case _:
            return
    for left, op, right in triples:
        if type(op) in _OPERATORS:
            operator, replacement = _OPERATORS[type(op)]
            first, last = (
                bisect_left(tokens, (position, "")) for position in (span(left)[1], span(right)[0])
            )
            (at,) = (at for at, text in tokens[first:last] if text == operator)
            yield at, at + len(operator), replacement


def _expression_changes(node: ast.AST, span: Span, source: str) -> Iterator[tuple[int, int, str]]:
    """Yield replacements of constants, conditions, signs and function names."""
    match node:
        case ast.Constant(value=bool(value)):
            yield *span(node), str(not value)
        case ast.Constant(value=int(value)):
            yield *span(node), str(value + 1)
        case ast.Constant(value=float(value)):
            yield *span(node), repr(2 * value if value else 1.0)
        case ast.keyword(arg="axis", value=ast.Constant(value=int(value)) as inner) if value in (0, 1):
            yield *span(inner), str(1 - value)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            start = span(node)[0]
            yield start, start + (3 if isinstance(node.op, ast.Not) else 1), ""
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            start, end = span(test)
            yield start, end, f"(not ({source[start:end]}))"
            yield start, end, "False"
            if not isinstance(node, ast.While):
                yield start, end, "True"
        case ast.Call(func=ast.Name(id=name) as func) | ast.Call(func=ast.Attribute(attr=name) as func):
            if name in _FUNCTIONS:
                end = span(func)[1]
                yield end - len(name), end, _FUNCTIONS[name]


def _walk(node: ast.AST, reached: range, name: str) -> Iterator[tuple[ast.AST, range, str]]:
    """Yield the nodes that can be changed, with `reached` and `name` of `Mutant`."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return
        case ast.keyword(arg="strict" | "check_finite"):
            return
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return
        case ast.Assign(value=ast.Subscript() | ast.BinOp(op=ast.BitOr())) if not reached:
            # A type alias.
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
    yield node, reached, name
    if isinstance(node, ast.keyword) and node.arg == "axis" and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.FunctionDef):
        inside = range(node.body[0].lineno, (node.end_lineno or 0) + 1)
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            yield from _walk(default, inside, "")
        for child in node.body:
            yield from _walk(child, _statement_lines(child), "")
        return
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.stmt) and not isinstance(node, ast.Module | ast.ClassDef):
                yield from _walk(child, _statement_lines(child), "")
            elif isinstance(child, ast.stmt):
                yield from _walk(child, range(0), _assigned_name(child))
            elif isinstance(child, ast.AST):
                yield from _walk(child, reached, name)


def _statement_lines(statement: ast.stmt) -> range:
    """Return the lines of a statement without those of nested statements."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or 0
    return range(statement.lineno, max(last, statement.lineno) + 1)


def _assigned_name(statement: ast.stmt) -> str:
    """Return the name to which a statement assigns, or an empty text."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""
