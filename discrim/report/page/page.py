"""Reports as HTML, Markdown or Word: `HtmlPage`, `MarkdownPage` and `WordPage` have the same methods.

HTML is self-contained and runs no scripts, unless it has interactive plots. Its style supports screens of any
width, light and dark mode, and print. Markdown, also for Quarto, stores its pictures in a folder next to the
file. A Word document is a package of XML (ECMA-376), written directly: headings are in the outline, the first
row of a table is repeated on each page, and pictures have alternative text. `models/report/` fills the pages.
"""

from __future__ import annotations

import html
import json
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from discrim.core.numerics.atomic_write import atomic_write
from discrim.errors import unwritable
from discrim.report.grid import Grid, Section, SummarySection, clean, display_width, grid_of, heading
from discrim.report.markdown import escape, escape_paragraph, pipe_table, section_markdown
from discrim.report.plots.points import DARK, LIGHT, Colours, image_of, png_of, preview_of
from discrim.report.plots.style import DPI
from discrim.report.tables import Summary
from discrim.report.text import column_ranges

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes


def _css_variables(colours: Colours) -> str:
    """Return the colours of a page as declarations of CSS variables, such as "--ink: #1b1e23;"."""
    return " ".join(f"--{name}: {value};" for name, value in colours._asdict().items())


# Style sheet of an HTML page.
STYLE = f"""
:root {{ color-scheme: light dark; {_css_variables(LIGHT)} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_css_variables(DARK)} }} }}
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
"""Content security policy of a page: only its own styles and images."""

SCRIPT_POLICY = "; script-src 'unsafe-inline' 'unsafe-eval'"
"""Addition to the policy for pages with inline scripts, which cannot contact a server either."""


class Chapter(NamedTuple):
    """A chapter of a page.

    Attributes
    ----------
    name : str
        Id of its heading, to which links refer in HTML; unique in the page.
    title : str
        Title in plain text.
    body : str
        Body in the format of the page, which is inserted as it is.
    """

    name: str
    title: str
    body: str


class Drawing(NamedTuple):
    """A picture of a page.

    Attributes
    ----------
    name : str
        Name of its file without extension, unique in the page.
    number : int
        Number, unique in the page, for ids in HTML.
    draw : callable
        Function without arguments that draws on new axes and returns them.
    tooltips : sequence of str
        Tooltips of the rows in HTML, which only `HtmlPage` uses; see `image_of`.
    alt : str
        Alternative text, plain.
    caption : str
        Plain text below the picture, which `MarkdownPage` leaves out.
    code : str
        Python code that draws it, which is shown below the caption.
    """

    name: str
    number: int
    draw: Callable[[], Axes]
    tooltips: Sequence[str]
    alt: str
    caption: str
    code: str


# The empty icon keeps browsers from requesting one from a server.
_HTML = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="discrim">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>{script}
</head>
<body>
<header>
<h1>{title}</h1>
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
<p>{foot}</p>
</footer>
</body>
</html>
"""


