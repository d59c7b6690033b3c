"""A page of sections that asks nobody for anything, and in which nothing runs.

It has a look for screens of any width, by day and by night, and for print.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from discrim.report.grid import Section, clean
from discrim.report.plots.points import DARK, LIGHT, Colours, Image
from discrim.report.tables import Summary


def _variables(colours: Colours) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colours._asdict().items())


STYLE = f"""
:root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
* {{ box-sizing: border-box; }}
html {{ -webkit-text-size-adjust: 100%; }}
body {{ margin: 0 auto; max-width: 70rem; padding: 1rem 1.25rem 4rem;
  background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
a {{ color: var(--link); }}
h1 {{ font-size: 1.75rem; line-height: 1.2; margin: 1rem 0 0.25rem; }}
h2 {{ font-size: 1.3rem; margin: 2.5rem 0 0.75rem; padding-bottom: 0.25rem;
  border-bottom: 1px solid var(--line); }}
h3, h4 {{ font-size: 1rem; margin: 1.5rem 0 0.5rem; }}
nav ul {{ display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; list-style: none; margin: 1rem 0;
  padding: 0; }}
code, pre {{ font-size: 0.9rem;
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
pre {{ background: var(--panel); padding: 0.75rem 1rem; overflow-x: auto; overflow-wrap: normal; }}
table {{ border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; font-weight: 600; padding: 0.25rem 0; }}
th, td {{ padding: 0.15rem 0.6rem; vertical-align: top; }}
table, thead, tbody, tr, th, td {{ border-color: var(--line); }}
.scroll {{ overflow-x: auto; margin: 0.75rem 0; }}
.scroll .discrim-title {{ display: none; }}
.pairs {{ width: 100%; }}
.pairs th {{ text-align: left; font-weight: 600; width: 14rem; }}
.pairs td {{ text-align: left; }}
.pairs tr {{ border-bottom: 1px solid var(--line); }}
.note, small {{ color: var(--faint); }}
.figures {{ display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(28rem, 100%), 1fr)); }}
main > section > details {{ margin-top: 0.75rem; }}
figure {{ margin: 0; }}
figure img, figure svg {{ max-width: 100%; height: auto; }}
.both, .day {{ display: block; }}
.night {{ display: none; }}
@media screen and (prefers-color-scheme: dark) {{ .day {{ display: none; }} .night {{ display: block; }} }}
.live {{ grid-column: 1 / -1; }}
@media screen and (prefers-color-scheme: dark) {{
  .live .main-svg, .live .modebar-group {{ background: none !important; }}
  .live :is(.bg, .updatemenu-item-rect) {{ fill: var(--paper) !important; }}
  .live g:not(.hovertext, .axistext) > text {{ fill: var(--ink) !important; }}
  .live .gridlayer path {{ stroke: var(--line) !important; }}
  .live [style*="stroke: rgb(0, 0, 0)"] {{ stroke: var(--ink) !important; }}
}}
figcaption {{ color: var(--faint); font-size: 0.9rem; margin-top: 0.25rem; }}
footer {{ margin-top: 3rem; border-top: 1px solid var(--line); color: var(--faint); font-size: 0.9rem; }}
@media (max-width: 40rem) {{
  body {{ padding: 0.5rem 0.75rem 3rem; }}
  .pairs th, .pairs td {{ display: block; width: auto; }}
  .pairs td {{ padding-top: 0; }}
}}
@media print {{
  body {{ max-width: none; padding: 0; font-size: 10pt; }}
  nav {{ display: none; }}
  h2, h3, h4, caption {{ break-after: avoid; }}
  .figures {{ grid-template-columns: 1fr 1fr; }}
  figure, tr {{ break-inside: avoid; }}
  pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
  .scroll, .scroll .discrim-summary, .scroll .discrim-summary div {{ overflow: visible !important; }}
  .scroll details::details-content {{ content-visibility: visible; }}
  table {{ font-size: 7.5pt !important; max-width: 100%; }}
  .scroll .discrim-summary table tr > th,
  .scroll .discrim-summary table tr > td {{ padding: 0.1rem 0.3rem !important; }}
  .scroll .discrim-summary table thead tr > th {{ white-space: normal !important; overflow-wrap: anywhere; }}
}}
"""


POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""What a browser may do for the page: use the styles and the images that are in it."""

RUNS = "; script-src 'unsafe-inline' 'unsafe-eval'"
"""The same of scripts that are in it, which may ask no server for anything either."""


class Chapter(NamedTuple):
    """A part of a page with a heading of its own: its name in links, its title, and its body as HTML."""

    name: str
    title: str
    body: str


def page_of(
    title: str, lines: Sequence[str], chapters: Sequence[Chapter], foot: str, script: str = ""
) -> str:
    """A page of HTML: title and lines stand above the chapters, the foot below them.

    A script, where there is one, runs before them.

    Examples
    --------
    >>> text = page_of("A & B", [], [Chapter("first", "First", paragraph("1 < 2"))], "The end.")
    >>> "<title>A &amp; B</title>" in text, "<p>1 &lt; 2</p>" in text
    (True, True)
    """
    links = "\n".join(f'<li><a href="#{each.name}">{_text(each.title)}</a></li>' for each in chapters)
    body = "\n".join(
        f'<section aria-labelledby="{each.name}">\n<h2 id="{each.name}">{_text(each.title)}</h2>\n'
        f"{each.body}\n</section>"
        for each in chapters
    )
    above = "\n".join(paragraph(each) for each in lines if each)
    # The empty icon keeps browsers from asking a server for one.
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}{RUNS if script else ""}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="discrim">
<link rel="icon" href="data:,">
<title>{_text(title)}</title>
<style>{STYLE}</style>{f"<script>{script}</script>" if script else ""}
</head>
<body>
<header>
<h1>{_text(title)}</h1>
{above}
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


def sections_html(title: str, sections: Mapping[str, Section]) -> str:
    """Sections of a summary as HTML, in a frame of its own that the keyboard reaches: they may be wide."""
    body = Summary(title, sections).as_html()
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(title)}">\n{body}\n</div>'


