"""CSV as other programs write it: semicolons, decimal commas, tabs, marks and line ends of Windows."""

from __future__ import annotations

import gzip
import io
import shlex
import warnings

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import cli, datasets
from discrim.cli.reading import read_table
from discrim.data.sources.files import Dialect, find_decimal_comma_column
from discrim.errors import DataError
from tests.cli.support import refused, said

IRIS = datasets.load_iris()
MEANS = ["--sections", "means"]


def bytes_of(sep=",", decimal=".", *, quoting=0, mark=b"", end="\n"):
    text = IRIS.to_csv(sep=sep, decimal=decimal, quoting=quoting, index=False)
    return mark + text.replace("\n", end).encode("utf-8")


WRITTEN = {
    "german.csv": (bytes_of(";", ","), "has 4 semicolons and no comma", "--sep ';' --decimal ,"),
    "excel.csv": (
        bytes_of(";", ",", mark=b"\xef\xbb\xbf", end="\r\n"),
        "has 4 semicolons and no comma",
        "--sep ';' --decimal ,",
    ),
    "quoted.csv": (bytes_of(";", ",", quoting=1), "has 4 semicolons and no comma", "--sep ';' --decimal ,"),
    "points.csv": (bytes_of(";"), "has 4 semicolons and no comma", "--sep ';'"),
    "tabs.csv": (bytes_of("\t"), "has 4 tabs and no comma", "--sep tab"),
    "german_tabs.csv": (bytes_of("\t", ","), None, "--sep tab --decimal ,"),
    "bars.csv": (bytes_of("|"), "has 4 bars and no comma", "--sep '|'"),
    "commas.tsv": (bytes_of(","), "has 4 commas and no tab", "--sep ,"),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("many", [False, True], ids=["a file", "a folder"])
def test_messages_name_the_cause_and_hints_work(name, many, tmp_path, capsys):
    contents, cause, way_out = WRITTEN[name]
    path = tmp_path / "folder" / name
    path.parent.mkdir()
    path.write_bytes(contents)
    given = str(path.parent if many else path)
    expected = said(capsys, "lda", "species ~ .", "iris", *MEANS)
    if cause is not None:
        message = refused(capsys, "lda", "species ~ .", given, *MEANS)
        assert str(path) in message
        assert cause in message
        assert "pandas" not in message
        assert message.endswith(f" {way_out}")
    assert said(capsys, "lda", "species ~ .", given, *MEANS, *shlex.split(way_out)) == expected
    # What predicts reads as what is fitted does.
    fit = str(tmp_path / "iris.fit")
    discrim.lda("species ~ .", IRIS).save(fit)
    labels = said(capsys, "predict", fit, "iris")
    assert said(capsys, "predict", fit, given, *shlex.split(way_out)) == labels
    if cause is not None:
        assert refused(capsys, "predict", fit, given).endswith(f" {way_out}")


@pytest.mark.parametrize(
    "contents",
    [
        bytes_of(mark=b"\xef\xbb\xbf"),
        bytes_of(end="\r\n"),
        bytes_of(quoting=1, mark=b"\xef\xbb\xbf", end="\r\n"),
    ],
    ids=["mark", "windows", "all of it"],
)
def test_marks_quotes_and_line_ends_are_no_part_of_the_table(contents, tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_bytes(contents)
    pd.testing.assert_frame_equal(read_table(str(path)), IRIS)


def test_numbers_with_decimal_commas_are_read_to_the_last_bit(tmp_path):
    x = np.random.default_rng(3).standard_normal(40) * 10.0 ** np.arange(-20, 20)
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": x, "y": range(40)}).to_csv(path, sep=";", decimal=",", index=False)
    assert np.array_equal(read_table(str(path), None, Dialect(";", ","))["x"], x)


def test_a_table_of_one_column_is_read_where_the_separator_is_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1\n2\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_table(str(path))
    assert caught.value.options == {"sep": ";"}
    assert read_table(str(path), None, Dialect(","))["a;b"].tolist() == [1, 2]


def test_python_sources_have_python_hints(tmp_path):
    path = tmp_path / "t.csv"
    IRIS.to_csv(path, sep=";", decimal=",", index=False)
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", data=str(path))
    way_out = caught.value.hint.removeprefix("Pass data=").rstrip(".")
    fit = discrim.lda("species ~ .", data=eval(way_out, {"pandas": pd}))
    assert fit.nobs == 150


def test_the_line_for_excel_is_named(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_bytes(b"sep=;\n" + bytes_of(";", ","))
    assert "'sep=;'" in refused(capsys, "lda", "species ~ .", str(path))


def test_a_column_that_is_text_only_for_its_commas_is_named(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_bytes(bytes_of(";", ","))
    for given in (str(path), str(tmp_path)):
        assert cli.main(["lda", "species ~ nosuch", given, "--sep", ";"]) == 2
        first = capsys.readouterr().err.splitlines()[0]
        assert first == (
            f"discrim: warning: column 'sepal_length' of {str(path)!r} is read as text such as '5,1': add "
            "--decimal , if it is numeric"
        )


def test_labels_with_commas_are_labels():
    table = pd.DataFrame({"a": ["1,5", "x"], "b": [1.5, 2.5], "c": [None, None], "d": ["1,5", None]})
    assert find_decimal_comma_column(table, ["a", "b", "c"]) is None
    assert find_decimal_comma_column(table, list(table)) == ("d", "1,5")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sep", ";;"], "';;' is not a field separator"),
        (["--sep", '"'], "is not a field separator"),
        (["--sep", ""], "'' is not a field separator"),
        (["--decimal", ";"], "';' is not known"),
        (["--decimal", ","], "Use --sep ';'"),
        (["--sep", ".", "--decimal", "."], "cannot have the decimal sign '.'"),
    ],
)
def test_signs_that_are_none_are_refused(options, says, tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_bytes(bytes_of())
    assert says in refused(capsys, "lda", "species ~ .", str(path), *options)


def test_what_is_no_csv_has_no_separator(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    (tmp_path / "days").mkdir()
    IRIS.to_parquet(tmp_path / "t.parquet")
    IRIS.to_parquet(tmp_path / "days" / "t.parquet")
    for given in ("iris", str(tmp_path / "t.parquet"), str(tmp_path / "days")):
        assert "Leave them out" in refused(capsys, "lda", "species ~ .", given, "--sep", ";")


@pytest.mark.parametrize("path", ["a.csv", "a.tsv", "a.tsv.gz", "a.TSV", "a.tsv.csv", "a", "b.tsv/a.csv"])
def test_the_last_part_of_a_name_tells_the_separator(path):
    found = Dialect().separator_of(path)
    assert found == ("\t" if path.lower().removesuffix(".gz").endswith(".tsv") else ",")
    assert Dialect("|").separator_of(path) == "|"


def test_other_tables_are_read_without_a_word(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"a;b","c|d"\n1,x;y\n2,z\n', encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(read_table(str(path))) == ["a;b", "c|d"]


def measured():
    """Return irises with columns that the fit does not read: numbers with fractions, codes and text."""
    return IRIS.assign(
        weight=[f"{k},50" for k in range(150)], code=[f"{k:03}" for k in range(150)], note='1,5 "x"; a'
    )


@pytest.fixture
def fit_file(tmp_path):
    path = str(tmp_path / "iris.fit")
    discrim.lda("species ~ petal_length + petal_width", IRIS).save(path)
    return path


@pytest.fixture(params=["a file", "a folder"])
def german(request, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    measured().to_csv(folder / "german.csv", sep=";", decimal=",", index=False)
    return str(folder if request.param == "a folder" else folder / "german.csv")


def expected_answer():
    return discrim.lda("species ~ petal_length + petal_width", IRIS).augment(measured())


def assert_is_augmented(text, separator, decimal):
    """Check the fields that the fit does not read as text, and all others as numbers, exactly."""
    own = {"code": str, "weight": str}
    found = pd.read_csv(io.StringIO(text), sep=separator, decimal=decimal, dtype=own)
    expected = expected_answer()
    assert found["code"].tolist() == expected["code"].tolist()
    assert found["note"].tolist() == expected["note"].tolist()
    assert found["weight"].tolist() == [f"{k}{decimal}50" for k in range(150)]
    for name in expected.columns.drop(["code", "note", "weight", "species", ".fitted"]):
        np.testing.assert_array_equal(found[name].to_numpy(), expected[name].to_numpy())


DECIMAL_COMMAS = ["--sep", ";", "--decimal", ","]


@pytest.mark.parametrize(
    ("options", "separator", "decimal"),
    [
        ([], ";", ","),
        (["--out-sep", "tab"], "\t", ","),
        (["--out-decimal", "."], ";", "."),
        (["--out-sep", ",", "--out-decimal", "."], ",", "."),
        (["--out-sep", "|", "--out-decimal", ","], "|", ","),
    ],
)
def test_a_table_is_written_with_one_decimal_sign(german, fit_file, options, separator, decimal, capsys):
    text = said(capsys, "predict", fit_file, german, *DECIMAL_COMMAS, "--augment", *options)
    assert_is_augmented(text, separator, decimal)


@pytest.mark.parametrize(
    ("name", "options", "separator", "decimal"),
    [
        ("new.csv", [], ";", ","),
        ("new.csv.gz", [], ";", ","),
        ("new.tsv", [], "\t", ","),
        ("new.tsv", ["--out-sep", ";"], ";", ","),
        ("new.csv", ["--out-sep", ",", "--out-decimal", "."], ",", "."),
    ],
)
def test_a_file_is_written_as_the_input_is(
    german, fit_file, name, options, separator, decimal, tmp_path, capsys
):
    out = tmp_path / name
    said(capsys, "predict", fit_file, german, *DECIMAL_COMMAS, "--augment", "--out", str(out), *options)
    contents = gzip.decompress(out.read_bytes()) if name.endswith(".gz") else out.read_bytes()
    assert_is_augmented(contents.decode("utf-8"), separator, decimal)
    # What was written is read again, and gives the same answers.
    signs = ["--sep", "tab" if separator == "\t" else separator, "--decimal", decimal]
    again = said(capsys, "predict", fit_file, str(out), *signs, "--proba", "--out-sep", ";")
    assert again == said(
        capsys, "predict", fit_file, german, *DECIMAL_COMMAS, "--proba", "--out-decimal", decimal
    )


def test_a_parquet_file_has_decimal_points_in_text(german, fit_file, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    out = tmp_path / "new.parquet"
    said(capsys, "predict", fit_file, german, *DECIMAL_COMMAS, "--augment", "--out", str(out))
    assert pd.read_parquet(out)["weight"].tolist() == [f"{k}.50" for k in range(150)]
    for options in (["--out-sep", ";"], ["--out-decimal", ","]):
        place = str(tmp_path / "other.parquet")
        message = refused(capsys, "predict", fit_file, german, *DECIMAL_COMMAS, "--out", place, *options)
        assert options[0] in message


def test_classes_that_are_fractions_have_the_decimal_sign_too(tmp_path, capsys):
    data = IRIS.assign(dose=IRIS["species"].map({"setosa": 0.5, "versicolor": 1.5, "virginica": 2.5}))
    fit = discrim.lda("dose ~ petal_length + petal_width", data)
    fit.save(tmp_path / "fit")
    text = said(
        capsys, "predict", str(tmp_path / "fit"), "iris", "--proba", "--out-sep", ";", "--out-decimal", ","
    )
    assert "." not in text.partition("\n")[2]
    found = pd.read_csv(io.StringIO(text), sep=";", decimal=",")
    assert found.iloc[:, 0].tolist() == fit.predict(IRIS).astype(float).tolist()
    np.testing.assert_array_equal(found.iloc[:, 1:].to_numpy(), fit.predict_proba(IRIS).to_numpy())


@pytest.mark.parametrize(
    "options",
    [
        ["iris", "--out-decimal", ","],
        ["iris", "--out-sep", ".", "--proba"],
        ["german.csv", *DECIMAL_COMMAS, "--out-sep", ","],
        ["german.csv", *DECIMAL_COMMAS, "--out-sep", ",", "--out", "new.csv"],
        ["iris", "--out-decimal", ",", "--out", "new.csv.gz"],
    ],
)
def test_a_decimal_sign_that_is_the_separator_is_refused(options, fit_file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "german.csv").write_bytes(bytes_of(";", ","))
    assert "--out-sep" in refused(capsys, "predict", fit_file, *options)
    assert not list(tmp_path.glob("new*"))
