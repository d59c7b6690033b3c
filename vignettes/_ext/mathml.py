"""Formulas as MathML, which browsers set without a script and without a font from elsewhere."""

from __future__ import annotations

from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

ElementTree.register_namespace("", NAMESPACE := "http://www.w3.org/1998/Math/MathML")
CAPITALS = [*"ΓΔΘΛΞΠΣΥΦΨΩ"]


def mathml(formula: str, display: str) -> str:
    """A formula of LaTeX, its primes beside what they belong to, its Greek capitals upright, as in LaTeX.

    A prime is drawn high already: as a superscript it is right only in fonts that are made for formulas.
    """
    tree = ElementTree.fromstring(convert(formula, display=display))
    for letter in tree.iter(f"{{{NAMESPACE}}}mi"):
        if letter.text in CAPITALS:
            letter.set("mathvariant", "normal")
    for raised in [
        each for each in tree.iter() if each.tag in (f"{{{NAMESPACE}}}msup", f"{{{NAMESPACE}}}msubsup")
    ]:
        *base, prime = raised
        if prime.text in ("\N{PRIME}", "\N{DOUBLE PRIME}"):
            raised.remove(prime)
            if len(base) == 2:
                below = ElementTree.Element(f"{{{NAMESPACE}}}msub")
                below.extend(base)
                raised[:] = [below]
            raised.tag = f"{{{NAMESPACE}}}mrow"
            ElementTree.SubElement(raised, f"{{{NAMESPACE}}}mo", form="postfix", lspace="0").text = prime.text
    return ElementTree.tostring(tree, encoding="unicode")


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
