"""Summaries as LaTeX: a float with caption and label for each section.

Special characters are escaped, numbers have true minus signs, and texts that are too wide are broken into
lines by estimates of their width. The result needs no package: pdflatex sets it, with accents, Greek letters
and mathematical signs. Other scripts are left as they are, for engines and packages that support them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain, count, pairwise
from typing import Any, NamedTuple

from discrim.errors import DataError
from discrim.report.grid import Grid, SummaryContent, clean, display_width, grid_of, heading

# LaTeX of characters that are special to it.
SPECIAL = {"\\": r"\textbackslash{}", "~": r"\ensuremath{\sim}", "^": r"\textasciicircum{}"}
SPECIAL |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\`{}"}
# \textquotedbl is not in LaTeX's default encoding, and a bare quotation mark is active in German documents.
SPECIAL |= {"\u2060": "{}", '"': r"\char34{}", "…": r"\dots{}"} | {c: f"\\{c}" for c in "&%$#_{}"}

# Mathematical signs, which are set in math mode.
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
"""Latin letters for Greek capitals without a command."""

# Commands of combining marks in text, and of those on Greek letters in math mode.
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u"}
ACCENTS |= {"\u0307": ".", "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d"}
ACCENTS |= {"\u0327": "c", "\u0328": "k", "\u0331": "b"}
GREEK_ACCENTS = {"\u0300": "grave", "\u0301": "acute", "\u0302": "hat", "\u0303": "tilde", "\u0308": "ddot"}
GREEK_ACCENTS |= {"\u0342": "tilde"}

SUPPORTED_CHARACTERS = "‑…№℠™ﬀﬁﬂﬃﬄﬅﬆǄǅǆǇǈǉǊǋǌ"
"""Compatibility characters that LaTeX supports."""

GREEK_NAME = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (FINAL )?(\w+)")
"""Unicode name of a Greek letter."""

LIGATURES = re.compile(r"([-,'!?<>])(?=\1)")
"""The first of two equal characters that TeX would join to a ligature."""

MINUS = re.compile(r"(?<![^\s(\[])-(?=[\d.])")
"""Minus sign of a number within a text."""

NUMBER = re.compile(r"(<?)(-?)(\d+\.?\d*|inf)(?:e([+-]\d+))?( *)")
"""Number in a cell: "<", sign, digits, exponent and the blanks at the end that align decimal points."""

WIDTH_GROUPS = {2.8: "il,.:;!'`|[]", 3.1: "jf", 3.4: " -", 3.7: "I", 3.95: "rst()", 4.5: "cez"}
WIDTH_GROUPS |= {5.0: "ago0123456789/*?^\\$", 5.3: "kvxyq", 5.6: 'bdhnpuS"{}_', 7.2: "FLEPBTZC"}
WIDTH_GROUPS |= {9.2: "mM%#", 10.3: "W", 13.4: "…"}
WIDTHS = {c: width for width, group in WIDTH_GROUPS.items() for c in group}
OTHER_WIDTH = 7.8
WIDE_WIDTH = 10.0
"""Widths of other narrow and of wide (East Asian) characters.

