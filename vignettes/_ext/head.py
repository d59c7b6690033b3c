"""Metadata of pages for search engines and link previews: title, description and picture."""

from __future__ import annotations

import re
from html import escape
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx

MAX_LENGTH = 200
"""Approximate number of characters of a description that search engines show."""


def page_description(tree: nodes.document) -> str:
    """Return the first sentences of a page up to the maximum length, or the beginning of the first one."""
    paragraphs = (" ".join(each.astext().split()) for each in tree.findall(nodes.paragraph))
    text = next((text for text in paragraphs if len(text) > MAX_LENGTH / 4), "")
    if len(text) <= MAX_LENGTH:
        return text
    sentences = re.match(rf".{{{MAX_LENGTH // 4},{MAX_LENGTH - 1}}}[.?!](?= )", text)
    cut = text[:MAX_LENGTH].rpartition(" ")[0].rstrip(",;:")
    return sentences[0] if sentences else f"{cut} \N{HORIZONTAL ELLIPSIS}"


def add_meta_tags(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Add a page's metadata to its head, with absolute addresses if the address of the site is known."""
    text = page_description(tree) if tree is not None else ""
    title = re.sub("<[^>]*>", "", context.get("title", app.config.html_title))
    picture = f"_static/{app.config.social_picture}"
    address = app.config.html_baseurl
    properties = {
        "og:type": "website" if page == app.config.root_doc else "article",
        "og:site_name": app.config.project,
        "og:title": title,
        "og:description": text,
        "og:image": urljoin(address, picture) if address else context["pathto"](picture, 1),
        "og:image:alt": app.config.social_alt,
        "og:url": urljoin(address, f"{page}.html") if address else "",
    }
    tags = [
        f'<meta property="{name}" content="{escape(value)}"/>' for name, value in properties.items() if value
    ]
    tags += [f'<meta name="description" content="{escape(text)}"/>'] if text else []
    tags += ['<meta name="twitter:card" content="summary_large_image"/>']
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the metadata to the templates of pages."""
    app.add_config_value("social_picture", "", "html")
    app.add_config_value("social_alt", "", "html")
    app.connect("html-page-context", add_meta_tags)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