class HtmlPage:
    """HTML page; its `script`, if any, runs before its chapters.

    Examples
    --------
    >>> page = HtmlPage()
    >>> text = page.assemble("A & B", [], [Chapter("first", "First", page.paragraph("1 < 2"))], "The end.")
    >>> "<title>A &amp; B</title>" in text, "<p>1 &lt; 2</p>" in text
    (True, True)
    """

    script = ""
    """JavaScript of the page, which is inserted as it is; empty for none."""

    def assemble(self, title: str, lines: Sequence[str], chapters: Sequence[Chapter], foot: str) -> str:
        """Assemble the page.

        Parameters
        ----------
        title : str
            Title in plain text.
        lines : sequence of str
            Paragraphs above the chapters, in plain text; empty ones are left out.
        chapters : sequence of Chapter
        foot : str
            Paragraph below the chapters, in plain text.

        Returns
        -------
        str
            Content of the file, for `save`.
        """
        links = "\n".join(
            f'<li><a href="#{chapter.name}">{_escape(chapter.title)}</a></li>' for chapter in chapters
        )
        body = "\n".join(
            f'<section aria-labelledby="{chapter.name}">\n'
            f'<h2 id="{chapter.name}">{_escape(chapter.title)}</h2>\n'
            f"{chapter.body}\n</section>"
            for chapter in chapters
        )
        return _HTML.format(
            policy=POLICY + (SCRIPT_POLICY if self.script else ""),
            title=_escape(title),
            style=STYLE,
            script=f"<script>{self.script}</script>" if self.script else "",
            above="\n".join(self.paragraph(line) for line in lines if line),
            links=links,
            body=body,
            foot=_escape(foot),
        )

    def save(self, path: Path, text: str) -> None:
        """Write the page, the `text` that `assemble` has returned, to a file; an existing one is replaced."""
        with atomic_write(path) as file:
            file.write(text.encode("utf-8"))

    def paragraph(self, text: str, css_class: str = "") -> str:
        """Format plain text as a paragraph, escaped, with a CSS class such as "note"."""
        return f'<p class="{css_class}">{_escape(text)}</p>' if css_class else f"<p>{_escape(text)}</p>"

    def sections(self, title: str, sections: Mapping[str, Section]) -> str:
        """Format the sections of a summary, in a scrollable frame that the keyboard can reach.

        `title` is plain text for screen readers; it is not visible.
        """
        body = Summary(title, sections).as_html()
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{_escape(title)}">\n{body}\n</div>'
        )

    def pair_lines(self, items: Iterable[tuple[str, str]]) -> str:
        """Format pairs of name and value, in plain text, as a table with a row for each pair."""
        rows = "\n".join(
            f'<tr><th scope="row">{_escape(name)}</th><td>{_escape(text)}</td></tr>' for name, text in items
        )
        return f'<table class="pairs">\n<tbody>\n{rows}\n</tbody>\n</table>'

    def collapsible(self, title: str, bodies: Sequence[str]) -> str:
        """Format blocks of HTML under a title that shows and hides them on click; "" without blocks.

        The title is plain text; the blocks are inserted as they are.
        """
        body = "\n".join(bodies)
        return f"<details>\n<summary>{_escape(title)}</summary>\n{body}\n</details>" if bodies else ""

    def code_block(self, text: str) -> str:
        """Format Python code, in plain text, as a block of code."""
        lines = "\n".join(html.escape(clean(line)) for line in text.split("\n"))
        return f'<pre tabindex="0"><code>{lines}</code></pre>'

    def picture(self, drawing: Drawing) -> str:
        """Draw a picture, and format it with its caption and code as HTML.

        It has a light and a dark version, chosen by CSS; the light one is printed.
        """
        image = image_of(drawing.draw, f"g{drawing.number}", drawing.tooltips)
        # Browsers do not choose again among the sources of an image for print, hence both images with CSS.
        images_by_mode = (
            (("day", image.light), ("night", image.dark)) if image.dark else (("both", image.light),)
        )
        shape = f'width="{image.width}" height="{image.height}"'
        images = [
            source.replace("<svg", f'<svg class="{mode}" role="img" aria-label="{_escape(drawing.alt)}"', 1)
            if source.startswith("<svg")
            else f'<img class="{mode}" src="{source}" {shape} alt="{_escape(drawing.alt)}">'
            for mode, source in images_by_mode
        ]
        return self.captioned("\n".join(images), drawing.caption, drawing.code)

    def captioned(self, body: str, caption: str, code: str, css_class: str = "") -> str:
        """Format a picture with its caption and code.

        Parameters
        ----------
        body : str
            The picture in HTML, which is inserted as it is.
        caption, code : str
            Plain texts.
        css_class : str
            CSS class of the figure, "live" for an interactive plot; empty for none.

        Returns
        -------
        str
        """
        figure_caption = f"<figcaption>{_escape(caption)}<br><code>{_escape(code)}</code></figcaption>"
        start = f'<figure class="{css_class}">' if css_class else "<figure>"
        return f"{start}\n{body}\n{figure_caption}\n</figure>"

    def figures(self, bodies: Iterable[str]) -> str:
        """Arrange formatted pictures, the results of `picture` or `captioned`, side by side if they fit."""
        return '<div class="figures">\n' + "\n".join(bodies) + "\n</div>"


def preview(draw: Callable[[], Axes], alt: str) -> str:
    """Draw a picture, and format it as HTML for a cell of a notebook, with an alternative text, plain.

    `draw` is a function without arguments that draws on new axes and returns them.
    """
    return f'<img src="{preview_of(draw)}" alt="{_escape(alt)}">'


def _escape(text: str) -> str:
    """Escape a text for HTML and XML; control characters become escapes, see `clean`."""
    return html.escape(clean(text))


