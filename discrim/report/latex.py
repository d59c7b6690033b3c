"""Sections as LaTeX: floats with caption and label, whose tables fit the width and the height of a page.

What is special in texts is escaped, numbers have true minus signs, and widths are estimated. What is written
goes through pdflatex with no package: letters and marks beyond those that LaTeX knows by itself are built of
its accents, Greek letters and the signs of mathematics are set as mathematics. Other scripts are left as they
are, for engines and packages that have them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, NamedTuple

from discrim.errors import DataError
from discrim.report.grid import Grid, Part, clean, display_width, grid_of, heading

SPECIAL = {"\\": r"\textbackslash{}", "~": r"\ensuremath{\sim}", "^": r"\textasciicircum{}"}
SPECIAL |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\`{}"}
# \textquotedbl is not in LaTeX's default encoding, and a bare quotation mark is active in German documents.
SPECIAL |= {'"': r"\char34{}", "…": r"\dots{}"} | {c: f"\\{c}" for c in "&%$#_{}"}

SIGNS = {
    "−": "-", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "≡": r"\equiv", "∞": r"\infty",
    "∼": r"\sim", "∝": r"\propto", "∂": r"\partial", "∇": r"\nabla", "∑": r"\sum", "∏": r"\prod",
    "√": r"\surd", "∈": r"\in", "∩": r"\cap", "∪": r"\cup", "∅": r"\emptyset", "⊂": r"\subset",
    "∀": r"\forall", "∃": r"\exists", "¬": r"\neg", "∧": r"\wedge", "∨": r"\vee", "∓": r"\mp", "∗": r"\ast",
    "∘": r"\circ", "⋅": r"\cdot", "′": r"\prime", "″": r"\prime\prime", "↔": r"\leftrightarrow",
    "⇐": r"\Leftarrow", "⇒": r"\Rightarrow", "⇔": r"\Leftrightarrow", "∥": r"\parallel", "⊥": r"\perp",
    "★": r"\star", "ϵ": r"\epsilon", "ϑ": r"\vartheta", "ϕ": r"\phi", "ϱ": r"\varrho", "ϖ": r"\varpi",
}  # fmt: skip
SIGNS |= {
    "∆": r"\Delta", "∫": r"\int", "⊃": r"\supset", "⊆": r"\subseteq", "⊇": r"\supseteq", "≪": r"\ll",
    "≫": r"\gg", "≅": r"\cong", "∉": r"\notin", "⊕": r"\oplus", "⊗": r"\otimes", "●": r"\bullet",
    "∙": r"\bullet", "○": r"\circ", "△": r"\triangle", "∣": r"\mid", "↦": r"\mapsto", "⇓": r"\Downarrow",
    "⇑": r"\Uparrow", "↕": r"\updownarrow", "ϒ": r"\Upsilon",
}  # fmt: skip

LATIN_SHAPED = "ALPHA BETA EPSILON ZETA ETA IOTA KAPPA MU NU OMICRON RHO TAU CHI"
LATIN = dict(zip(LATIN_SHAPED.split(), "ABEZHIKMNOPTX", strict=True))
"""Greek capitals for which LaTeX has no command, as they look like Latin ones."""

ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u"}
ACCENTS |= {"\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d"}
ACCENTS |= {"\u0327": "c", "\u0328": "k", "\u0331": "b"}
OF_GREEK = {"\u0300": "grave", "\u0301": "acute", "\u0302": "hat", "\u0303": "tilde", "\u0308": "ddot"}
OF_GREEK |= {"\u0342": "tilde"}

KNOWN = "‑…№℠™ﬀﬁﬂﬃﬄﬅﬆǄǅǆǇǈǉǊǋǌ"
"""Signs made of others that LaTeX knows as they are."""

LIGATURES = re.compile(r"([-,'!?<>])(?=\1)")
MINUS = re.compile(r"(?<![^\s(\[])-(?=[\d.])")
NUMBER = re.compile(r"(<?)(-?)(\d+\.?\d*|inf)(?:e([+-]\d+))?( *)")

GROUPS = {2.8: "il,.:;!'`|[]", 3.1: "jf", 3.4: " -", 3.7: "I", 3.95: "rst()", 4.5: "cez"}
GROUPS |= {5.0: "ago0123456789/*?^\\$", 5.3: "kvxyq", 5.6: 'bdhnpuS"{}_', 7.2: "FLEPBTZC"}
GROUPS |= {9.2: "mM%#", 10.3: "W", 13.4: "…"}
WIDTHS = {c: width for width, group in GROUPS.items() for c in group}
OTHER = 7.8
WIDE = 10.0
"""Widths of characters in points, of Computer Modern at 10 points; no other common typeface is much wider."""


def escaped(text: str) -> str:
    r"""A text with what is special to LaTeX escaped.

    Examples
    --------
    >>> print(escaped("50 % of x_1 & {β}"))
    50 \% of x\_1 \& \{\ensuremath{\beta}\}
    """
    text = unicodedata.normalize("NFC", text.rstrip(" "))
    # Two of these in a row would melt into another sign.
    out = "".join(_clusters(LIGATURES.sub("\\1\u2060", text)))
    # A leading bracket or star after a row's end would be read as its argument.
    return f"{{}}{out}" if out.startswith(("[", "*")) else out


def _clusters(text: str) -> list[str]:
    """A text in LaTeX, sign by sign, marks with the letters that bear them."""
    out: list[str] = []
    greek = ""
    for c in text:
        found = _greek(c)
        if found:
            greek += found
            continue
        if greek:
            out.append(rf"\ensuremath{{{greek.strip()}}}")
            greek = ""
        if c == "\u2060":
            out.append("{}")
        elif c in ACCENTS:
            out.append(rf"\{ACCENTS[c]}{{{out.pop() if out else ''}}}")
        else:
            out.append(_character(c))
    return [*out, rf"\ensuremath{{{greek.strip()}}}"] if greek else out


def _character(c: str) -> str:
    if c in SPECIAL:
        return SPECIAL[c]
    if c in SIGNS:
        return rf"\ensuremath{{{SIGNS[c]}}}"
    if ord(c) < 0x180:
        return c
    kind, *codes = (unicodedata.decomposition(c) or "none").split()
    if kind in ("<super>", "<sub>"):
        inner = "".join(_clusters("".join(chr(int(code, 16)) for code in codes)))
        return rf"\ensuremath{{{'^' if kind == '<super>' else '_'}{{{inner}}}}}"
    if kind.startswith("<") and c not in KNOWN:
        return "".join(_clusters(unicodedata.normalize("NFKC", c)))
    base, *marks = list(unicodedata.normalize("NFD", c))
    if not (base.isascii() and marks and all(mark in ACCENTS for mark in marks)):
        return c
    for mark in marks:
        base = rf"\{ACCENTS[mark]}{{{base}}}"
    return base


def _greek(c: str) -> str:
    """A Greek letter as mathematics, or nothing for another character."""
    if not "\u0370" <= c <= "\u03ff" and not "\u1f00" <= c <= "\u1fff":
        return ""
    base, *marks = list(unicodedata.normalize("NFD", c))
    found = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (FINAL )?(\w+)", unicodedata.name(base, ""))
    if found is None:
        return ""
    name = found[3].replace("LAMDA", "LAMBDA")
    if found[1] == "CAPITAL":
        letter = LATIN.get(name, f"\\{name.capitalize()} ")
    else:
        letter = "o" if name == "OMICRON" else f"\\{'var' if found[2] else ''}{name.lower()} "
    for mark in marks:
        letter = rf"\{OF_GREEK[mark]}{{{letter.strip()}}}" if mark in OF_GREEK else letter
    return letter


def prose(text: str) -> str:
    r"""A text of captions and notes, in which words longer than those of a language may be broken.

    Examples
    --------
    >>> print(prose("the column length_of_longest_leaf"))
    the column length\_\allowbreak{}of\_\allowbreak{}longest\_\allowbreak{}leaf
    """
    return " ".join(_breakable(word) for word in text.split(" "))


def _breakable(word: str) -> str:
    if display_width(word) <= 16:
        return escaped(word)
    parts = re.findall(r"(?:[A-Za-z0-9]{1,12}[^A-Za-z0-9]?|[^A-Za-z0-9])[\u0300-\u036f]*", word)
    return r"\allowbreak{}".join(map(escaped, parts))


def stub_or_header(text: str) -> str:
    """A label; one that is a number has the sign of numbers."""
    found = NUMBER.fullmatch(text)
    return _number(found, 0) if found and not found[1] else escaped(text)


def column_cells(texts: Sequence[str]) -> list[str]:
    r"""Cells of a column, whose points stay in line where the texts' do.

    Examples
    --------
    >>> for cell in column_cells(["-0.25", "12   ", "1.5e-07", "<0.001"]):
    ...     print(cell)
    $-$0.25
    12\phantom{.00}
    1.5$\times$10$^{-7}$
    $<$0.001
    """
    found = [NUMBER.fullmatch(text) for text in texts]
    powers = [_exponent(match) if match else "" for match, text in zip(found, texts, strict=True) if text]
    longest = max(map(len, powers)) if powers and all(powers) else 0
    return [
        _text_cell(text) if match is None else _number(match, longest)
        for text, match in zip(texts, found, strict=True)
    ]


def _text_cell(text: str) -> str:
    parts = MINUS.split(text)
    return "$-$".join(
        escaped(part) + " " * (part[-1:] == " " and i + 1 < len(parts)) for i, part in enumerate(parts)
    )


def _exponent(match: re.Match[str]) -> str:
    return str(int(match[4])) if match[4] else ""


def _number(match: re.Match[str], longest: int) -> str:
    less, sign, digits, _, blanks = match.groups()
    power = _exponent(match)
    head = f"{'$<$' if less else ''}{'$-$' if sign else ''}"
    if digits == "inf":
        return head + r"$\infty$"
    tail = ""
    if power:
        digits = "" if digits == "1" else digits + r"$\times$"
        gap = longest - len(power)
        tail = f"10$^{{{power}}}$" + (rf"\phantom{{$^{{{'0' * gap}}}$}}" if gap > 0 else "")
    elif blanks:
        point = "" if "." in digits else "."
        tail = rf"\phantom{{{point}{'0' * (len(blanks) - len(point))}}}"
    return head + digits + tail


def number_width(text: str) -> float:
    """Width of a cell in points at 10 points."""
    found = NUMBER.fullmatch(text)
    if found is None:
        return latex_width(text) + 5 * len(MINUS.findall(text))
    less, sign, digits, power, blanks = found.groups()
    width = OTHER * bool(less) + OTHER * bool(sign) + latex_width(digits) + 5 * len(blanks)
    return width + (18 + 6 + 4 * len(power) if power else 0)


def latex_width(text: str) -> float:
    """Width of a text in points at 10 points."""
    return sum(WIDTHS[c] if c in WIDTHS else (0, OTHER, WIDE)[display_width(c)] for c in text)


def tabular_parts(text: str, width: float) -> list[str]:
    """A text in lines of a width in points, broken at blanks, else behind signs, else anywhere."""
    lines = [""]
    for part in re.findall(r"[^\W_]+[\W_]?\s*|[\W_]\s*", text):
        if lines[-1] and latex_width(lines[-1] + part.rstrip()) > width:
            lines.append("")
        for c in part if latex_width(part) > width else [part]:
            if lines[-1] and latex_width(lines[-1] + c) > width:
                lines.append("")
            lines[-1] += c
    return [line.rstrip() for line in lines]


TEXTWIDTH = 329.0
"""Points across the text of the class article, in type of 10 points: at 10 points it has 345, at 11 points
360 of larger type, which are 329 of this, and at 12 points 390, which are 332."""

HEIGHT = 432.0
"""Points from the top to the bottom of a float on a page of its own, likewise."""

GAP = 12.0
RULED = 26.0
"""Points between columns, and those that the rules of a table and what is around it take."""

WIDEST_STUB = 0.46
WIDEST_CELL = 0.42
WIDEST_HEADER = 0.25
NARROW_HEADER = 0.16
"""Shares of the text's width that a label of a row, a text, a column's name take before they are broken; the
last where columns do not fit beside each other."""


class Size(NamedTuple):
    """A size of type: its command, its widths and the distance of its lines beside those of 10 points."""

    command: str
    width: float
    line: float


SIZES = (Size("", 1.0, 12.0), Size("\\small\n", 0.93, 11.0), Size("\\footnotesize\n", 0.855, 9.5))

RULE = r"\noalign{\smallskip}\hline\noalign{\smallskip}"
RULES = "\n".join(rf"\providecommand{{\{name}rule}}{{{RULE}}}" for name in ("top", "mid", "bottom"))
"""Rules for documents that do not load booktabs."""

RUN = 16
"""Floats after which a page is ended: LaTeX holds back few, and stops where there are more."""


class Box(NamedTuple):
    """What stands in a cell: its LaTeX, its width in points at 10 points, its lines."""

    tex: str
    width: float
    lines: int


@dataclass(frozen=True, slots=True)
class LatexTable:
    """A grid as boxes, column by column: labels of the rows and names of the columns, if they have names.

    Widths of the columns are at 10 points, and their aligns are taken over and over.
    """

    stubs: list[Box]
    headers: list[Box]
    columns: list[list[Box]]
    widths: list[float]
    aligns: str


class TabularPart(NamedTuple):
    """Rows and columns of a table that stand in one tabular."""

    top: int
    bottom: int
    left: int
    right: int


def latex_of(
    title: str,
    parts: Mapping[str, Part],
    caption: str | None = None,
    label: str | None = None,
    position: str = "htbp",
    textwidth: float = TEXTWIDTH,
) -> str:
    """Sections of a summary as LaTeX; `Summary.as_latex` says what the arguments are."""
    _check(caption, label, position, textwidth)
    alone = len(parts) == 1
    stem = _stem(title) if label is None else label
    names = _slugs(parts)
    floats = [RULES]
    for key, part in parts.items():
        text = prose(f"{clean(title)}: {heading(part)}")
        if caption is not None:
            text = caption if alone else f"{caption}: {prose(heading(part))}"
        name = stem if alone and label is not None else f"{stem}-{names[key]}"
        floats += _floats(grid_of(part), text, name, position, textwidth)
    for i in range(1 + RUN, len(floats), RUN):
        floats[i] = f"\\clearpage\n{floats[i]}"
    return "\n\n".join(floats)


def _check(caption: Any, label: Any, position: Any, textwidth: Any) -> None:
    if not isinstance(caption, str | None):
        raise DataError(f"caption={caption!r} is not valid.", hint="Give a text, in LaTeX.")
    if label is not None and not (isinstance(label, str) and re.fullmatch(r"[^\s\\{}%#~^$&,]+", label)):
        raise DataError(
            f"label={label!r} is not valid.",
            hint="Give a name such as 'tab:iris', of letters, figures, '-', ':', '.' and '_'.",
        )
    if not (isinstance(position, str) and re.fullmatch(r"[!htbpH]+", position)):
        raise DataError(
            f"position={position!r} is not valid.", hint="Give letters that LaTeX takes, such as 'htbp'."
        )
    if isinstance(textwidth, bool) or not isinstance(textwidth, int | float) or not 150 <= textwidth < 1e5:
        raise DataError(
            f"textwidth={textwidth!r} is not valid.",
            hint="Give the points that \\the\\textwidth prints, 150 at least.",
        )


def _stem(title: str) -> str:
    return f"tab:{_slug(title.partition(':')[0])}"


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9_]+", "-", plain).strip("-") or "summary"


def _slugs(keys: Iterable[str]) -> dict[str, str]:
    """Keys as parts of labels; those of classes in other scripts are told apart by numbers."""
    names: dict[str, str] = {}
    for key in keys:
        slug = _slug(key)
        numbered = chain([slug], (f"{slug}-{number}" for number in count(2)))
        names[key] = next(name for name in numbered if name not in names.values())
    return names


def _floats(grid: Grid, caption: str, label: str, position: str, textwidth: float) -> Iterator[str]:
    """The floats of a section: one, or as many as its tables need pages."""
    notes = _notes(grid.notes)
    start = f"\\begin{{table}}[{position}]\n\\centering\\sloppy\n"
    end = "\\end{table}"
    head = f"\\caption{{{caption}}}\n\\label{{{label}}}\n"
    if not grid.cells:
        yield start + head + notes + end
        return
    table = _table(grid, textwidth, WIDEST_HEADER)
    if _width(table, SIZES[-1], 0, len(table.columns)) > textwidth:
        grid = grid if grid.headers else _narrow(grid)
        table = _table(grid, textwidth, NARROW_HEADER)
    size, panels = _panels(table, textwidth)
    room = HEIGHT - 12 * (2 + latex_width(caption) / textwidth)
    room -= sum(9.5 * (2 + latex_width(note) / textwidth) for note in grid.notes)
    pages = list(_pages(list(_pieces(table, grid, size, panels, room)), table, size, room))
    for i, pieces_of in enumerate(pages):
        if i:
            head = "\\tablename~\\thetable{} (continued)\\par\n"
        body = "\\par\\medskip\n".join(_tabular(table, piece) for piece in pieces_of)
        below = notes if i + 1 == len(pages) else ""
        yield f"{start}{head}\\smallskip\n{size.command}{body}{below}{end}"


def _notes(notes: list[str]) -> str:
    if not notes:
        return ""
    lines = "".join(f"{prose(note)}\\par\n" for note in notes)
    box = "\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright\n"
    return f"\\par\\smallskip\n{box}{lines}\\end{{minipage}}\n"


def _narrow(grid: Grid) -> Grid:
    """The header's two columns of labels and values as one."""
    right = [(line[1], line[2]) for line in grid.cells if line[1] or line[2]]
    stubs = [*grid.stubs, *(stub for stub, _ in right)]
    cells = [*([line[0]] for line in grid.cells), *([text] for _, text in right)]
    return Grid([], stubs, cells, grid.notes, aligns="r")


