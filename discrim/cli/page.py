"""A summary as a whole page of HTML, light or dark as its reader's system is."""

from __future__ import annotations

import html

__all__ = ["page"]

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 72rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.45 system-ui, sans-serif;
  background: Canvas; color: CanvasText; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def page(title: str, body: str) -> str:
    """A page of a title, as text, and a body, as HTML.

    Examples
    --------
    >>> page("a < b", "<p>c</p>").splitlines()[6]
    '<title>a &lt; b</title>'
    """
    return _PAGE.format(title=html.escape(title), body=body)