class MarkdownPage:
    """Markdown or Quarto page, with pictures in a folder next to the file.

    The folder has the name of the file with "_pictures" instead of the extension. Only the extension ".qmd"
    makes a Quarto page. Pictures are kept in memory until `save` is called.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.with_name(f"{path.stem}_pictures")
        self._is_quarto = path.suffix.lower() == ".qmd"
        self._pictures: dict[str, bytes] = {}

    def assemble(self, title: str, lines: Sequence[str], chapters: Sequence[Chapter], foot: str) -> str:
        """Assemble the page; see `HtmlPage.assemble`. The names of the chapters are ignored."""
        # A JSON string is valid YAML.
        yaml_title = json.dumps(clean(title), ensure_ascii=False)
        blocks = [f"---\ntitle: {yaml_title}\n---\n" if self._is_quarto else f"# {escape(clean(title))}\n"]
        blocks += [self.paragraph(line) for line in lines if line]
        blocks += [f"## {escape(chapter.title)}\n\n{chapter.body}" for chapter in chapters]
        return "\n".join([*blocks, self.paragraph(foot)])

    def save(self, path: Path, text: str) -> None:
        """Write the pictures to their folder, and the `text` that `assemble` has returned to a file.

        The folder is created if necessary; an UnwritableFileError is raised if this is impossible.
        """
        if self._pictures:
            try:
                self._folder.mkdir(exist_ok=True)
            except OSError as error:
                raise unwritable(error, str(self._folder)) from error
        for name, png in self._pictures.items():
            with atomic_write(self._folder / name) as file:
                file.write(png)
        with atomic_write(path) as file:
            file.write(text.encode("utf-8"))

    def paragraph(self, text: str, css_class: str = "") -> str:
        """Format plain text as a paragraph, escaped; `css_class` is ignored."""
        return f"{escape_paragraph(clean(text))}\n"

    def sections(self, title: str, sections: Mapping[str, SummarySection]) -> str:
        """Format the sections of a summary; its title is ignored."""
        return "".join(f"{section_markdown(section)}\n\n" for section in sections.values())

    def pair_lines(self, items: Iterable[tuple[str, str]]) -> str:
        """Format pairs of name and value, in plain text, as a table with a row for each pair."""
        return (
            pipe_table([["", ""], *([escape(clean(text)) for text in pair] for pair in items)], "ll") + "\n"
        )

    def collapsible(self, title: str, bodies: Sequence[str]) -> str:
        """Format blocks of Markdown at the end of a chapter under a title; "" without blocks.

        The title is plain text; the blocks are always visible.
        """
        return "\n".join([f"### {escape(title)}\n", *bodies]) if bodies else ""

    def code_block(self, text: str) -> str:
        """Format Python code, in plain text, as a block of code."""
        lines = "\n".join(map(clean, text.split("\n")))
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", lines)), default=0))
        return f"{fence}python\n{lines}\n{fence}\n"

    def picture(self, drawing: Drawing) -> str:
        """Draw a picture, which `save` writes to a file, and format a link to it with its code.

        The caption is left out; the alternative text describes the picture.
        """
        self._pictures[f"{drawing.name}.png"] = png_of(drawing.draw)
        path = f"{quote(self._folder.name)}/{quote(drawing.name)}.png"
        return f"![{escape(clean(drawing.alt))}]({path})\n\n{self.code_block(drawing.code)}"

    def figures(self, bodies: Iterable[str]) -> str:
        """Join formatted pictures, the results of `picture`, below each other."""
        return "\n".join(bodies)


TWIPS_PER_INCH = 1440
EMUS_PER_INCH = 914_400
"""Word's units per inch: twips for lengths, EMUs for pictures."""

TEXT_WIDTH = 9638
MAX_PICTURE_HEIGHT = 13_500
CHARACTER_WIDTH = 92
PAGE_MARGIN = 1134
"""Sizes on an A4 page in twips: width of text, largest height of a picture, width of a character, margins."""

# Namespaces of XML.
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def _word_style(name: str, size: int, spacing: str = 'w:after="100"', run: str = "", level: int = 0) -> str:
    """Return the XML of a paragraph style of Word.

    Parameters
    ----------
    name : str
        Name of the style; its id is the name in title case without blanks, such as "Heading1".
    size : int
        Font size in half points.
    spacing : str
        Attributes of the spacing element.
    run : str
        Properties of the text in XML.
    level : int
        Level of a heading in the outline from 1, 0 for other text.

    Returns
    -------
    str
    """
    first = ' w:default="1"' if name == "Normal" else ""
    before, after = ("<w:keepNext/>", f'<w:outlineLvl w:val="{level - 1}"/>') if level else ("", "")
    return (
        f'<w:style w:type="paragraph"{first} w:styleId="{name.title().replace(" ", "")}"><w:name '
        f'w:val="{name}"/><w:qFormat/><w:pPr>{before}<w:spacing {spacing}/>{after}</w:pPr>'
        f'<w:rPr>{run}<w:sz w:val="{size}"/></w:rPr></w:style>'
    )


