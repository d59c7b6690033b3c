"""The file of a saved fit: its layout, and what a damaged or hostile one is answered."""

from __future__ import annotations

import hashlib
import json
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim import lda, load, qda, shrunken_centroids
from discrim.datasets import load_iris
from discrim.errors import DataError, DiscrimError, DroppedColumnsWarning

IRIS = load_iris()


def double(x):
    return 2 * x


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("fits") / "iris.fit"
    lda("species ~ sepal_width + log(petal_width)", IRIS).save(path)
    return path.read_bytes()


def split_file(data):
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def write_file(path, header, body, *, checksum=True):
    if checksum:
        fit = header["__metadata__"]["fit"].encode()
        header["__metadata__"]["sha256"] = hashlib.sha256(fit + b"\0" + body).hexdigest()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return path


def test_file_layout_is_safetensors(saved):
    header, body = split_file(saved)
    positions = sorted(entry["data_offsets"] for key, entry in header.items() if key != "__metadata__")
    assert [start for start, _ in positions] == [0, *(stop for _, stop in positions[:-1])]
    assert positions[-1][1] == len(body)
    counts = header["counts"]["data_offsets"]
    assert np.frombuffer(body[slice(*counts)], "<f8").tolist() == [50, 50, 50]
    assert all(isinstance(value, str) for value in header["__metadata__"].values())


def test_every_truncation_is_refused(saved, tmp_path):
    path = tmp_path / "cut"
    for length in {*range(0, len(saved), 37), len(saved) - 1}:
        path.write_bytes(saved[:length])
        with pytest.raises(DataError) as caught:
            load(path)
        assert "saved" in str(caught.value)
        assert "read" in str(caught.value)


@settings(max_examples=50)
@given(st.data())
def test_every_changed_byte_is_refused(saved, tmp_path_factory, data):
    at = data.draw(st.integers(0, len(saved) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda v: v != saved[at]))
    path = tmp_path_factory.mktemp("flip") / "fit"
    path.write_bytes(saved[:at] + bytes([value]) + saved[at + 1 :])
    try:
        fit = load(path)
    except DiscrimError:
        return
    # White space and the escapes of JSON leave some bytes without a meaning; numbers never change.
    path.write_bytes(saved)
    assert fit.predict_proba(IRIS).equals(load(path).predict_proba(IRIS))


def changing_description(change):
    """Return a change of header and body that applies `change` to the description of the fit."""

    def apply(header, body):
        fit = json.loads(header["__metadata__"]["fit"])
        change(fit)
        header["__metadata__"]["fit"] = json.dumps(fit)
        return header, body

    return apply


def changing_buffer(name, values):
    """Return a change of header and body that sets the first values of a buffer."""

    def apply(header, body):
        start, stop = header[name]["data_offsets"]
        held = np.frombuffer(body[start:stop], "<f8").copy()
        held[: len(values)] = values
        return header, body[:start] + held.tobytes() + body[stop:]

    return apply


def changing_shape(name, shape):
    """Return a change of header and body that sets the shape of a buffer."""

    def apply(header, body):
        header[name]["shape"] = shape
        return header, body

    return apply


