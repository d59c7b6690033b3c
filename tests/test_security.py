"""SECURITY.md can be found, and what it names is there."""

from __future__ import annotations

import re

import pytest

import discrim
from discrim.cli.verbs import build_parser


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_page_is_linked(root, page):
    assert "](SECURITY.md)" in (root / page).read_text(encoding="utf-8")


def test_what_the_page_names_is_there(root):
    page = (root / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`\n]+)`", page))
    options = build_parser().parse_args(["lda", "y ~ x", "iris", "--save", "f", "--force"])
    assert {"--save", "--force"} <= named
    assert options.force
    for path in {name for name in named if name.endswith("/")}:
        assert (root / path).is_dir()
    for name in ("save", "load", "knn", "naive_bayes", "bayes"):
        assert name in named
        assert name == "save" or callable(getattr(discrim, name))
    assert "discrim.errors" in named
    assert "python -m pytest tests/fuzz --fuzz-minutes 60" in named


def test_a_fit_of_a_file_is_asked_for_its_functions(tmp_path):
    iris = discrim.datasets.load_iris()
    ran = []

    def double(x):
        ran.append(len(x))
        return 2 * x

    path = tmp_path / "a.fit"
    discrim.lda("species ~ f(petal_length)", iris, functions={"f": double}).save(path)
    ran.clear()
    with pytest.raises(discrim.errors.DataError) as caught:
        discrim.load(path)
    assert "functions=" in str(caught.value)
    fit = discrim.load(path, functions={"f": double})
    assert ran == []
    assert fit.predict(iris.head(1)).tolist() == ["setosa"]
    assert ran