# Properties of fonts, rules and headings, and the style sheet of a Word document, in XML.
_FONTS = '<w:rFonts w:ascii="{0}" w:hAnsi="{0}" w:cs="{0}"/>'
_RULE = 'w:val="single" w:sz="6" w:space="0" w:color="808080"'
_HEADING_SPACING = 'w:before="240" w:after="80"'
_STYLES = "".join(
    [
        f'{_XML}<w:styles xmlns:w="{_WORD}"><w:docDefaults><w:rPrDefault><w:rPr>{_FONTS.format("Calibri")}'
        '<w:lang w:val="en-US"/></w:rPr></w:rPrDefault></w:docDefaults>',
        _word_style("Normal", 21),
        _word_style("Title", 40, run="<w:b/>"),
        _word_style("heading 1", 30, _HEADING_SPACING, "<w:b/>", 1),
        _word_style("heading 2", 24, _HEADING_SPACING, "<w:b/>", 2),
        _word_style("Note", 18, run='<w:color w:val="595959"/>'),
        _word_style("Cell", 16, 'w:after="0"'),
        _word_style("Code", 17, run=_FONTS.format("Consolas")),
        '<w:style w:type="table" w:styleId="Lines"><w:name w:val="Lines"/><w:tblPr><w:tblBorders>'
        f"<w:top {_RULE}/><w:bottom {_RULE}/></w:tblBorders></w:tblPr>"
        '<w:tblStylePr w:type="firstRow"><w:rPr><w:b/></w:rPr><w:tcPr><w:tcBorders>'
        f"<w:bottom {_RULE}/></w:tcBorders></w:tcPr></w:tblStylePr></w:style></w:styles>",
    ]
)


def _word_run(text: str) -> str:
    """Return the XML of a plain text as a run of Word, the element of a paragraph."""
    return f'<w:r><w:t xml:space="preserve">{_escape(text)}</w:t></w:r>'


def _word_paragraph(runs: str, style: str = "", properties: str = "") -> str:
    """Return the XML of a paragraph of Word from its runs, the id of its style and its other properties.

    `runs` and `properties` are XML; without a `style` the paragraph has the style Normal.
    """
    style_element = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{style_element}{properties}</w:pPr>{runs}</w:p>"


# Word would merge consecutive tables without a paragraph between them.
_EMPTY_PARAGRAPH = _word_paragraph("", "Cell")


def _word_table(lines: Sequence[Sequence[str]], aligns: str, widths: Sequence[int], *, header: bool) -> str:
    """Return the XML of a table of Word and an empty paragraph.

    Parameters
    ----------
    lines : sequence of sequences of str
        Plain texts of the cells by row.
    aligns : str
        "l" or "r" for each column.
    widths : sequence of int
        Widths of the columns in twips.
    header : bool
        Whether the first row is a header, which is repeated on each page.

    Returns
    -------
    str
    """
    rows = []
    for i, line in enumerate(lines):
        repeated = "<w:tblHeader/>" if header and i == 0 else ""
        cells = [
            f'<w:tc><w:tcPr><w:tcW w:w="{wide}" w:type="dxa"/></w:tcPr>'
            + _word_paragraph(_word_run(text), "Cell", '<w:jc w:val="right"/>' if align == "r" else "")
            + "</w:tc>"
            for text, align, wide in zip(line, aligns, widths, strict=True)
        ]
        rows.append(f"<w:tr><w:trPr><w:cantSplit/>{repeated}</w:trPr>{''.join(cells)}</w:tr>")
    columns = "".join(f'<w:gridCol w:w="{wide}"/>' for wide in widths)
    first = int(header)
    return (
        f'<w:tbl><w:tblPr><w:tblStyle w:val="Lines"/><w:tblW w:w="{sum(widths)}" w:type="dxa"/>'
        '<w:tblLayout w:type="fixed"/><w:tblCellMar><w:left w:w="70" w:type="dxa"/>'
        f'<w:right w:w="70" w:type="dxa"/></w:tblCellMar><w:tblLook w:val="06{2 * first}0" '
        f'w:firstRow="{first}" w:lastRow="0" w:firstColumn="0" w:lastColumn="0" w:noHBand="1" w:noVBand="1"/>'
        f"</w:tblPr><w:tblGrid>{columns}</w:tblGrid>{''.join(rows)}</w:tbl>{_EMPTY_PARAGRAPH}"
    )


