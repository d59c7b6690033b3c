"""Formulas as MathML, which browsers display without scripts and external fonts."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

ElementTree.register_namespace("", NAMESPACE := "http://www.w3.org/1998/Math/MathML")
ROW, SUB, UNDER, SUP, SUBSUP, IDENTIFIER, OPERATOR, SPACE = (
    f"{{{NAMESPACE}}}{name}" for name in ("mrow", "msub", "munder", "msup", "msubsup", "mi", "mo", "mspace")
)
GREEK_CAPITALS = [*"ΓΔΘΛΞΠΣΥΦΨΩ"]
FUNCTIONS = ("cosh", "det", "exp", "lim", "ln", "log", "max", "min", "sign", "sinh", "tr")
LIMIT_FUNCTIONS = ("lim", "max", "min")
AFTER_A_TERM = [*")]}|!", "\N{PRIME}", "\N{DOUBLE PRIME}"]
THIN_SPACE = "0.167em"


def formula_to_mathml(formula: str, display: str) -> str:
    """Convert a LaTeX formula and adjust letters and spaces that the converter leaves to the browser."""
    tree = ElementTree.fromstring(convert(formula, display=display))
    for each in tree.iter():
        adjust_letter(each)
    for each in list(tree.iter()):
        adjust_prime(each)
        if display == "block" and each.tag == SUB and each[0].text in LIMIT_FUNCTIONS:
            each.tag = UNDER
        adjust_signs([part for part in each if part.tag != SPACE])
    return ElementTree.tostring(tree, encoding="unicode")


def adjust_letter(letter: Element) -> None:
    """Make Greek capitals upright, infinity an identifier, and functions and the tilde operators."""
    if letter.text in GREEK_CAPITALS:
        letter.set("mathvariant", "normal")
    elif letter.text in FUNCTIONS:
        letter.tag = OPERATOR
    elif letter.text == "\N{INFINITY}":
        letter.tag = IDENTIFIER
    elif letter.tag == IDENTIFIER and letter.text == "~":
        letter.tag, letter.text = OPERATOR, "\N{TILDE OPERATOR}"


def adjust_prime(raised: Element) -> None:
    """Put a prime next to its letter: most fonts draw it raised, so a superscript would be too high."""
    if raised.tag not in (SUP, SUBSUP) or raised[-1].text not in ("\N{PRIME}", "\N{DOUBLE PRIME}"):
        return
    *base, prime = raised
    raised.remove(prime)
    if len(base) == 2:
        below = Element(SUB)
        below.extend(base)
        raised[:] = [below]
    raised.tag = ROW
    ElementTree.SubElement(raised, OPERATOR, form="postfix", lspace="0").text = prime.text


def adjust_signs(row: list[Element]) -> None:
    """Make a leading minus a prefix, bars brackets without spaces, and put spaces around functions."""
    for before, each, after in zip([None, *row], row, [*row[1:], None], strict=False):
        leads = before is None or (before.tag == OPERATOR and before.text not in AFTER_A_TERM)
        sign = each if each.tag == OPERATOR or not len(each) else each[0]
        if each.tag == OPERATOR and each.text in ("\N{MINUS SIGN}", "+") and leads:
            each.set("form", "prefix")
        elif sign.text in ("|", "/"):
            sign.attrib.update(lspace="0", rspace="0")
        elif sign.tag == OPERATOR and sign.text in FUNCTIONS:
            bracket = after is None or after.text in [*"([,."]
            sign.attrib.update(lspace="0" if leads else THIN_SPACE, rspace="0" if bracket else THIN_SPACE)


def write_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in the text."""
    translator.body.append(formula_to_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def write_display(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    formula = formula_to_mathml(node.astext().strip(), "block")
    number = f"<span>({get_node_equation_number(translator, node)})</span>" if node["number"] else ""
    translator.body.append(f'<div class="formula">{formula}{number}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer that conf.py selects."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
