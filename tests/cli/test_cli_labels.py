"""Labels on the command line: what a file says is kept as it is written there."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import cli
from discrim.cli.reading import label_columns_to_fit, read_table

BIG = 2**53
X = np.random.default_rng(0).normal(size=40) + np.repeat([0, 2], 20)


def written(tmp_path, labels, name="y", **columns):
    """A CSV of texts as they are, none of them quoted."""
    path = tmp_path / f"{name}.csv"
    rows = zip(labels, X.tolist(), *columns.values(), strict=True)
    lines = [",".join([name, "x", *columns]), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def predicted(capsys, *arguments):
    assert cli.main([*arguments]) == 0
    return pd.read_csv(io.StringIO(capsys.readouterr().out), dtype=str)


def halves(one, other):
    return [one] * 20 + [other] * 20


CLASSES = [
    (halves("007", "7"), ["007", "7"]),
    (halves("007", "008"), ["007", "008"]),
    (halves("1.0", "1"), ["1", "1.0"]),
    (halves("+1", "1"), ["+1", "1"]),
    (halves("0x1", "1"), ["0x1", "1"]),
    (halves("1e3", "1000"), ["1000", "1e3"]),
    (halves("-0", "0"), ["-0", "0"]),
    (halves("true", "TRUE"), ["TRUE", "true"]),
    (halves(str(BIG), str(BIG + 1)), [BIG, BIG + 1]),
    (["", *halves(BIG, BIG + 1)[1:]], [BIG, BIG + 1]),
    (["NA", *halves(-BIG - 1, -BIG)[1:]], [-BIG - 1, -BIG]),
    (["", *halves(2**64 - 2, 2**64 - 1)[1:]], [2**64 - 2, 2**64 - 1]),
    (halves(10**30, 10**30 + 1), [str(10**30), str(10**30 + 1)]),
    (halves(f"{BIG}.0", f"{BIG + 1}.0"), [f"{BIG}.0", f"{BIG + 1}.0"]),
    (["", *halves(1, 2)[1:]], [1, 2]),
    (halves(0.5, 1), [0.5, 1.0]),
    (halves("False", "True"), [False, True]),
    (["", *halves("False", "True")[1:]], [False, True]),
    (halves("yes", "no"), ["no", "yes"]),
]
"""Labels of a file, and the classes of a fit to it."""


@pytest.mark.parametrize(
    ("labels", "classes", "formula"),
    [(*case, ("y ~ x", "C(y) ~ x")[k % 2]) for k, case in enumerate(CLASSES)],
)
def test_classes_equal_the_text_of_the_file(labels, classes, formula, tmp_path, capsys):
    path = written(tmp_path, labels)
    assert cli.main(["lda", formula, path, "--save", str(tmp_path / "fit")]) == 0
    fit = discrim.load(tmp_path / "fit")
    assert fit.classes.tolist() == classes
    assert [type(label) for label in fit.classes.tolist()] == [type(label) for label in classes]
    capsys.readouterr()
    labels = predicted(capsys, "predict", str(tmp_path / "fit"), path)
    assert set(labels.iloc[:, 0]) <= {str(label) for label in classes}


def test_categories_are_those_of_the_file_at_the_fit_and_at_prediction(tmp_path, capsys):
    zips = (["02139", "2139", "10001", "90210"] * 10)[:40]
    path = written(tmp_path, halves("a", "b"), zip=zips, id=["", *([BIG, BIG + 1, BIG + 2] * 13)])
    saved = str(tmp_path / "fit")
    assert cli.main(["naive-bayes", "y ~ x + C(zip) + C(id)", path, "--laplace", "1", "--save", saved]) == 0
    design = discrim.load(saved)._fit.design_rows.design
    levels = {factor.code: factor.levels for factor in design.spec.factors}
    assert levels["C(zip)"] == ("02139", "10001", "2139", "90210")
    assert levels["C(id)"] == (BIG, BIG + 1, BIG + 2)
    capsys.readouterr()
    # Rows whose categories would all be numbers to a reader.
    new = tmp_path / "new.csv"
    new.write_text(f"x,zip,id\n1,2139,{BIG + 1}\n2,02139,\n", encoding="utf-8")
    assert len(predicted(capsys, "predict", saved, str(new))) == 2


def test_text_without_c_stays_text_where_new_rows_have_numbers_only(tmp_path, capsys):
    path = written(tmp_path, halves("a", "b"), grade=["1", "A", "B", "C"] * 10)
    saved = str(tmp_path / "fit")
    assert cli.main(["lda", "y ~ x + grade", path, "--save", saved]) == 0
    capsys.readouterr()
    new = tmp_path / "new.csv"
    new.write_text("x,grade\n1,1\n2,1\n", encoding="utf-8")
    assert len(predicted(capsys, "predict", saved, str(new))) == 2


def test_an_augmented_table_has_its_other_columns_as_they_were(tmp_path, capsys):
    ids = [f"{BIG + i}" for i in range(39)] + [""]
    path = written(tmp_path, halves("007", "7"), id=ids, code=["01", "1.50", "1e5", "true"] * 10)
    saved = str(tmp_path / "fit")
    assert cli.main(["lda", "y ~ x", path, "--save", saved]) == 0
    capsys.readouterr()
    table = predicted(capsys, "predict", saved, path, "--augment")
    assert table["id"].fillna("").tolist() == ids
    assert table["code"].tolist() == ["01", "1.50", "1e5", "true"] * 10
    assert table["y"].tolist() == halves("007", "7")


@pytest.mark.parametrize("formula", ["y ~ x", "C(y) ~ x"])
def test_whole_numbers_of_parquet_stay_whole_beside_a_missing_one(formula, tmp_path):
    pytest.importorskip("pyarrow")
    path = str(tmp_path / "t.parquet")
    y = pd.array([None, *halves(BIG, BIG + 1)[1:]], dtype="Int64")
    x = pd.Series(X).where(X < 2)
    pd.DataFrame({"y": y, "x": x}).to_parquet(path)
    table = read_table(path)
    assert table["y"].dtype == "Int64"
    assert table["x"].dtype == "float64"
    assert discrim.lda(formula, table).classes.tolist() == [BIG, BIG + 1]


def test_several_formulas_have_the_labels_of_each():
    assert label_columns_to_fit("y ~ x", "z ~ C(code) + x").typed == {"y", "z", "code"}


def test_classes_of_several_formulas_are_as_the_file_has_them(tmp_path, capsys):
    path = written(tmp_path, halves("007", "7"), w=np.sin(np.arange(40.0)))
    assert cli.main(["compare", "y ~ x", "y ~ x + w", path, "--verbs", "lda", "--prior", "007=.3,7=.7"]) == 0


def test_a_prior_names_classes_as_the_file_does(tmp_path, capsys):
    path = written(tmp_path, ["", *halves(1, 2)[1:]])
    assert cli.main(["lda", "y ~ x", path, "--prior", "1=.3,2=.7"]) == 0
    path = written(tmp_path, halves("007", "7"))
    assert cli.main(["lda", "y ~ x", path, "--prior", "007=.3,7=.7"]) == 0


def test_measurements_are_read_as_before(tmp_path):
    path = written(tmp_path, halves("a", "b"), w=["01", "2.50", "+3", "4e0"] * 10)
    table = read_table(path, label_columns_to_fit("y ~ ."))
    assert table["w"].tolist()[:4] == [1.0, 2.5, 3.0, 4.0]
    pd.testing.assert_frame_equal(table.drop(columns="y"), pd.read_csv(path).drop(columns="y"))


@pytest.mark.parametrize("formula", ["y ~", "~ x", "y ~ x +* z", "", "y ~ f(x)", "y", "C(" * 50])
def test_a_formula_that_cannot_be_read_is_said_by_the_verb(formula, tmp_path, capsys):
    path = written(tmp_path, halves("a", "b"))
    assert cli.main(["lda", formula, path]) == 2
    assert capsys.readouterr().err.count("\n") == 1
