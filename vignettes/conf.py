"""Configuration of Sphinx and MyST-NB, which run the cells of the book and build the site (`make book`)."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

import discrim

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "discrim"
version = release = discrim.__version__ if hasattr(discrim, "__version__") else ""
extensions = [
    "myst_nb",
    "answers",
    "course",
    "head",
    "mathml",
    "notebooks",
    "pictures",
    "reference",
    "topics",
]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = os.environ.get("BOOK_EXECUTION", "force")
# A page that fails or exceeds the time limit causes a warning that names it. With -W the warning becomes an
# error of the build after all other pages are written.
nb_execution_raise_on_error = False
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_code_prompt_show, nb_code_prompt_hide = "Show the code", "Hide the code"
# Pages are executed in parallel, so each process uses one BLAS thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Progress bars are not shown on pages.
os.environ["TQDM_DISABLE"] = "1"
# Warnings refer to the line of code, and not to a file on the machine that executed it.
os.environ["IPYKERNEL_CELL_NAME"] = "cell"
exclude_patterns = ["_*", "data", "notebooks"]

toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 80
default_role = "py:obj"
# Attributes that exist in several classes, such as `llf`, are not linked.
suppress_warnings = ["ref.python"]

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "discrim"
# The font for formulas is included, because few machines have one and pages load nothing from other hosts.
html_static_path = ["_static", str(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf")]
# The script of interactive figures is included as well.
html_static_path.append(str(files("plotly") / "package_data" / "plotly.min.js"))
os.environ["BOOK_PLOTLY"] = "_static/plotly.min.js"
html_css_files = ["book.css"]
html_js_files = ["book.js"]
html_favicon = "_static/logo.svg"
html_search_scorer = str(Path(__file__).parent / "_ext" / "scorer.js")
templates_path = ["_templates"]
html_additional_pages = {"404": "404.html"}
html_show_sourcelink = html_show_sphinx = False
html_sidebars = {"**": ["course"]}
# Addresses of the site, of its source and of the version that runs in a browser. External links need absolute
# addresses.
html_baseurl = os.environ.get("BOOK_ADDRESS", "")
repository = os.environ.get("BOOK_REPOSITORY", "").rstrip("/")
lite = os.environ.get("BOOK_LITE", "").rstrip("/")
social_picture = "card.png"
social_alt = "Discriminant scores of wines of three cultivars, and the code that plots them"
html_theme_options = {
    "logo": {"text": "discrim", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "icon_links": [{"name": "Source", "url": repository, "icon": "fa-solid fa-code"}] if repository else [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "search_bar_text": "Search",
    "article_header_end": ["notebook"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["about"],
    "footer_end": [],
    "navbar_center": ["top"],
}
