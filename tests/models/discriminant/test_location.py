"""The location model against its definition, LDA within cells, refits and simulation."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim import lda, location, naive_bayes
from discrim.core.discriminant.location import CellLayout, restore_location, smooth_over_cells
from discrim.core.errors import InvalidStateError
from discrim.errors import (
    CollinearError,
    DataError,
    MissingPredictionWarning,
    NotSupportedError,
)
from tests.turns import one_in

BIRDS = discrim.datasets.load_penguins().dropna().reset_index(drop=True)
IRIS = discrim.datasets.load_iris()
FORMULA = "species ~ sex + island + bill_length_mm + body_mass_g"
NUMBERS = ["bill_length_mm", "body_mass_g"]


def by_definition(
    data, new, smoothing, prior, columns=("sex", "island"), numbers=tuple(NUMBERS), y="species"
):
    """Posteriors of new rows, and the divisor, from sums over all rows of each class weighted by distance."""
    numbers, columns = list(numbers), list(columns)
    classes = sorted(data[y].unique())
    weights = {
        label: smoothing ** (rows[columns].to_numpy()[:, None] != rows[columns].to_numpy()).sum(axis=2)
        for label, rows in data.groupby(y)
    }
    scatter, trace = np.zeros((len(numbers), len(numbers))), 0.0
    for label, rows in data.groupby(y):
        x, a = rows[numbers].to_numpy(), weights[label].astype(float)
        fitted = a @ x / a.sum(axis=1, keepdims=True)
        scatter += (x - fitted).T @ (x - fitted)
        trace += (np.diag(a) / a.sum(axis=1)).sum()
    divisor = len(data) - trace
    levels = [sorted(data[column].unique()) for column in columns]
    cells = list(itertools.product(*levels))
    out = np.empty((len(new), len(classes)))
    for k, label in enumerate(classes):
        rows = data[data[y] == label]
        held, x = rows[columns].to_numpy(), rows[numbers].to_numpy()
        mass = {
            cell: (smoothing ** (held != np.array(cell, dtype=object)).sum(axis=1)).astype(float)
            for cell in cells
        }
        total = sum(cell_mass.sum() for cell_mass in mass.values())
        for i, row in enumerate(new[columns + numbers].itertuples(index=False)):
            class_mass = mass[tuple(row[: len(columns)])]
            distribution = stats.multivariate_normal(class_mass @ x / class_mass.sum(), scatter / divisor)
            out[i, k] = (
                np.log(prior[k]) + np.log(class_mass.sum() / total) + distribution.logpdf(row[len(columns) :])
            )
    out = np.exp(out - out.max(axis=1, keepdims=True))
    return out / out.sum(axis=1, keepdims=True), divisor


@pytest.mark.parametrize("smoothing", [0.05, 0.5, 1.0])
def test_posteriors_follow_the_definition(smoothing):
    fit = location(FORMULA, BIRDS, smoothing=smoothing)
    new = BIRDS.iloc[::17]
    expected, divisor = by_definition(BIRDS, new, smoothing, fit.prior.to_numpy())
    np.testing.assert_allclose(fit.predict_proba(new), expected, rtol=1e-9, atol=1e-14)
    assert fit.glance()["df_residual"].item() == pytest.approx(divisor, rel=1e-12)


@pytest.mark.slow
def test_leave_one_out_equals_a_refit():
    subset = BIRDS.iloc[::9].reset_index(drop=True)
    fit = location(FORMULA, subset, smoothing=0.2)
    left_out = fit.leave_one_out()[list(fit.classes)].to_numpy()
    for i in range(0, len(subset), 7):
        expected, _ = by_definition(subset.drop(index=i), subset.iloc[[i]], 0.2, fit.prior.to_numpy())
        np.testing.assert_allclose(left_out[i], expected[0], rtol=1e-8, atol=1e-14)


def test_fit_without_categories_equals_lda():
    fit, reference_fit = location("species ~ .", IRIS), lda("species ~ .", IRIS)
    np.testing.assert_allclose(fit.predict_proba(), reference_fit.predict_proba(), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(fit.cov, reference_fit.cov, rtol=1e-12)
    classes = list(fit.classes)
    np.testing.assert_allclose(
        fit.leave_one_out()[classes], reference_fit.leave_one_out()[classes], rtol=1e-9, atol=1e-30
    )


def test_full_smoothing_ignores_categories():
    reference_fit = lda("species ~ bill_length_mm + body_mass_g", BIRDS)
    np.testing.assert_allclose(
        location(FORMULA, BIRDS, smoothing=1.0).predict_proba(), reference_fit.predict_proba(), rtol=1e-9
    )


def test_unsmoothed_cells_are_estimated_separately():
    fit = location("species ~ sex + bill_length_mm + body_mass_g", BIRDS, smoothing=1e-12)
    cells = BIRDS["species"] + " " + BIRDS["sex"]
    reference_fit = lda("cell ~ bill_length_mm + body_mass_g", BIRDS.assign(cell=cells))
    both = reference_fit.predict_proba()
    for sex in ("female", "male"):
        in_cell = BIRDS["sex"] == sex
        chunk = both.loc[in_cell, [f"{label} {sex}" for label in fit.classes]]
        expected = chunk.div(chunk.sum(axis=1), axis=0)
        np.testing.assert_allclose(fit.predict_proba()[in_cell], expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(fit.cov, reference_fit.cov, rtol=1e-9)
    np.testing.assert_allclose(
        fit.means.loc[("Adelie", "male")],
        BIRDS[in_cell & (BIRDS["species"] == "Adelie")][NUMBERS].mean(),
        rtol=1e-9,
    )


def test_sums_over_cells_follow_their_distances():
    rng = np.random.default_rng(0)
    sizes = (2, 3, 2)
    values = rng.normal(size=(2, 12, 3))
    cells = list(itertools.product(*map(range, sizes)))
    apart = np.array([[sum(a != b for a, b in zip(s, t, strict=True)) for t in cells] for s in cells])
    expected = np.einsum("st,ktq->ksq", 0.3**apart, values)
    np.testing.assert_allclose(smooth_over_cells(values, sizes, 0.3), expected, rtol=1e-12)


@pytest.mark.slow
def test_path_leaves_rows_out_with_fixed_covariance():
    subset = BIRDS.iloc[::24].reset_index(drop=True)
    fit = location(FORMULA, subset, grid=[0.1, 0.9])
    for smoothing, error in zip(fit.path["smoothing"], fit.path["error"], strict=True):
        full_fit = location(FORMULA, subset, smoothing=smoothing)
        root = np.linalg.cholesky(np.linalg.inv(full_fit.cov.to_numpy()))
        wrong = 0
        for i in range(len(subset)):
            row, others = subset.iloc[i], subset.drop(index=i)
            scores = []
            for label in full_fit.classes:
                class_rows = others[others["species"] == label]
                a = smoothing ** (
                    class_rows[["sex", "island"]].to_numpy() != row[["sex", "island"]].to_numpy()
                ).sum(axis=1)
                a = a.astype(float)
                mean = a @ class_rows[NUMBERS].to_numpy() / a.sum()
                proportion = a.sum() / (len(class_rows) * (1 + smoothing) * (1 + 2 * smoothing))
                gap = (row[NUMBERS].to_numpy(dtype=float) - mean) @ root
                scores.append(np.log(full_fit.prior[label] * proportion) - gap @ gap / 2)
            wrong += full_fit.classes[int(np.argmax(scores))] != row["species"]
        assert error == pytest.approx(wrong / len(subset))
    assert fit.smoothing == fit.path.loc[fit.path["error"] == fit.path["error"].min(), "smoothing"].max()


def test_means_that_depend_on_cells_are_classified_by_location():
    # Within a cell the classes lie apart; the direction turns from cell to cell, as no additive rule knows.
    rng = np.random.default_rng(3)
    n = 2000
    a, b, y = rng.integers(0, 2, (3, n))
    x = rng.normal(size=n) + 2.0 * (2 * y - 1) * (2 * (a == b) - 1)
    letters = np.array(["p", "q"])
    data = pd.DataFrame({"a": letters[a], "b": letters[b], "x": x, "y": letters[y]})
    train, new = data[:1000], data[1000:]
    best = stats.norm.sf(2.0)
    fit = location("y ~ a + b + x", train)
    assert fit.error_rates(data=new)["estimate"].item() == pytest.approx(best, abs=0.015)
    for other in (lda, naive_bayes):
        assert other("y ~ a + b + x", train).error_rates(data=new)["estimate"].item() > 0.25


def test_truth_values_are_categories_and_weights_are_rows():
    data = BIRDS.assign(late=BIRDS["year"] > 2008, w=1 + np.arange(len(BIRDS)) % 3)
    fit = location("species ~ late + bill_length_mm", data, weights="w", smoothing=0.3)
    assert fit.probabilities.index.tolist() == [False, True]
    repeated = data.loc[data.index.repeat(data["w"])].reset_index(drop=True)
    other = location("species ~ late + bill_length_mm", repeated, smoothing=0.3)
    np.testing.assert_allclose(fit.predict_proba(data), other.predict_proba(data), rtol=1e-10)
    np.testing.assert_allclose(fit.cell_counts.sum(), other.counts)
    text_fit = location(
        "species ~ late + bill_length_mm", data.assign(late=data["late"].map(str)), smoothing=0.3
    )
    unweighted = location("species ~ late + bill_length_mm", data, smoothing=0.3)
    np.testing.assert_allclose(unweighted.predict_proba(), text_fit.predict_proba(), rtol=1e-12)


def test_a_file_keeps_the_cells(tmp_path):
    fit = location(FORMULA, BIRDS)
    fit.save(tmp_path / "a.fit")
    again = discrim.load(tmp_path / "a.fit")
    pd.testing.assert_frame_equal(again.predict_proba(BIRDS), fit.predict_proba(BIRDS))
    pd.testing.assert_frame_equal(again.means, fit.means)
    assert fit.tidy()["probability"].iloc[::2].sum() == pytest.approx(3)


@pytest.mark.parametrize(
    ("formula", "options", "error", "says"),
    [
        ("species ~ sex + island", {}, DataError, "requires a numeric column"),
        ("species ~ sex:island + body_mass_g", {}, NotSupportedError, "multiplies the categories"),
        (FORMULA, {"smoothing": 0.0}, DataError, "smoothing=0.0"),
        (FORMULA, {"smoothing": 0.5, "grid": [0.5]}, DataError, "grid="),
        (FORMULA, {"grid": [0.5, 2]}, DataError, "smoothing"),
        (
            "species ~ sex + body_mass_g + I(2 * body_mass_g)",
            {},
            CollinearError,
            r"'I\(2 \* body_mass_g\)' is a linear combination of 'body_mass_g'",
        ),
    ],
)
def test_unsupported_options_are_named(formula, options, error, says):
    with pytest.raises(error, match=says):
        location(formula, BIRDS, **options)


def test_a_class_of_one_row_is_absent_without_its_row():
    one = BIRDS[
        (BIRDS["species"] != "Gentoo") | (BIRDS.index == BIRDS.index[BIRDS["species"] == "Gentoo"][0])
    ]
    left_out = location(FORMULA, one, smoothing=0.3).leave_one_out()
    alone = left_out[(one["species"] == "Gentoo").to_numpy()]
    assert alone["Gentoo"].tolist() == [0.0]
    assert alone[["Adelie", "Chinstrap"]].sum(axis=1).item() == pytest.approx(1)


def test_the_path_counts_the_one_row_of_a_class_as_wrong():
    apart = pd.DataFrame(
        {"y": [*"aaaabbbbc"], "s": [*"uvuvuvuvu"], "x": [0.0, 1, 2, 3, 100, 101, 102, 103, 200]}
    )
    fit = location("y ~ s + x", apart, grid=[0.3, 1.0])
    assert fit.path["error"].tolist() == pytest.approx([1 / 9, 1 / 9])
    # Cells of one column are called by its levels.
    assert fit.probabilities.index.tolist() == ["u", "v"]


def test_damaged_cells_of_a_file_are_refused():
    estimates = location(FORMULA, BIRDS, smoothing=0.3)._fit.estimates
    cells = estimates.cells
    wrong = {
        "cells": [
            replace(cells, counts=cells.counts[1:]),
            replace(cells, counts=-cells.counts),
            replace(cells, scale=0.0 * cells.scale),
            replace(cells, scatters=cells.scatters[:, 1:]),
            replace(cells, centres=cells.centres[:, 1:]),
        ],
        "layout": [CellLayout(estimates.layout.levels[1:]), CellLayout(estimates.layout.levels + 1)],
        "smoothing": [2.0],
    }
    arguments = {"cells": cells, "layout": estimates.layout, "smoothing": 0.3, "estimated_prior": True}
    assert restore_location(estimates.moments, estimates.prior, **arguments).divisor == estimates.divisor
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(InvalidStateError):
                restore_location(estimates.moments, estimates.prior, **arguments | {name: value})


def test_too_many_cells_are_refused_before_allocation():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({f"c{j}": rng.choice(list("abcdefgh"), 50) for j in range(8)})
    data = data.assign(x=rng.normal(size=50), y=np.repeat(["a", "b"], 25))
    with pytest.raises(NotSupportedError) as caught:
        location("y ~ .", data)
    assert "combinations" in str(caught.value)
    assert "16,777,216" in str(caught.value)
    assert "67,108,864" in str(caught.value)


# ------------------------------------------------------------------ variances that are rounding errors


def constant_within_classes(offset: float = 0.0, slope: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    y = np.repeat(["a", "b", "c"], 20)
    k = np.select([y == "a", y == "b"], [1.0, 0.0], 2.0)
    table = pd.DataFrame({"y": y, "x": rng.normal(size=60) + k, "k": slope * k + offset})
    return table.assign(c=rng.choice(["u", "v"], 60), t=rng.random(60) > 0.5).sample(frac=1, random_state=1)


@one_in(
    4,
    {
        "options": [{"smoothing": 0.2}, {"smoothing": 1.0}, {"smoothing": 1e-3}, {}],
        "offset, slope": [
            (0, 1), (10, 250), (0.3, 0.1), (0, 0.1), (1e6, 1e-3), (1 / 7, 1 / 3), (-1e9, 1e-3),
        ],
    },
)  # fmt: skip
def test_a_column_that_is_constant_within_classes_is_named(offset, slope, options):
    table = constant_within_classes(offset, slope)
    with pytest.raises(CollinearError) as caught:
        location("y ~ x + k + c + t", table, **options)
    assert caught.value.columns == ("k",)
    with pytest.raises(CollinearError) as caught:
        lda("y ~ x + k", table)
    assert caught.value.columns == ("k",)


@pytest.mark.parametrize(("offset", "slope"), [(10, 250), (0.3, 0.1), (1e6, 1.0)])
def test_a_column_that_is_constant_within_cells_alone_varies_about_smoothed_means(offset, slope):
    table = constant_within_classes()
    table["k"] += np.where(table["c"] == "u", 0.1, 0.4)
    fit = location("y ~ x + k + c", table, smoothing=0.3)
    shifted = location("y ~ x + k + c", table.assign(k=slope * table["k"] + offset), smoothing=0.3)
    assert shifted.cov.loc["k", "k"] == pytest.approx(slope**2 * fit.cov.loc["k", "k"], rel=1e-7)
    np.testing.assert_allclose(shifted.predict_proba(), fit.predict_proba(), rtol=1e-6, atol=1e-9)


def test_a_column_that_varies_in_one_row_is_dropped_without_it():
    table = constant_within_classes(0.3, 0.1).reset_index(drop=True)
    table.loc[[5, 9], "k"] += [0.1, 1e-4]
    fit = location("y ~ x + k + c", table, smoothing=0.2, prior="equal")
    left_out = fit.leave_one_out()[["a", "b", "c"]].astype(float)
    for row in (0, 5, 9, 33):
        refit = location("y ~ x + k + c", table.drop(index=row), smoothing=0.2, prior="equal")
        np.testing.assert_allclose(
            left_out.loc[row], refit.predict_proba(table.loc[[row]]).iloc[0], rtol=1e-7, atol=1e-10
        )
    table.loc[9, "k"] -= 1e-4
    table.loc[9, "k"] = table.loc[table.index[table["y"] == table.loc[9, "y"]].difference([5, 9])[0], "k"]
    with pytest.warns(MissingPredictionWarning):
        left_out = location("y ~ x + k + c", table, smoothing=0.2, prior="equal").leave_one_out()
    assert left_out["label"].isna().to_numpy().nonzero()[0].tolist() == [5]