All widths are in points, of Computer Modern at 10 points; no other common typeface is much wider.
"""


def escape(text: str) -> str:
    r"""Convert a text to LaTeX: special characters are escaped, Greek letters and signs become mathematics.

    Blanks at the end are removed.

    Examples
    --------
    >>> print(escape("50 % of x_1 & {β}"))
    50 \% of x\_1 \& \{\ensuremath{\beta}\}
    """
    text = unicodedata.normalize("NFC", text.rstrip(" "))
    # Two of these in a row would become a ligature.
    text = LIGATURES.sub("\\1\u2060", text)
    out = _escape_characters(text)
    # A bracket or star at the start would be read as the argument of the row's end before it.
    return f"{{}}{out}" if out.startswith(("[", "*")) else out


def _escape_characters(text: str) -> str:
    """Convert each character of a text, with its combining marks, to LaTeX."""
    return "".join(map(_escape_character, re.findall("(?s:.)[\u0300-\u036f]*", text)))


def _escape_character(cluster: str) -> str:
    """Convert a character and the combining marks that follow it to LaTeX."""
    c = cluster[0]
    if len(cluster) == 1 and c not in ACCENTS:
        if c in SIGNS:
            return rf"\ensuremath{{{SIGNS[c]}}}"
        if c in SPECIAL or ord(c) < 0x180:
            return SPECIAL.get(c, c)
        decomposition_tag, *codes = (unicodedata.decomposition(c) or "none").split()
        if decomposition_tag in ("<super>", "<sub>"):
            inner = _escape_characters("".join(chr(int(code, 16)) for code in codes))
            return rf"\ensuremath{{{'^' if decomposition_tag == '<super>' else '_'}{{{inner}}}}}"
        if decomposition_tag.startswith("<") and c not in SUPPORTED_CHARACTERS:
            return _escape_characters(unicodedata.normalize("NFKC", c))
    base, *marks = list(unicodedata.normalize("NFD", cluster))
    greek = GREEK_NAME.fullmatch(unicodedata.name(base, ""))
    if greek:
        letter = _greek_letter(*greek.groups())
        for mark in marks:
            letter = rf"\{GREEK_ACCENTS[mark]}{{{letter}}}" if mark in GREEK_ACCENTS else letter
        return rf"\ensuremath{{{letter}}}"
    if base in ACCENTS:
        base, marks = "", [base, *marks]
    if ord(base or " ") >= 0x180 or not all(mark in ACCENTS for mark in marks):
        return cluster
    letter = SPECIAL.get(base, base)
    for mark in marks:
        letter = rf"\{ACCENTS[mark]}{{{letter}}}"
    return letter


def _greek_letter(case: str, final: str | None, name: str) -> str:
    """Return the LaTeX of a Greek letter in mathematics.

    Parameters
    ----------
    case : str
        "SMALL" or "CAPITAL".
    final : str or None
        Not None for a final sigma.
    name : str
        Unicode name of the letter, such as "LAMDA".

    Returns
    -------
    str
        Command or Latin letter for math mode.
    """
    name = name.replace("LAMDA", "LAMBDA")
    if case == "CAPITAL":
        return LATIN.get(name, f"\\{name.capitalize()}")
    return "o" if name == "OMICRON" else f"\\{'var' if final else ''}{name.lower()}"


def breakable_text(text: str) -> str:
    r"""Escape the plain text of a caption or a note for LaTeX, and allow line breaks within long words.

    Examples
    --------
    >>> print(breakable_text("the column length_of_longest_leaf"))
    the column length\_\allowbreak{}of\_\allowbreak{}longest\_\allowbreak{}leaf
    """
    return " ".join(_breakable(word) for word in text.split(" "))


def _breakable(word: str) -> str:
    """Convert a word to LaTeX; allow line breaks within a word of more than 16 characters."""
    if display_width(word) <= 16:
        return escape(word)
    segments = re.findall(r"(?:[A-Za-z0-9]{1,12}[^A-Za-z0-9]?|[^A-Za-z0-9])[\u0300-\u036f]*", word)
    return r"\allowbreak{}".join(map(escape, segments))


def label_latex(text: str) -> str:
    """Convert the label of a row or column to LaTeX; a number without "<" is set like numbers in cells."""
    match = NUMBER.fullmatch(text)
    return _number_latex(match, 0) if match and not match[1] else escape(text)


def column_cells(texts: Sequence[str]) -> list[str]:
    r"""Convert the texts of a column to LaTeX, with decimal points aligned as in the texts.

    Examples
    --------
    >>> for cell in column_cells(["-0.25", "12   ", "1.5e-07", "<0.001"]):
    ...     print(cell)
    $-$0.25
    12\phantom{.00}
    1.5$\times$10$^{-7}$
    $<$0.001
    """
    matches = [NUMBER.fullmatch(text) for text in texts]
    powers = [
        _exponent_text(match) if match else "" for match, text in zip(matches, texts, strict=True) if text
    ]
    longest = max(map(len, powers)) if powers and all(powers) else 0
    return [
        _text_latex(text) if match is None else _number_latex(match, longest)
        for text, match in zip(texts, matches, strict=True)
    ]


def _text_latex(text: str) -> str:
    """Convert a cell that is not a number to LaTeX; numbers within it get true minus signs."""
    segments = MINUS.split(text)
    return "$-$".join(
        escape(segment) + " " * (segment[-1:] == " " and i + 1 < len(segments))
        for i, segment in enumerate(segments)
    )


def _exponent_text(match: re.Match[str]) -> str:
    """Return the exponent of a match of `NUMBER` as text, such as "-7"; "" without an exponent."""
    return str(int(match[4])) if match[4] else ""


def _number_latex(match: re.Match[str], max_exponent_length: int) -> str:
    """Convert a match of `NUMBER` to LaTeX, padded on the right to align the decimal points.

    `max_exponent_length` is the number of characters of the longest exponent in the column; 0 unless all
    numbers of the column have exponents.
    """
    less, sign, digits, _, blanks = match.groups()
    power = _exponent_text(match)
    head = f"{'$<$' if less else ''}{'$-$' if sign else ''}"
    if digits == "inf":
        return head + r"$\infty$"
    tail = ""
    if power:
        digits = "" if digits == "1" else digits + r"$\times$"
        gap = max_exponent_length - len(power)
        tail = f"10$^{{{power}}}$" + (rf"\phantom{{$^{{{'0' * gap}}}$}}" if gap > 0 else "")
    elif blanks:
        point = "" if "." in digits else "."
        tail = rf"\phantom{{{point}{'0' * (len(blanks) - len(point))}}}"
    return head + digits + tail


def number_width(text: str) -> float:
    """Estimate the width of a cell from its plain text, which may be a number, in points of 10-point type."""
    match = NUMBER.fullmatch(text)
    if match is None:
        return latex_width(text) + 5 * len(MINUS.findall(text))
    less, sign, digits, power, blanks = match.groups()
    width = OTHER_WIDTH * bool(less) + OTHER_WIDTH * bool(sign) + latex_width(digits) + 5 * len(blanks)
    return width + (18 + 6 + 4 * len(power) if power else 0)


def latex_width(text: str) -> float:
    """Estimate the width of a plain text, not of LaTeX, in points of 10-point type."""
    return sum(WIDTHS[c] if c in WIDTHS else (0, OTHER_WIDTH, WIDE_WIDTH)[display_width(c)] for c in text)


def break_lines(text: str, width: float) -> list[str]:
    """Break a plain text into lines of at most `width` points of 10-point type, by estimates of the width.

    Lines end after blanks or signs if possible; only words that are longer than a line are broken within.
    """
    lines = [""]
    for segment in re.findall(r"[^\W_]+[\W_]?\s*|[\W_]\s*", text):
        if lines[-1] and latex_width(lines[-1] + segment.rstrip()) > width:
            lines.append("")
        for c in segment if latex_width(segment) > width else [segment]:
            if lines[-1] and latex_width(lines[-1] + c) > width:
                lines.append("")
            lines[-1] += c
    return [line.rstrip() for line in lines]


TEXTWIDTH = 329.0
"""Width in points of the text of the class article, relative to 10-point type.

