"""Tables with their labels, as great_tables takes them: a DataFrame whose first column names the rows."""

from __future__ import annotations

import html

import pytest

import discrim
from discrim.datasets import load_iris

IRIS = load_iris()
TABLES = {
    "summary": lambda fit: fit.summary().tables,
    "errors": lambda fit: {"rates": fit.error_rates(), "confusion": fit.confusion("loo")},
    "rows": lambda fit: {"casewise": fit.casewise().head(), "loo": fit.casewise("loo").tail(3)},
    "broom": lambda fit: {"tidy": fit.tidy(), "glance": fit.glance()},
}


@pytest.mark.parametrize("which", TABLES)
def test_each_table_is_shown_with_its_labels_and_numbers(which):
    great = pytest.importorskip("great_tables", reason="great_tables is not installed")
    for table in TABLES[which](discrim.lda("species ~ petal_length + petal_width", IRIS)).values():
        flat = table.reset_index()
        flat.columns = [str(column) for column in flat.columns]
        shown_text = html.unescape(great.GT(flat, rowname_col=flat.columns[0]).as_raw_html())
        texts = [*flat.columns[1:], *table.index.get_level_values(0)]
        texts += [str(value) for name in flat for value in flat[name] if isinstance(value, float)]
        assert [text for text in texts if f">{text}<" not in shown_text and text != "nan"] == []
