"""Saved fits whose checksum is right and whose contents are not: each is refused as it is read.

Most cases were found by the fuzzer of `tests.fuzz.test_saved_files`, on a version that took them and gave
posteriors without a number, raised an error of another library, asked for memory without end, or did not
answer.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import discrim
from discrim import load
from discrim.core.numerics.arrays import svd
from discrim.errors import DataError, DiscrimError
from tests.fuzz.saved_files import join_file, overlapping_table, saved_fits, split_file


def set_values(key, value, index=...):
    """Return a change that sets values of a buffer."""

    def change(parts):
        parts.buffers[key][index] = value

    return change


def multiply_values(key, factor):
    """Return a change that multiplies the values of a buffer."""

    def change(parts):
        parts.buffers[key] *= factor

    return change


def resize_buffer(key, shape):
    """Return a change that resizes a buffer."""

    def change(parts):
        parts.buffers[key] = np.resize(parts.buffers[key], shape)

    return change


def set_description(value, *path):
    """Return a change that sets a value of the description."""

    def change(parts):
        holder = parts.about
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value

    return change


def set_learnt_value(name, value, factor=0):
    """Return a change that sets one value learnt by a stateful transform."""

    def change(parts):
        (learnt,) = parts.about["design"]["spec"]["factors"][factor]["states"]
        next(pair for pair in learnt["values"] if pair[0] == name)[1] = value

    return change


def all_changes(*changes):
    """Return a change that applies several changes."""

    def change(parts):
        for each in changes:
            each(parts)

    return change


LEVELS = ("design", "levels")
CASES = {
    # ---- classes, names, options
    "no level": ("lda plain", set_description([], *LEVELS)),
    "no level, no rows": (
        "lda plain",
        all_changes(
            set_description([], *LEVELS), *(resize_buffer(key, (0,)) for key in ("counts", "rows", "prior"))
        ),
    ),
    "no category": ("lda categories", set_description([], "design", "spec", "factors", 1, "levels")),
    "half a pair as a level": ("lda plain", set_description("\ud83d", *LEVELS, 0)),
    "half a pair in a term": ("lda-shrunk interactions", set_description("\ud83dx", "design", "terms", 2)),
    "half a pair in a key": ("lda plain", set_description(1, "estimates", "\udc00")),
    "a shrinkage that is no number": ("rda plain", set_description(float("nan"), "estimates", "alpha")),
    "a threshold without end": (
        "shrunken_centroids plain",
        set_description(float("inf"), "estimates", "threshold"),
    ),
    "a step that is no number": ("perceptron plain", set_description(float("nan"), "estimates", "step")),
    "a negative seed": ("perceptron plain", set_description(-1, "estimates", "seed")),
    "a number of 400 digits": ("lda plain", set_description(10**400, "dropped")),
    "rows that were left out, without end": ("lda plain", set_description(10**30, "dropped")),
    "positions of levels beyond all": (
        "naive_bayes-counts counted",
        set_description(2e10, "design", "spec", "codings", 1, "matrix", 2, 0),
    ),
    "a contrast beyond all": (
        "lda categories",
        set_description(1e308, "design", "spec", "codings", 1, "matrix", 0, 0),
    ),
    "text where labels were whole numbers": ("lda-typed numbers", set_description("y", *LEVELS, 0)),
    "text where labels were true or false": (
        "lda-mcd plain",
        set_description("boolean", "design", "labels", "dtype"),
    ),
    "labels beyond their dtype": ("lda-typed numbers", set_description(2**40, *LEVELS, 2)),
    # ---- what stateful calls learnt
    "bs of degree 25": ("lda bs", set_learnt_value("degree", 25)),
    "bs without a list": ("lda bs", set_learnt_value("knots", 0.5)),
    "bs with a list of lists": ("lda bs", set_learnt_value("knots", [[0.5]])),
    "bs with text": ("lda bs", set_learnt_value("knots", ["0.5", "0.6"])),
    "bs with other knots than columns": ("lda bs", set_learnt_value("knots", [0.5])),
    "poly with a list for a number": ("lda poly", set_learnt_value("spread", [1.0])),
    "poly of another length": ("lda poly", set_learnt_value("norms", [1.0])),
    "poly of another degree": (
        "lda poly",
        all_changes(set_learnt_value("norms", [9.0, 2.0]), set_learnt_value("centres", [0.1])),
    ),
    "poly of other powers": ("lda poly", set_learnt_value("raw_degree", 3, factor=1)),
    "center with a number for a list": ("lda scaled", set_learnt_value("mean", 3.0)),
    "center of a matrix": ("lda scaled", set_learnt_value("mean", [1.0, 2.0, 3.0])),
    "center without numbers": ("lda scaled", set_learnt_value("mean", [None])),
    # ---- counts
    "counts of next to nothing": ("lda plain", set_values("counts", 5e-324)),
    "counts of one": ("lda plain", all_changes(set_values("counts", 1.0), set_values("rows", 1.0))),
    "counts of one, by column": (
        "lda-diagonal plain",
        all_changes(set_values("counts", 1.0), set_values("rows", 1.0)),
    ),
    "a class of one row": (
        "qda plain",
        all_changes(set_values("counts", 1.0, 0), set_values("rows", 1.0, 0)),
    ),
    "counts without a sum": ("hyperplane plain", set_values("counts", 1e308)),
    "counts and rows without a sum": (
        "logistic plain",
        all_changes(set_values("counts", 1e308), set_values("rows", 1e308)),
    ),
    "weights that sum to a third": (
        "lda-mle-w plain",
        all_changes(set_description("moment", "estimates", "method"), set_values("counts", 0.3)),
    ),
    "counts that are not the rows": ("lda-diagonal plain", multiply_values("counts", 1e-9)),
    "infinitely many": ("rda plain", set_values("counts", np.inf, 0)),
    # ---- moments
    "roots without a dimension": ("lda categories", resize_buffer("roots", ())),
    "roots of another rank": ("rda interactions", resize_buffer("roots", (147,))),
    "centres without a dimension": ("indicator plain", resize_buffer("centres", ())),
    "what rounding left, beyond squares": ("lda plain", set_values("rests", 1e308, (0, 0))),
    "what rounding left, far beyond rounding": (
        "shrunken_centroids plain",
        set_values("rests", 1e155, (1, 1)),
    ),
    "what rounding left, of every mean": ("lda-pinv plain", set_values("rests", 0.5)),
    "means beyond all": ("lda bs", set_values("centres", 1e308, (1, 2))),
    "scales beyond all": ("lda poly", multiply_values("scale", 2.0**600)),
    "roots that are no roots of the scatters": ("lda levels", set_values("roots", 1e200, (0, 0, 0))),
    "roots of nothing": (
        "lda cr",
        all_changes(set_values("scatters", 0.0), multiply_values("roots", 1e-300)),
    ),
    "roots of nothing, by class": (
        "qda plain",
        all_changes(set_values("scatters", 0.0), multiply_values("roots", 1e-300)),
    ),
    "a denormal on the diagonal": ("lda scaled", set_values("roots", 5e-324, (0, 2, 2))),
    "squares beyond all": ("naive_bayes plain", set_values("scatters", 1e308)),
    # ---- the models' own
    "codes that ask for 711 PiB": ("knn plain", set_values("estimates.codes", 1e17, 0)),
    "codes beyond the classes": ("knn-cityblock scaled", set_values("estimates.codes", 3.0, 0)),
    "negative codes": ("knn plain", set_values("estimates.codes", -1.0, 0)),
    "coordinates beyond squares": ("knn plain", set_values("estimates.points", 1e200)),
    "coordinates elsewhere": ("knn interactions", multiply_values("estimates.points", 2.0)),
    "units beyond all": ("knn-cityblock scaled", set_values("estimates.space.unit", 1.7e308)),
    "a root that is none": ("knn-mahalanobis plain", set_values("estimates.space.within", 0.0)),
    "levels without end": ("naive_bayes-kernel mixed", set_values("estimates.plan.sizes", 1e155, 2)),
    "values of a density of no column": (
        "naive_bayes-kernel plain",
        set_values("estimates.points", 7.0, (0, 0)),
    ),
    "a subset of more than all rows": (
        "lda-mcd plain",
        set_description(1e200, "estimates", "covariance_model", "support_fraction"),
    ),
    "no degrees of freedom": ("lda-t plain", set_description(0.0, "estimates", "covariance_model", "nu")),
    "steps of no number": ("qda-t plain", set_description(1e300, "estimates", "covariance_model", "steps")),
    "a covariance of another class": (
        "lda-t plain",
        set_description("MCDCovariance", "estimates", "covariance_model", "class"),
    ),
    "a class of no covariance": (
        "lda plain",
        set_description("StandardizedTargetUnits", "estimates", "covariance_model", "class"),
    ),
    "no information": ("logistic plain", set_values("estimates.newton.information", 0.0)),
    "steps of a part": ("logistic bs", set_description(0.5, "estimates", "newton", "steps")),
    "passes without end": ("perceptron plain", set_values("estimates.planes", 1e300, (0, 2))),
    "a history of other planes": ("perceptron plain", set_values("estimates.history", 7.0, (0, 0))),
    "no direction": ("hyperplane plain", set_values("estimates.plane.coef", 0.0)),
    "support of no row": ("hyperplane plain", set_values("estimates.plane.support", -1.0, 0)),
    "no support": ("hyperplane plain", resize_buffer("estimates.plane.support", (0,))),
}


def write_changed_file(path, name, change):
    chunks = split_file(saved_fits()[name])
    change(chunks)
    path.write_bytes(join_file(chunks))
    return path


@pytest.mark.parametrize("case", CASES)
def test_inconsistent_contents_are_refused(tmp_path, case):
    name, change = CASES[case]
    with pytest.raises(DiscrimError) as caught:
        load(write_changed_file(tmp_path / "fit", name, change))
    assert "again" in str(caught.value)


@pytest.mark.parametrize("name", ["qda-diagonal plain", "naive_bayes plain"])
@pytest.mark.parametrize("sunk", [1e-310, 1e-302])
def test_variances_with_an_infinite_inverse_are_refused(tmp_path, name, sunk):
    chunks = split_file(saved_fits()[name])
    chunks.buffers["scatters"][...] = sunk
    (tmp_path / "fit").write_bytes(join_file(chunks))
    with pytest.raises(DataError) as caught:
        load(tmp_path / "fit")
    assert "range" in str(caught.value)


@pytest.mark.parametrize("name", ["lda plain", "rda interactions", "knn plain", "naive_bayes mixed"])
def test_unchanged_files_are_read(tmp_path, name):
    fit = load(write_changed_file(tmp_path / "fit", name, lambda parts: None))
    assert fit.predict_proba(overlapping_table()).notna().all(axis=None)


def test_lone_surrogates_in_a_header_are_refused(tmp_path):
    data = saved_fits()["lda plain"]
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"]["fit"] += "\ud83d"
    text = json.dumps(header).encode()
    (tmp_path / "fit").write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    with pytest.raises(DataError) as caught:
        load(tmp_path / "fit")
    assert "Save" in str(caught.value)
    assert "again" in str(caught.value)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_non_finite_matrices_are_refused_before_a_decomposition(value):
    with pytest.raises(DataError) as caught:
        svd(np.array([[value, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]))
    assert "double precision" in str(caught.value)
    assert "Divide" in str(caught.value)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e100, 1e250])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_fits_in_any_units_are_read_back(tmp_path, scale, shift):
    data = overlapping_table().assign(a=lambda d: (d["a"] + shift) * scale)
    for verb in (discrim.lda, discrim.qda, discrim.naive_bayes, discrim.knn, discrim.logistic):
        fit = verb("y ~ a + b", data, **({"k": 3} if verb is discrim.knn else {}))
        fit.save(tmp_path / "fit")
        assert load(tmp_path / "fit").predict_proba(data).equals(fit.predict_proba(data))