def pair_lines(items: Iterable[tuple[str, str]]) -> str:
    """Names with texts, one pair a line."""
    rows = "\n".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{_text(text)}</td></tr>' for name, text in items
    )
    return f'<table class="pairs">\n<tbody>\n{rows}\n</tbody>\n</table>'


def folded(title: str, bodies: Sequence[str]) -> str:
    """What is shown where it is asked for; nothing where there is none."""
    if not bodies:
        return ""
    body = "\n".join(bodies)
    return f"<details>\n<summary>{_text(title)}</summary>\n{body}\n</details>"


def code_block(text: str) -> str:
    """Lines of a program."""
    lines = "\n".join(html.escape(clean(line)) for line in text.split("\n"))
    return f'<pre tabindex="0"><code>{lines}</code></pre>'


def figure(image: Image, alt: str, caption: str, code: str) -> str:
    """A picture, what it shows and what draws it, in the colours that the reader prefers; in print by day."""
    # A browser does not choose among the sources of one image anew for print: both are there, one is shown.
    times = (("day", image.light), ("night", image.dark)) if image.dark else (("both", image.light),)
    shape = f'width="{image.width}" height="{image.height}"'
    images = [
        source.replace("<svg", f'<svg class="{time}" role="img" aria-label="{_text(alt)}"', 1)
        if source.startswith("<svg")
        else f'<img class="{time}" src="{source}" {shape} alt="{_text(alt)}">'
        for time, source in times
    ]
    return captioned("\n".join(images), caption, code)


def captioned(body: str, caption: str, code: str, kind: str = "") -> str:
    """A picture as HTML, "live" where it has a script of its own, with what it shows and what draws it."""
    told = f"<figcaption>{_text(caption)}<br><code>{_text(code)}</code></figcaption>"
    start = f'<figure class="{kind}">' if kind else "<figure>"
    return f"{start}\n{body}\n{told}\n</figure>"


def figures(bodies: Iterable[str]) -> str:
    """Pictures beside each other, where the page has room."""
    return '<div class="figures">\n' + "\n".join(bodies) + "\n</div>"
