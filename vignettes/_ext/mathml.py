"""Formulas as MathML, which browsers set without a script and without a font from elsewhere."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

ElementTree.register_namespace("", NAMESPACE := "http://www.w3.org/1998/Math/MathML")
ROW, SUB, UNDER, SUP, BOTH, LETTER, SIGN, SPACE = (
    f"{{{NAMESPACE}}}{name}" for name in ("mrow", "msub", "munder", "msup", "msubsup", "mi", "mo", "mspace")
)
CAPITALS = [*"ΓΔΘΛΞΠΣΥΦΨΩ"]
FUNCTIONS = ("cosh", "det", "exp", "lim", "ln", "log", "max", "min", "sign", "sinh", "tr")
LIMITS = ("lim", "max", "min")
AFTER_A_TERM = [*")]}|!", "\N{PRIME}", "\N{DOUBLE PRIME}"]
THIN = "0.167em"


def mathml(formula: str, display: str) -> str:
    """A formula of LaTeX, with its letters and spaces, of which the converter leaves many to the browser."""
    tree = ElementTree.fromstring(convert(formula, display=display))
    for each in tree.iter():
        set_letter(each)
    for each in list(tree.iter()):
        set_prime(each)
        if display == "block" and each.tag == SUB and each[0].text in LIMITS:
            each.tag = UNDER
        set_signs([part for part in each if part.tag != SPACE])
    return ElementTree.tostring(tree, encoding="unicode")


def set_letter(letter: Element) -> None:
    """Greek capitals are upright; infinity is a letter; functions and the tilde of a law are signs."""
    if letter.text in CAPITALS:
        letter.set("mathvariant", "normal")
    elif letter.text in FUNCTIONS:
        letter.tag = SIGN
    elif letter.text == "\N{INFINITY}":
        letter.tag = LETTER
    elif letter.tag == LETTER and letter.text == "~":
        letter.tag, letter.text = SIGN, "\N{TILDE OPERATOR}"


def set_prime(raised: Element) -> None:
    """A prime stands beside its letter: it is drawn high already, as a superscript too high in many fonts."""
    if raised.tag not in (SUP, BOTH) or raised[-1].text not in ("\N{PRIME}", "\N{DOUBLE PRIME}"):
        return
    *base, prime = raised
    raised.remove(prime)
    if len(base) == 2:
        below = Element(SUB)
        below.extend(base)
        raised[:] = [below]
    raised.tag = ROW
    ElementTree.SubElement(raised, SIGN, form="postfix", lspace="0").text = prime.text


def set_signs(row: list[Element]) -> None:
    """A minus with nothing before it belongs to what follows; bars are brackets; functions stand apart."""
    for before, each, after in zip([None, *row], row, [*row[1:], None], strict=False):
        leads = before is None or (before.tag == SIGN and before.text not in AFTER_A_TERM)
        sign = each if each.tag == SIGN or not len(each) else each[0]
        if each.tag == SIGN and each.text in ("\N{MINUS SIGN}", "+") and leads:
            each.set("form", "prefix")
        elif sign.text in ("|", "/"):
            sign.attrib.update(lspace="0", rspace="0")
        elif sign.tag == SIGN and sign.text in FUNCTIONS:
            bracket = after is None or after.text in [*"([,."]
            sign.attrib.update(lspace="0" if leads else THIN, rspace="0" if bracket else THIN)


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in the text."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def displayed(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    formula = mathml(node.astext().strip(), "block")
    number = f"<span>({get_node_equation_number(translator, node)})</span>" if node["number"] else ""
    translator.body.append(f'<div class="formula">{formula}{number}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Name the renderer that conf.py asks for."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