def _table(grid: Grid, textwidth: float, header_share: float) -> LatexTable:
    headers = []
    columns = []
    widths = []
    for j, texts in enumerate(zip(*grid.cells, strict=True)):
        align = grid.aligns[j % len(grid.aligns)]
        room = WIDEST_CELL * textwidth
        layout = f"[t]{{@{{}}{align}@{{}}}}"
        cells = zip(texts, column_cells(texts), strict=True)
        columns.append([_box(text, cell, number_width(text), room, layout) for text, cell in cells])
        widths.append(max(box.width for box in columns[-1]))
        if grid.headers:
            headers.append(_label(grid.headers[j], max(widths[-1], header_share * textwidth), "[b]{@{}r@{}}"))
            widths[-1] = max(widths[-1], headers[-1].width)
    stubs = [_stub(stub, WIDEST_STUB * textwidth) for stub in grid.stubs]
    return LatexTable(stubs, headers, columns, widths, grid.aligns)


def _stub(text: str, room: float) -> Box:
    box = _label(text.removeprefix("  "), room, "[t]{@{}l@{}}")
    return Box(f"\\quad {box.tex}", box.width + 10, box.lines) if text.startswith("  ") else box


def _label(text: str, room: float, layout: str) -> Box:
    return _box(text, stub_or_header(text), latex_width(text), room, layout)


