r"""Texts as LaTeX: what is special is escaped, numbers have true minus signs, and widths are estimated.

What is written goes through pdflatex with no package: letters and marks beyond those that LaTeX knows by
itself are built of its accents, Greek letters and the signs of mathematics are set as mathematics. Other
scripts are left as they are, for engines and packages that have them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from discrim.report.numbers import display_width

__all__ = ["column_cells", "escaped", "number_width", "pieces", "prose", "stub_or_header", "text_width"]

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

LATIN_SHAPED = dict(
    zip(
        (
            "ALPHA",
            "BETA",
            "EPSILON",
            "ZETA",
            "ETA",
            "IOTA",
            "KAPPA",
            "MU",
            "NU",
            "OMICRON",
            "RHO",
            "TAU",
            "CHI",
        ),
        "ABEZHIKMNOPTX",
        strict=True,
    )
)
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
OTHER, WIDE = 7.8, 10.0
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
        letter = LATIN_SHAPED.get(name, f"\\{name.capitalize()} ")
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
        return text_width(text) + 5 * len(MINUS.findall(text))
    less, sign, digits, power, blanks = found.groups()
    width = OTHER * bool(less) + OTHER * bool(sign) + text_width(digits) + 5 * len(blanks)
    return width + (18 + 6 + 4 * len(power) if power else 0)


def text_width(text: str) -> float:
    """Width of a text in points at 10 points."""
    return sum(WIDTHS[c] if c in WIDTHS else (0, OTHER, WIDE)[display_width(c)] for c in text)


def pieces(text: str, width: float) -> list[str]:
    """A text in lines of a width in points, broken at blanks, else behind signs, else anywhere."""
    lines = [""]
    for part in re.findall(r"[^\W_]+[\W_]?\s*|[\W_]\s*", text):
        if lines[-1] and text_width(lines[-1] + part.rstrip()) > width:
            lines.append("")
        for c in part if text_width(part) > width else [part]:
            if lines[-1] and text_width(lines[-1] + c) > width:
                lines.append("")
            lines[-1] += c
    return [line.rstrip() for line in lines]
