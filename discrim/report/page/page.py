"""A page of sections that asks nobody for anything, and in which nothing runs."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from discrim.report.numbers import clean
from discrim.report.page.style import STYLE
from discrim.report.plots.images import Image
from discrim.report.tables import Section, Summary

__all__ = ["Chapter", "code_block", "figure", "figures", "folded", "page_of", "pairs", "paragraph", "tables"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""What a browser may do for the page: use the styles and the images that are in it."""


class Chapter(NamedTuple):
    """A part of a page with a heading of its own.

    Attributes
    ----------
    name : str
        Of the place in the page, as links take it.
    title : str
    body : str
        HTML.
    """

    name: str
    title: str
    body: str


def page_of(title: str, line: str, chapters: Sequence[Chapter], foot: str) -> str:
    """A page of HTML.

    Parameters
    ----------
    title, line, foot : str
        Texts above and below the chapters.
    chapters : sequence of Chapter

    Examples
    --------
    >>> text = page_of("A & B", "", [Chapter("first", "First", paragraph("1 < 2"))], "The end.")
    >>> "<title>A &amp; B</title>" in text, "<p>1 &lt; 2</p>" in text
    (True, True)
    """
    links = "\n".join(f'<li><a href="#{each.name}">{_text(each.title)}</a></li>' for each in chapters)
    body = "\n".join(
        f'<section aria-labelledby="{each.name}">\n<h2 id="{each.name}">{_text(each.title)}</h2>\n'
        f"{each.body}\n</section>"
        for each in chapters
    )
    # The empty icon keeps browsers from asking a server for one.
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="discrim">
<link rel="icon" href="data:,">
<title>{_text(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>{_text(title)}</h1>
<p>{_text(line)}</p>
</header>
<nav aria-label="Sections">
<ul>
{links}
</ul>
</nav>
<main>
{body}
</main>
<footer>
<p>{_text(foot)}</p>
</footer>
</body>
</html>
"""


def _text(text: str) -> str:
    return html.escape(clean(text))


def paragraph(text: str, kind: str = "") -> str:
    """A text as a paragraph; `kind` is a class of the style."""
    return f'<p class="{kind}">{_text(text)}</p>' if kind else f"<p>{_text(text)}</p>"


def tables(title: str, sections: Mapping[str, Section]) -> str:
    """Sections of a summary as HTML."""
    return scrolled(title, Summary(title, sections).as_html())


def scrolled(name: str, body: str) -> str:
    """What may be wider than the page, in a frame of its own that the keyboard reaches."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(name)}">\n{body}\n</div>'


def pairs(items: Iterable[tuple[str, str]]) -> str:
    """Names with texts, one pair a line."""
    rows = "\n".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{_text(text)}</td></tr>' for name, text in items
    )
    return f'<table class="pairs">\n<tbody>\n{rows}\n</tbody>\n</table>'


def folded(title: str, bodies: Sequence[str]) -> str:
    """Paragraphs that are shown where they are asked for; nothing where there is none."""
    if not bodies:
        return ""
    body = "\n".join(bodies)
    return f"<details>\n<summary>{_text(title)}</summary>\n{body}\n</details>"


def code_block(text: str) -> str:
    """Lines of a program."""
    lines = "\n".join(html.escape(clean(line)) for line in text.split("\n"))
    return f'<pre tabindex="0"><code>{lines}</code></pre>'


def figure(image: Image, alt: str, caption: str) -> str:
    """A picture with what it shows, in the colours that the reader prefers; in print those of the day."""
    # A browser does not choose among the sources of one image anew for print: both are there, one is shown.
    shape = f'width="{image.width}" height="{image.height}" alt="{_text(alt)}"'
    images = [
        f'<img class="{time}" src="{source}" {shape}>'
        for time, source in (("day", image.light), ("night", image.dark))
    ]
    return "\n".join(["<figure>", *images, f"<figcaption>{_text(caption)}</figcaption>", "</figure>"])


def figures(bodies: Iterable[str]) -> str:
    """Pictures beside each other, where the page has room."""
    return '<div class="figures">\n' + "\n".join(bodies) + "\n</div>"