def _box(text: str, tex: str, width: float, room: float, layout: str) -> Box:
    """A text as it is, or in lines where it is wider than its room."""
    if latex_width(text) <= room:
        return Box(tex, width, 1)
    lines = tabular_parts(text, room)
    body = r" \\ ".join(escaped(line) for line in lines)
    return Box(rf"\begin{{tabular}}{layout}{body}\end{{tabular}}", max(map(latex_width, lines)), len(lines))


def _panels(table: LatexTable, textwidth: float) -> tuple[Size, list[tuple[int, int]]]:
    """The largest type at which the columns fit beside each other; or the smallest, in panels."""
    count = len(table.columns)
    for size in SIZES:
        if _width(table, size, 0, count) <= textwidth:
            return size, [(0, count)]
    size = SIZES[-1]
    fewest = len(_cut(table, size, textwidth, count))
    for most in range(-(-count // fewest), count + 1):
        panels = _cut(table, size, textwidth, most)
        if len(panels) == fewest:
            break
    return size, panels


def _cut(table: LatexTable, size: Size, textwidth: float, most: int) -> list[tuple[int, int]]:
    """Panels of at most so many columns, each as wide as the text allows."""
    panels = []
    left = 0
    for right in range(1, len(table.columns) + 1):
        if right - left > 1 and (_width(table, size, left, right) > textwidth or right - left > most):
            panels.append((left, right - 1))
            left = right - 1
    return [*panels, (left, len(table.columns))]


def _width(table: LatexTable, size: Size, left: int, right: int) -> float:
    stub = max(box.width for box in table.stubs)
    return (stub + sum(table.widths[left:right])) * size.width + GAP * (right - left)


def _pieces(
    table: LatexTable, grid: Grid, size: Size, panels: list[tuple[int, int]], room: float
) -> Iterator[TabularPart]:
    """Panels, cut between rows where they are taller than a page."""
    for left, right in panels:
        # Below the diagonal a panel is blank; its last rows would say nothing.
        filled = [i for i, line in enumerate(grid.cells) if any(line[left:right]) or not grid.triangle]
        rows = filled[-1] + 1
        fewest = len(_runs(table, grid, size, (left, right), rows, rows, room))
        # Runs of like lengths: a page of one row says little.
        runs = _runs(table, grid, size, (left, right), rows, -(-rows // fewest), room)
        for top, bottom in runs:
            yield TabularPart(top, bottom, left, right)


def _runs(
    table: LatexTable, grid: Grid, size: Size, panel: tuple[int, int], rows: int, most: int, room: float
) -> list[tuple[int, int]]:
    """Runs of at most so many rows, each as high as a page allows; they begin with groups where they can."""
    runs = []
    top = 0
    while top < rows:
        bottom = top + 1
        last = min(rows, top + most)
        while bottom < last and _height(table, size, TabularPart(top, bottom + 1, *panel)) <= room:
            bottom += 1
        starts = [i for i in range((top + bottom) // 2 + 1, bottom) if not any(grid.cells[i])]
        if bottom < rows and starts:
            bottom = starts[-1]
        runs.append((top, bottom))
        top = bottom
    return runs


def _pages(
    pieces_of: list[TabularPart], table: LatexTable, size: Size, room: float
) -> Iterator[list[TabularPart]]:
    """Pieces that go onto one page."""
    page: list[TabularPart] = []
    used = 0.0
    for piece in pieces_of:
        height = _height(table, size, piece)
        if page and used + height > room:
            yield page
            page = []
            used = 0.0
        page.append(piece)
        used += height
    yield page


def _height(table: LatexTable, size: Size, piece: TabularPart) -> float:
    boxes = [table.stubs, *table.columns[piece.left : piece.right]]
    tall: list[int] = [max(box.lines for box in row) for row in zip(*boxes, strict=True)]
    header = max((box.lines for box in table.headers[piece.left : piece.right]), default=0)
    return (sum(tall[piece.top : piece.bottom]) + header) * size.line + RULED


def _tabular(table: LatexTable, piece: TabularPart) -> str:
    boxes = [table.stubs, *table.columns[piece.left : piece.right]]
    rows = [[box.tex for box in row] for row in zip(*boxes, strict=True)][piece.top : piece.bottom]
    if table.headers:
        rows.insert(0, ["", *(box.tex for box in table.headers[piece.left : piece.right])])
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" & ".join([row[0].ljust(wide[0]), *map(str.rjust, row[1:], wide[1:])]) + r" \\" for row in rows]
    if table.headers:
        lines.insert(1, r"\midrule")
    aligns = "".join(table.aligns[j % len(table.aligns)] for j in range(piece.left, piece.right))
    body = "\n".join(["\\toprule", *lines, "\\bottomrule"])
    return f"\\begin{{tabular}}{{@{{}}l{aligns}@{{}}}}\n{body}\n\\end{{tabular}}\n"