HOSTILE = {
    "another model": changing_description(lambda fit: fit.update(model="os.system")),
    "no design": changing_description(lambda fit: fit.pop("design")),
    "code in the formula": changing_description(
        lambda fit: fit["design"].update(formula="species ~ __import__('os').getcwd()")
    ),
    "one class": changing_description(lambda fit: fit["design"].update(levels=["setosa"])),
    "unknown method": changing_description(lambda fit: fit["estimates"].update(method="exec")),
    "unknown covariance": changing_description(
        lambda fit: fit["estimates"]["covariance_model"].update({"class": "exec"})
    ),
    "an option more": changing_description(lambda fit: fit["estimates"].update(extra=1)),
    "ncomp": changing_description(lambda fit: fit["estimates"].update(ncomp=-1)),
    "columns it has not": changing_description(lambda fit: fit.update(keep=[0, 9])),
    "negative count": changing_buffer("counts", [-50.0]),
    "prior": changing_buffer("prior", [0.9, 0.9]),
    "negative prior": changing_buffer("prior", [-0.5, 1.0, 0.5]),
    "not a number": changing_buffer("centres", [np.nan]),
    "scale": changing_buffer("scale", [3.0]),
    "singular root": changing_buffer("roots", [0.0, 0.0, 0.0, 0.0]),
    "shape": changing_shape("centres", [2, 3]),
    "huge shape": changing_shape("centres", [2**40, 2**40]),
    "negative shape": changing_shape("centres", [-3, -2]),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_does_not_fit_together_is_refused(saved, tmp_path, case):
    header, body = HOSTILE[case](*split_file(saved))
    with pytest.raises(DiscrimError):
        load(write_file(tmp_path / "fit", header, body))


def test_a_wrong_checksum_is_refused(saved, tmp_path):
    header, body = changing_buffer("centres", [1.0])(*split_file(saved))
    with pytest.raises(DataError) as caught:
        load(write_file(tmp_path / "fit", header, body, checksum=False))
    assert "checksum" in str(caught.value)


def test_functions_are_passed_to_load(tmp_path):
    fit = lda("species ~ f(petal_width)", IRIS, functions={"f": double})
    fit.save(tmp_path / "fit")
    with pytest.raises(DataError) as caught:
        load(tmp_path / "fit")
    assert "'f'" in str(caught.value)
    again = load(tmp_path / "fit", functions={"f": double})
    assert again.predict_proba(IRIS).equals(fit.predict_proba(IRIS))


def test_failed_writes_keep_the_old_file_and_leave_no_temporary_file(tmp_path, system_fails):
    path = tmp_path / "fit"
    lda("species ~ .", IRIS).save(path)
    before = path.read_bytes()

    system_fails("replace", OSError("disk full"))
    with pytest.raises(OSError, match="disk full"):
        qda("species ~ .", IRIS).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["fit"]


def test_dropped_columns_stay_dropped(tmp_path):
    data = IRIS.assign(total=IRIS["sepal_width"] + IRIS["petal_width"])
    with pytest.warns(DroppedColumnsWarning, match="total"):
        fit = lda("species ~ .", data, collinear="drop")
    fit.save(tmp_path / "fit")
    assert load(tmp_path / "fit").predict_proba(data).equals(fit.predict_proba(data))


def changing_design_spec(change):
    """Return a change of header and body that applies `change` to the specification of the design."""
    return changing_description(lambda fit: change(fit["design"]["spec"]))


SLOW = {
    "calls": changing_design_spec(
        lambda spec: spec["factors"].extend(
            {**spec["factors"][0], "code": f"I(petal_width + {j}{' + petal_width' * 1300})"}
            for j in range(100)
        )
    ),
    "products": changing_design_spec(lambda spec: spec["products"].extend([[[0, -1]]] * 60_000)),
    "a product": changing_design_spec(lambda spec: spec["products"][0].extend([[0, -1]] * 60_000)),
    "picks": changing_design_spec(
        lambda spec: spec["codings"].append({"picks": [0] * 60_000, "matrix": None})
    ),
    "states": changing_design_spec(
        lambda spec: spec["factors"][0].update(
            states=[{"function": "center", "values": [["mean", [0.5] * 20_000]]}] * 20
        )
    ),
    "shape": changing_shape("centres", [2**39] * 100_000),
    "buffers": lambda header, body: (
        header
        | {f"b{j}": {"dtype": "F64", "shape": [0], "data_offsets": [len(body)] * 2} for j in range(100)},
        body,
    ),
}


@pytest.mark.parametrize("case", SLOW)
def test_slow_files_are_refused_before_reading(saved, tmp_path, case):
    path = write_file(tmp_path / "fit", *SLOW[case](*split_file(saved)))
    began = time.process_time()
    with pytest.raises(DiscrimError):
        load(path)
    assert time.process_time() - began < 0.6


@pytest.mark.slow
def test_a_wide_formula_is_read_in_time_linear_in_its_columns(tmp_path):
    data = pd.DataFrame(
        np.eye(6, 5_000) + np.arange(6)[:, None] % 4, columns=[f"a b{j}" for j in range(5_000)]
    )
    data = data.assign(x=np.arange(6.0) ** 2, y=["a", "b"] * 3)
    fit = shrunken_centroids("y ~ . + poly(x, 2)", data, threshold=0.1)
    fit.save(tmp_path / "fit")
    began = time.process_time()
    again = load(tmp_path / "fit")
    assert time.process_time() - began < 1
    assert again.predict_proba(data).equals(fit.predict_proba(data))
