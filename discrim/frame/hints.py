"""What somebody probably meant who wrote what the language of formulas has not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

__all__ = ["meant_function", "meant_text"]

OF_R = {
    **dict.fromkeys(["as.factor", "factor", "as.character", "ordered"], "write C(x) for categories"),
    **dict.fromkeys(
        ["ns", "rcs", "s", "lo"], "write bs(x, df=4) or cr(x, df=4, constraints='center') for a spline"
    ),
    **dict.fromkeys(["cut", "findInterval"], "cut the column before the fit, with pd.cut, and write C(x)"),
    **dict.fromkeys(["as.numeric", "as.integer"], "convert the column before the fit, with pd.to_numeric"),
    "ln": "write log(x)",
    "relevel": "write C(x, Treatment('a')), which names the level to compare with",
    "interaction": "write C(a):C(b)",
    "ifelse": "compute the column before the fit, with numpy.where",
    "pow": "write I(x**2)",
    "offset": "leave it out, as a classifier has none",
}
"""What the language has in the place of functions that people know from R and elsewhere."""

_CALLED = re.compile(r"([^\W\d][\w.]*\.\w+)\s*\(")
_DOTTED = re.compile(r"[^\W\d]\w*\.[\w.]*")


def meant_function(name: str, known: Sequence[str]) -> str:
    """The function of the language in the place of one that is not known, as a sentence, or nothing."""
    if name in OF_R:
        return f" In the place of {name}(), {OF_R[name]}."
    near = get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}()?" if near else ""


def meant_text(text: str) -> str:
    """The way out of a factor that is no expression: R's functions, and names that end in a dot."""
    called = _CALLED.search(text)
    if called is not None and called[1] in OF_R:
        return meant_function(called[1], ()).strip()
    dotted = _DOTTED.search(text)
    if dotted is not None and called is None:
        return f"Put a name with dots in backticks, `{dotted[0]}`."
    return "Correct it, or put a column's unusual name in backticks."