It is the smallest of 345 at 10 points, 329 at 11 points (360 / 1.1) and 332 at 12 points (390 / 1.2)."""

COLUMN_SEP = 12.0
"""Points between two columns."""

FOOTNOTESIZE = 0.855
r"""Widths of characters in \footnotesize, relative to 10-point type."""

MAX_STUB_SHARE = 0.46
MAX_CELL_SHARE = 0.42
MAX_HEADER_SHARE = 0.25
"""Shares of the text width above which row labels, texts in cells and column names are broken into lines."""

RULE = r"\noalign{\smallskip}\hline\noalign{\smallskip}"
RULES = "\n".join(rf"\providecommand{{\{name}rule}}{{{RULE}}}" for name in ("top", "mid", "bottom"))
"""LaTeX that defines the rules of booktabs as plain lines, for documents that do not load it."""

FLOATS_PER_PAGE_BREAK = 16
"""Floats after which a page is ended, because LaTeX cannot postpone many."""


class Cell(NamedTuple):
    """LaTeX of a cell, and its width in points in 10-point type."""

    tex: str
    width: float


def as_latex(
    summary: SummaryContent,
    caption: str | None = None,
    label: str | None = None,
    *,
    position: str = "htbp",
    textwidth: float | None = None,
) -> str:
    r"""Return the summary as LaTeX: a float with caption and label for each section.

    Labels of the data are escaped. Tables that are wider than the text of the class article are set in
    \footnotesize.

    Parameters
    ----------
    caption : str, optional
        Caption in LaTeX, which is written as it is. With several sections each caption begins with it. By
        default they begin with the title.
    label : str, optional
        Name for \ref. With several sections each has "-" and the key of the section behind it, as in
        "tab:iris-means". By default it begins with the title, as in "tab:linear-discriminant-analysis".
    position : str
        Where the floats may go.
    textwidth : float, optional
        Split tables that are wider than this into panels below one another. The width is in points of
        10-point type: what \the\textwidth prints, divided by 1.1 or 1.2 if the document has type of 11 or
        12 points. By default each section is one table.

    Returns
    -------
    str

    Raises
    ------
    DataError
        An argument is not valid.

    Notes
    -----
    A document needs no package: pdflatex of texlive-latex-base sets it. With \usepackage{booktabs} the
    rules are drawn by booktabs; without it they are plain lines. Greek letters are set as mathematics.
    \usepackage[T1]{fontenc} is needed for a few letters, as in "Łódź, Ąžuolas, Đorđe, «x»"; Chinese,
    Japanese and Korean need lualatex or xelatex with a font that has them (\usepackage{fontspec} and
    \setmainfont{Noto Serif CJK SC}), or the package CJKutf8; Cyrillic needs \usepackage[T2A]{fontenc}.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
    >>> print(fit.summary(["classes"]).as_latex("Irises", "tab:irises").partition("\n\n")[2])
    \begin{table}[htbp]
    \centering\sloppy
    \caption{Irises}
    \label{tab:irises}
    \smallskip
    \begin{tabular}{@{}lrr@{}}
    \toprule
               &  prior &  n \\
    \midrule
    setosa     & 0.3333 & 50 \\
    versicolor & 0.3333 & 50 \\
    virginica  & 0.3333 & 50 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    _validate_options(caption, label, position, textwidth)
    sections = summary._sections
    title = summary.title
    single = len(sections) == 1
    stem = f"tab:{_slug(title.partition(':')[0])}" if label is None else label
    names = _slugs(sections)
    floats = [RULES]
    for i, (key, section) in enumerate(sections.items()):
        text = breakable_text(f"{clean(title)}: {heading(section)}")
        if caption is not None:
            text = caption if single else f"{caption}: {breakable_text(heading(section))}"
        name = stem if single and label is not None else f"{stem}-{names[key]}"
        page_break = "\\clearpage\n" if i and i % FLOATS_PER_PAGE_BREAK == 0 else ""
        floats.append(page_break + _section_float(grid_of(section), text, name, position, textwidth))
    return "\n\n".join(floats)


