"""A page of HTML: its colours, and what it makes of texts."""

from __future__ import annotations

import pytest

from discrim.report.page.page import Chapter, HtmlPage
from discrim.report.plots.points import DARK, LIGHT


def contrast(a: str, b: str) -> float:
    """Of two colours, as the Web Content Accessibility Guidelines 2.2 define it."""

    def luminance(colour: str) -> float:
        channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_texts_have_sufficient_contrast_with_the_paper(colours):
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for paper in (colours.paper, colours.panel):
        assert contrast(colours.ink, paper) > 12
        assert contrast(colours.faint, paper) > 7
    assert contrast(colours.link, colours.paper) > 7


def test_all_texts_are_escaped():
    text = "</title><b>\"'&\x00\u202e"
    escaped_title = "&lt;/title&gt;&lt;b&gt;&quot;&#x27;&amp;\\x00\\u202e"
    made = HtmlPage()
    bodies = [
        made.paragraph(text),
        made.pair_lines([(text, text)]),
        made.code_block(f"{text}\n{text}"),
        made.collapsible(text, [made.paragraph(text)]),
    ]
    page = made.assemble(text, [text], [Chapter("one", text, "\n".join(bodies))], text)
    assert "<b>" not in page
    # Title, heading, line, link, heading of the chapter, foot; and the bodies.
    assert page.count(escaped_title) == 6 + 1 + 2 + 2 + 2
    assert made.collapsible("None", []) == ""