def _word_tables(grid: Grid) -> str:
    """Return the XML of a grid as one or more tables of Word, at most as wide as the text of a page.

    The text of a grid without cells is empty.
    """
    # Blanks that align decimal points become figure spaces, which are as wide as a digit.
    cells = [[text.rstrip(" ").ljust(len(text), "\u2007") for text in line] for line in grid.cells]
    stubs = [stub.replace("  ", "\u2003", 1) if stub.startswith("  ") else stub for stub in grid.stubs]
    tables = []
    all_columns = [(0, len(cells[0]))] if cells else []
    for low, high in column_ranges(grid, TEXT_WIDTH // CHARACTER_WIDTH) if grid.headers else all_columns:
        lines = [["", *grid.headers[low:high]]] if grid.headers else []
        lines += [[stub, *line[low:high]] for stub, line in zip(stubs, cells, strict=True)]
        column_widths = [
            140 + CHARACTER_WIDTH * max(map(display_width, column)) for column in zip(*lines, strict=True)
        ]
        column_widths = [min(width, width * TEXT_WIDTH // sum(column_widths)) for width in column_widths]
        aligns = "l" + "".join(grid.aligns[j % len(grid.aligns)] for j in range(low, high))
        tables.append(_word_table(lines, aligns, column_widths, header=bool(grid.headers)))
    return "\n".join(tables)


class WordPage:
    """Word document with embedded pictures, which are kept in memory until `save` is called."""

    def __init__(self) -> None:
        self._pictures: list[bytes] = []

    def assemble(self, title: str, lines: Sequence[str], chapters: Sequence[Chapter], foot: str) -> str:
        """Assemble the main part of the document as XML, without its styles; see `HtmlPage.assemble`.

        The names of the chapters are ignored.
        """
        elements = [
            _word_paragraph(_word_run(title), "Title"),
            *(self.paragraph(line) for line in lines if line),
        ]
        for chapter in chapters:
            elements += [_word_paragraph(_word_run(chapter.title), "Heading1"), chapter.body]
        margins = " ".join(f'w:{side}="{PAGE_MARGIN}"' for side in ("top", "right", "bottom", "left"))
        elements += [
            self.paragraph(foot, "note"),
            '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/>'
            f'<w:pgMar {margins} w:header="567" w:footer="567" w:gutter="0"/></w:sectPr>',
        ]
        spaces = f'xmlns:w="{_WORD}" xmlns:r="{_OFFICE}" xmlns:wp="{_DRAWING}/wordprocessingDrawing"'
        spaces += f' xmlns:a="{_DRAWING}/main" xmlns:pic="{_DRAWING}/picture"'
        body = "\n".join(elements)
        return f"{_XML}<w:document {spaces}><w:body>{body}</w:body></w:document>"

    def save(self, path: Path, text: str) -> None:
        """Write the document to a file, with its styles and pictures; equal pages have equal bytes.

        Parameters
        ----------
        path : Path
            File to write.
        text : str
            XML of the main part of the document, which `assemble` has returned.
        """
        vendor = "application/vnd.openxmlformats-"
        types = f'<Default Extension="rels" ContentType="{vendor}package.relationships+xml"/>'
        types += '<Default Extension="png" ContentType="image/png"/>'
        for name, part_type in (("document", "document.main"), ("styles", "styles")):
            content = f"{vendor}officedocument.wordprocessingml.{part_type}+xml"
            types += f'<Override PartName="/word/{name}.xml" ContentType="{content}"/>'
        targets = {f"rId{i}": ("image", f"media/{i}.png") for i in range(1, len(self._pictures) + 1)}
        package_parts: dict[str, str | bytes] = {
            "[Content_Types].xml": f'{_XML}<Types xmlns="{_PACKAGE}/content-types">{types}</Types>',
            "_rels/.rels": _relationships_xml({"rId1": ("officeDocument", "word/document.xml")}),
            "word/document.xml": text,
            "word/styles.xml": _STYLES,
            "word/_rels/document.xml.rels": _relationships_xml(
                {"styles": ("styles", "styles.xml")} | targets
            ),
        }
        package_parts |= {f"word/media/{i}.png": png for i, png in enumerate(self._pictures, 1)}
        with atomic_write(path) as file, zipfile.ZipFile(file, "w") as package:
            for name, content_of_part in package_parts.items():
                package.writestr(zipfile.ZipInfo(name), content_of_part, zipfile.ZIP_DEFLATED)

    def paragraph(self, text: str, css_class: str = "") -> str:
        """Format plain text as a paragraph, escaped, in the style named by a CSS class such as "note".

        The id of the style is the capitalized class, one of those in `_STYLES`.
        """
        return _word_paragraph(_word_run(text), css_class.capitalize())

    def sections(self, title: str, sections: Mapping[str, SummarySection]) -> str:
        """Format the sections of a summary; its title is ignored."""
        elements = []
        for section in sections.values():
            grid = grid_of(section)
            elements += [_word_paragraph(_word_run(heading(section)), "Heading2"), _word_tables(grid)]
            elements += [self.paragraph(note, "note") for note in grid.notes]
        return "\n".join(elements)

    def pair_lines(self, items: Iterable[tuple[str, str]]) -> str:
        """Format pairs of name and value, in plain text, as a table with a row for each pair."""
        return _word_table(list(items), "ll", (TEXT_WIDTH // 4, TEXT_WIDTH - TEXT_WIDTH // 4), header=False)

    def collapsible(self, title: str, bodies: Sequence[str]) -> str:
        """Format blocks of XML at the end of a chapter under a title; "" without blocks.

        The title is plain text; the blocks are always visible.
        """
        return "\n".join([_word_paragraph(_word_run(title), "Heading2"), *bodies]) if bodies else ""

    def code_block(self, text: str) -> str:
        """Format Python code, in plain text, as a block of code."""
        return _word_paragraph("<w:r><w:br/></w:r>".join(map(_word_run, text.split("\n"))), "Code")

    def picture(self, drawing: Drawing) -> str:
        """Draw a picture, which `save` embeds, and format a reference to it with its caption and code."""
        png = png_of(drawing.draw)
        self._pictures.append(png)
        number, (width, height) = len(self._pictures), struct.unpack(">II", png[16:24])
        scale = min(
            EMUS_PER_INCH / DPI,
            TEXT_WIDTH / width * EMUS_PER_INCH / TWIPS_PER_INCH,
            MAX_PICTURE_HEIGHT / height * EMUS_PER_INCH / TWIPS_PER_INCH,
        )
        size = f'cx="{int(width * scale)}" cy="{int(height * scale)}"'
        name_attributes = f'id="{number}" name="{_escape(drawing.name)}"'
        image = (
            f"<w:r><w:drawing><wp:inline><wp:extent {size}/>"
            f'<wp:docPr {name_attributes} descr="{_escape(drawing.alt)}"/>'
            f'<a:graphic><a:graphicData uri="{_DRAWING}/picture">'
            f"<pic:pic><pic:nvPicPr><pic:cNvPr {name_attributes}/>"
            f'<pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:embed="rId{number}"/><a:stretch>'
            f'<a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext {size}/>'
            '</a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData>'
            "</a:graphic></wp:inline></w:drawing></w:r>"
        )
        paragraphs = (
            _word_paragraph(image, properties="<w:keepNext/>"),
            _word_paragraph(_word_run(drawing.caption), "Note", "<w:keepNext/>"),
        )
        return "\n".join([*paragraphs, self.code_block(drawing.code)])

    def figures(self, bodies: Iterable[str]) -> str:
        """Join formatted pictures, the results of `picture`, below each other."""
        return "\n".join(bodies)


def _relationships_xml(targets: Mapping[str, tuple[str, str]]) -> str:
    """Return the XML of the relationships of a part of a Word package: type and target by id."""
    lines = [
        f'<Relationship Id="{name}" Type="{_OFFICE}/{relation_type}" Target="{target}"/>'
        for name, (relation_type, target) in targets.items()
    ]
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{"".join(lines)}</Relationships>'


Page = HtmlPage | MarkdownPage | WordPage

PAGE_EXTENSIONS = (".html", ".htm", ".docx", ".md", ".qmd")
"""Extensions of files to which a page can be written; those from the fourth on are Markdown."""


def page_for(path: Path) -> Page:
    """Return an empty page in the format of the extension of a file; HTML if the extension is unknown."""
    suffix = path.suffix.lower()
    return (
        WordPage()
        if suffix == ".docx"
        else MarkdownPage(path)
        if suffix in PAGE_EXTENSIONS[3:]
        else HtmlPage()
    )
