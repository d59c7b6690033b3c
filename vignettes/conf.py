"""How Sphinx and MyST-NB execute the pages of the book and set them as HTML: see `make book`."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

import discrim

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "discrim"
version = release = discrim.__version__ if hasattr(discrim, "__version__") else ""
extensions = ["myst_nb", "course", "head", "mathml", "notebooks", "pictures", "reference"]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = os.environ.get("BOOK_EXECUTION", "force")
# A page that fails or runs out of time is a warning that names it, which -W makes an error of the build when
# the other pages are written.
nb_execution_raise_on_error = False
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_code_prompt_show, nb_code_prompt_hide = "Show the code", "Hide the code"
# Pages are executed side by side, so that a product of matrices has one core: threads would wait for others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A bar that counts what is done belongs on a screen, not on a page.
os.environ["TQDM_DISABLE"] = "1"
# A warning names the line that it is about, and not a file of the machine that executed it.
os.environ["IPYKERNEL_CELL_NAME"] = "cell"
exclude_patterns = ["_*", "data"]

toc_object_entries = False
default_role = "py:obj"
# Numbers that several fits have under one name, as `llf`, are no link.
suppress_warnings = ["ref.python"]

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "discrim"
# The font that browsers set formulas with: few machines have one, and a page asks no other host for it.
html_static_path = ["_static", str(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf")]
# Interactive figures take their script from here, and their pages say so.
html_static_path.append(str(files("plotly") / "package_data" / "plotly.min.js"))
os.environ["BOOK_PLOTLY"] = "_static/plotly.min.js"
html_css_files = ["book.css"]
html_js_files = ["book.js"]
html_favicon = "_static/logo.svg"
templates_path = ["_templates"]
html_additional_pages = {"404": "404.html"}
html_show_sourcelink = html_show_sphinx = False
html_sidebars = {"**": ["course"]}
# Where the site stands, where its source does and where its pages run in a browser, for who knows: links from
# elsewhere need whole addresses.
html_baseurl = os.environ.get("BOOK_ADDRESS", "")
repository = os.environ.get("BOOK_REPOSITORY", "").rstrip("/")
lite = os.environ.get("BOOK_LITE", "").rstrip("/")
social_picture = "card.png"
social_alt = "Discriminant scores of wines of three cultivars beside the lines that draw them"
html_theme_options = {
    "logo": {"text": "discrim", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "icon_links": [{"name": "Source", "url": repository, "icon": "fa-solid fa-code"}] if repository else [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "search_bar_text": "Search",
    "article_header_end": ["notebook"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": [],
    "footer_end": [],
    "navbar_center": ["top"],
}
