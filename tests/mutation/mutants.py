"""Changes of one operator, comparison, constant or branch of a module of Python, as text.

A change replaces one stretch of the source and leaves every other character where it is, so that lines keep
their numbers. Annotations, docstrings, messages of errors, decorators, `__all__` and checks that `zip` and
scipy make of their arguments are left alone: nothing that is computed depends on them.
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

__all__ = ["ROOMS", "Mutant", "drawn", "mutants_of"]

ROOMS = ("discrim/core", "discrim/inference")
"""The folders whose modules are changed."""

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
_NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all"}
_NAMES |= {there: here for here, there in _NAMES.items()}
_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module's source with one stretch replaced.

    Attributes
    ----------
    path : str
        Of the module, from the top of the project.
    start, end : int
        The stretch, in characters.
    line : int
        Where it begins, from 1.
    reached : range
        Lines, one of which runs whenever the stretch does: of its statement, or of the function whose
        argument it is the default of; empty for what runs on import alone.
    name : str
        What the stretch is assigned to, for what runs on import alone.
    before, after : str
        The line, and what it becomes.
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

    def applied(self, source: str) -> str:
        """The module's source with the change."""
        return source[: self.start] + self.text + source[self.end :]


def drawn(root: Path, seed: int, count: int, within: Iterable[str] = ROOMS) -> list[Mutant]:
    """`count` changes of the modules in folders, or files, `within`: the same for the same seed and sources.

    Each change has a place in the order by a digest of itself, so that other files, and other lines of its
    file, do not move it.
    """
    paths = {p for place in within for p in [root / place, *(root / place).rglob("*.py")] if p.is_file()}
    found: dict[str, Mutant] = {}
    for path in sorted(paths):
        for mutant in mutants_of(path.relative_to(root).as_posix(), path.read_text("utf-8")):
            key, again = f"{mutant.path}\n{mutant.before}\n{mutant.after}", 0
            while f"{seed}\n{key}\n{again}" in found:
                again += 1
            found[f"{seed}\n{key}\n{again}"] = mutant
    order = sorted(found, key=lambda key: hashlib.sha256(key.encode()).digest())
    return [found[key] for key in order[:count]]


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Every change of a module, in the order of its lines."""
    lines = source.splitlines(keepends=True)
    firsts = [0]
    for line in lines:
        firsts.append(firsts[-1] + len(line))

    def place(line: int, column: int) -> int:
        # ast counts bytes.
        return firsts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    tokens = [
        (firsts[t.start[0] - 1] + t.start[1], t.string)
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
        if t.type in (tokenize.OP, tokenize.NAME)
    ]

    def span(node: ast.expr) -> tuple[int, int]:
        return place(node.lineno, node.col_offset), place(node.end_lineno or 0, node.end_col_offset or 0)

    def changes(node: ast.AST) -> Iterator[tuple[int, int, str]]:
        yield from _between(node, span, tokens)
        yield from _whole(node, span, source)

    for node, reached, name in _walked(ast.parse(source), range(0), ""):
        for start, end, text in changes(node):
            line = bisect_right(firsts, start)
            before = lines[line - 1]
            at = start - firsts[line - 1]
            after = (before[:at] + text + source[end:]).split("\n")[0]
            yield Mutant(path, start, end, text, line, reached, name, before.strip(), after.strip())


def _between(node: ast.AST, span: Span, tokens: list[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Operators: the token between the operands."""
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
            here, there = _OPERATORS[type(op)]
            first, last = (bisect_left(tokens, (at, "")) for at in (span(left)[1], span(right)[0]))
            (at,) = (at for at, text in tokens[first:last] if text == here)
            yield at, at + len(here), there


def _whole(node: ast.AST, span: Span, source: str) -> Iterator[tuple[int, int, str]]:
    """Expressions replaced as a whole."""
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
            if name in _NAMES:
                end = span(func)[1]
                yield end - len(name), end, _NAMES[name]


def _walked(node: ast.AST, reached: range, name: str) -> Iterator[tuple[ast.AST, range, str]]:
    """The nodes whose value matters, each with `reached` and `name` of `Mutant`."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return
        case ast.keyword(arg="strict" | "check_finite"):
            return
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return
        case ast.Assign(value=ast.Subscript() | ast.BinOp(op=ast.BitOr())) if not reached:
            # An alias of types.
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
    yield node, reached, name
    if isinstance(node, ast.keyword) and node.arg == "axis" and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.FunctionDef):
        inside = range(node.body[0].lineno, (node.end_lineno or 0) + 1)
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            yield from _walked(default, inside, "")
        for child in node.body:
            yield from _walked(child, _lines(child), "")
        return
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.stmt) and not isinstance(node, ast.Module | ast.ClassDef):
                yield from _walked(child, _lines(child), "")
            elif isinstance(child, ast.stmt):
                yield from _walked(child, range(0), _target(child))
            elif isinstance(child, ast.AST):
                yield from _walked(child, reached, name)


def _lines(statement: ast.stmt) -> range:
    """The lines of a statement, without those of the statements in it."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or 0
    return range(statement.lineno, max(last, statement.lineno) + 1)


def _target(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""