def _validate_options(caption: Any, label: Any, position: Any, textwidth: Any) -> None:
    """Raise a DataError if an option of `as_latex` is invalid.

    Parameters
    ----------
    caption, label, position, textwidth
        Options of `as_latex`.
    """
    if not isinstance(caption, str | None):
        raise DataError(f"caption={caption!r} is not valid.", hint="Pass a text in LaTeX.")
    if label is not None and not (isinstance(label, str) and re.fullmatch(r"[^\s\\{}%#~^$&,]+", label)):
        raise DataError(
            f"label={label!r} is not valid.",
            hint="Pass a name of letters, digits, '-', ':', '.' and '_', for example 'tab:iris'.",
        )
    if not (isinstance(position, str) and re.fullmatch(r"[!htbpH]+", position)):
        raise DataError(
            f"position={position!r} is not valid.",
            hint="Pass letters that LaTeX accepts, for example 'htbp'.",
        )
    if textwidth is not None and (
        isinstance(textwidth, bool) or not isinstance(textwidth, int | float) or not 150 <= textwidth < 1e5
    ):
        raise DataError(
            f"textwidth={textwidth!r} is not valid.",
            hint="Pass the width in points that \\the\\textwidth prints, at least 150.",
        )


def _slug(text: str) -> str:
    """Convert a text to a part of a label: lower case ASCII with hyphens; "summary" if nothing is left."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9_]+", "-", ascii_text).strip("-") or "summary"


def _slugs(keys: Iterable[str]) -> dict[str, str]:
    """Return the part of a LaTeX label for each key; numbers distinguish keys with the same part."""
    names: dict[str, str] = {}
    for key in keys:
        slug = _slug(key)
        numbered = chain([slug], (f"{slug}-{number}" for number in count(2)))
        names[key] = next(name for name in numbered if name not in names.values())
    return names


def _section_float(grid: Grid, caption: str, label: str, position: str, textwidth: float | None) -> str:
    """Return the LaTeX of a table environment with the grid of a section, its caption and its notes.

    Parameters
    ----------
    grid : Grid
        Without cells only its notes are written.
    caption, label, position : str
        Caption in LaTeX, name for references, and allowed positions of the float.
    textwidth : float or None
        Width in points of 10-point type above which the table is split into panels; None for one table.

    Returns
    -------
    str
    """
    body = ""
    if grid.cells:
        body = "\\smallskip\n" + _tabulars(grid, textwidth)
    if grid.notes:
        lines = "".join(f"{breakable_text(note)}\\par\n" for note in grid.notes)
        box = "\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright\n"
        body += f"\\par\\smallskip\n{box}{lines}\\end{{minipage}}\n"
    head = f"\\begin{{table}}[{position}]\n\\centering\\sloppy\n\\caption{{{caption}}}\n\\label{{{label}}}\n"
    return f"{head}{body}\\end{{table}}"


def _tabulars(grid: Grid, textwidth: float | None) -> str:
    """Return the LaTeX of a grid as one tabular, or as panels below one another if it exceeds `textwidth`.

    Without `textwidth` there is one tabular. Both are in a smaller font if the table exceeds `textwidth`, by
    default `TEXTWIDTH`. A grid without headers that is still too wide gets one column of labels, not two.
    """
    available = textwidth or TEXTWIDTH
    stubs, headers, columns = _grid_cells(grid, available)
    widths = [
        max(cell.width for cell in (*column, *headers[j : j + 1])) + COLUMN_SEP
        for j, column in enumerate(columns)
    ]
    stub_width = max(stub.width for stub in stubs)
    size = "" if stub_width + sum(widths) <= available else "\\footnotesize\n"
    available /= FOOTNOTESIZE if size else 1
    if not grid.headers and len(columns) > 1 and stub_width + sum(widths) > available:
        # Two columns of labels and values become one.
        right_pairs = [(line[1], line[2]) for line in grid.cells if line[1] or line[2]]
        labels = [*grid.stubs, *(label for label, _ in right_pairs)]
        values = [*([line[0]] for line in grid.cells), *([value] for _, value in right_pairs)]
        return _tabulars(Grid([], labels, values, [], aligns="r"), textwidth)
    panels = [0]
    if textwidth is not None:
        width = stub_width
        for j, column_width in enumerate(widths):
            if width + column_width > available and j > panels[-1]:
                panels.append(j)
                width = stub_width
            width += column_width
    return size + "\\par\\medskip\n".join(
        _tabular(grid, stubs, headers[start:stop], columns[start:stop], start)
        for start, stop in pairwise([*panels, len(columns)])
    )


def _grid_cells(grid: Grid, available: float) -> tuple[list[Cell], list[Cell], list[list[Cell]]]:
    """Convert a grid to LaTeX cells, whose texts are broken into lines above a share of the available width.

    The shares are `MAX_STUB_SHARE`, `MAX_HEADER_SHARE` and `MAX_CELL_SHARE`.

    Parameters
    ----------
    grid : Grid
    available : float
        Width of the text in points of 10-point type.

    Returns
    -------
    stubs : list of Cell
        Row labels.
    headers : list of Cell
        Column names; empty if absent.
    columns : list of list of Cell
        Cells by column.
    """
    stubs = []
    for stub in grid.stubs:
        text = stub.removeprefix("  ")
        cell = _cell(text, label_latex(text), MAX_STUB_SHARE * available, "[t]{@{}l@{}}")
        stubs.append(cell if text == stub else Cell(rf"\quad {cell.tex}", cell.width + 10))
    headers: list[Cell] = []
    columns: list[list[Cell]] = []
    for j, texts in enumerate(zip(*grid.cells, strict=True)):
        layout = f"[t]{{@{{}}{grid.aligns[j % len(grid.aligns)]}@{{}}}}"
        column = [
            _cell(text, tex, MAX_CELL_SHARE * available, layout, number_width(text))
            for text, tex in zip(texts, column_cells(texts), strict=True)
        ]
        columns.append(column)
        if grid.headers:
            text = grid.headers[j]
            max_width = max(MAX_HEADER_SHARE * available, *(cell.width for cell in column))
            headers.append(_cell(text, label_latex(text), max_width, "[b]{@{}r@{}}"))
    return stubs, headers, columns


def _cell(text: str, tex: str, max_width: float, layout: str, width: float | None = None) -> Cell:
    """Return a cell with the LaTeX `tex` of a text, or with the text in lines if it is too wide.

    Parameters
    ----------
    text : str
        Plain text, which determines whether the cell is too wide.
    tex : str
        LaTeX of the text on one line.
    max_width : float
        Largest width in points of 10-point type.
    layout : str
        Arguments of the inner tabular that contains the lines, such as "[t]{@{}l@{}}".
    width : float, optional
        Width of `tex` in points; by default the estimated width of `text`.

    Returns
    -------
    Cell
    """
    if latex_width(text) <= max_width:
        return Cell(tex, latex_width(text) if width is None else width)
    lines = break_lines(text, max_width)
    body = r" \\ ".join(escape(line) for line in lines)
    return Cell(rf"\begin{{tabular}}{layout}{body}\end{{tabular}}", max(map(latex_width, lines)))


def _tabular(
    grid: Grid, stubs: list[Cell], headers: list[Cell], columns: list[list[Cell]], start: int
) -> str:
    """Return the LaTeX of some adjacent columns as a tabular.

    The last rows of a triangle are left out if they are blank in these columns.

    Parameters
    ----------
    grid : Grid
        Grid of all columns.
    stubs, headers : list of Cell
        Labels of the rows, and headings of these columns; no headings if the list is empty.
    columns : list of list of Cell
        Cells by column.
    start : int
        Position of the first of these columns in the grid.

    Returns
    -------
    str
    """
    stop = start + len(columns)
    # Below the diagonal a panel is blank.
    filled = [i for i, line in enumerate(grid.cells) if any(line[start:stop]) or not grid.triangle]
    rows = [[cell.tex for cell in row] for row in zip(stubs, *columns, strict=True)][: filled[-1] + 1]
    if headers:
        rows.insert(0, ["", *(cell.tex for cell in headers)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        " & ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) + r" \\" for row in rows
    ]
    if headers:
        lines.insert(1, r"\midrule")
    aligns = "".join(grid.aligns[j % len(grid.aligns)] for j in range(start, stop))
    body = "\n".join(["\\toprule", *lines, "\\bottomrule"])
    return f"\\begin{{tabular}}{{@{{}}l{aligns}@{{}}}}\n{body}\n\\end{{tabular}}\n"
