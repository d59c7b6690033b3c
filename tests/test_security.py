"""Links to SECURITY.md, and the names that it mentions."""

from __future__ import annotations

import re

import pytest

import discrim
from discrim.cli.verbs import build_parser


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_security_page_is_linked(root, page):
    assert "](SECURITY.md)" in (root / page).read_text(encoding="utf-8")


def test_names_on_the_security_pages_exist(root):
    pages = [root / "SECURITY.md", root / "vignettes" / "files-and-privacy.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    names = set(re.findall(r"`([^`\n]+)`", text))
    options = build_parser().parse_args(["lda", "y ~ x", "iris", "--save", "f", "--force"])
    assert {"--save", "--force"} <= names
    assert options.force
    for path in {name for name in names if name.endswith("/")}:
        assert (root / path).is_dir()
    for name in ("save", "load", "knn", "naive_bayes", "bayes"):
        assert name in names
        assert name == "save" or callable(getattr(discrim, name))
    assert "discrim.errors" in names
    assert "python -m pytest tests/fuzz --fuzz-minutes 60" in names


def test_loading_a_fit_requires_the_functions_of_its_formula(tmp_path):
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
