"""Saving replaces a file whole or not at all: links, modes, names, full disks, killed and many writers."""

from __future__ import annotations

import errno
import os
import pickle
import pwd
import stat
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discrim import knn, lda, load, shrunken_centroids
from discrim.core.numerics import atomic_write
from discrim.covariance import Shrunk
from discrim.data.sources.sinks import write_frames
from discrim.datasets import load_iris
from discrim.errors import DataError, DiscrimError, MissingFileError, NotSupportedError, UnwritableFileError
from discrim.models.base import fit_file, tensor_file

IRIS = load_iris()
OLD = lda("species ~ petal_width", IRIS)
NEW = lda("species ~ .", IRIS)
PART, WHOLE = list(OLD.terms), list(NEW.terms)


@pytest.fixture
def held(tmp_path):
    path = tmp_path / "fit"
    OLD.save(path)
    return path


def terms_of_saved_fit(path):
    return list(load(path).terms)


def file_names(folder):
    return sorted(os.listdir(folder))


def file_mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# As editors do it -----------------------------------------------------------------------------------------


def test_a_link_stays_a_link(tmp_path, held):
    link = tmp_path / "link"
    link.symlink_to("fit")
    NEW.save(link)
    assert link.is_symlink()
    assert terms_of_saved_fit(held) == WHOLE
    (tmp_path / "far").mkdir()
    dangling = tmp_path / "dangling"
    dangling.symlink_to("far/new")
    NEW.save(dangling)
    assert dangling.is_symlink()
    assert file_names(tmp_path / "far") == ["new"]
    assert file_names(tmp_path) == ["dangling", "far", "fit", "link"]


def test_a_link_into_a_missing_folder_is_refused(tmp_path):
    (tmp_path / "link").symlink_to("no/such")
    with pytest.raises(FileNotFoundError) as caught:
        NEW.save(tmp_path / "link")
    assert "folder" in str(caught.value)
    assert file_names(tmp_path) == ["link"]


@pytest.mark.parametrize("before", [0o600, 0o640, 0o644, 0o664, 0o755])
def test_a_file_keeps_its_mode(held, before):
    held.chmod(before)
    NEW.save(held)
    assert file_mode(held) == before
    assert terms_of_saved_fit(held) == WHOLE


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_of_any(tmp_path, mask):
    before = os.umask(mask)
    try:
        NEW.save(tmp_path / "fit")
    finally:
        os.umask(before)
    assert file_mode(tmp_path / "fit") == 0o666 & ~mask


def test_a_file_that_may_not_be_written_is_not_replaced(held, monkeypatch):
    monkeypatch.setattr(atomic_write.os, "access", lambda path, wanted: False)
    with pytest.raises(PermissionError) as caught:
        NEW.save(held)
    assert "read-only" in str(caught.value)
    assert terms_of_saved_fit(held) == PART


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "-", " ", "a\nb", "fit.tmp", b"bytes\xff", "~"])
def test_any_name_that_the_system_takes(tmp_path, name):
    path = Path(os.path.join(tmp_path, os.fsdecode(name)))
    NEW.save(path)
    NEW.save(path)
    assert terms_of_saved_fit(path) == WHOLE
    assert file_names(tmp_path) == [os.fsdecode(name)]


@pytest.mark.parametrize("name", ["n" * 256, "no/such/fit"])
def test_a_name_that_it_does_not_take_is_in_the_error(tmp_path, name):
    with pytest.raises(OSError, match=name.split("/")[0]):
        NEW.save(tmp_path / name)
    assert file_names(tmp_path) == []


def test_invalid_paths_are_named(tmp_path):
    for path in (None, 3.5, ["fit"]):
        with pytest.raises(DataError) as caught:
            NEW.save(path)
        assert "path" in str(caught.value)
        with pytest.raises(DataError) as caught:
            load(path)
        assert "path" in str(caught.value)
    for name in ("a\0b", "\ud800.fit"):
        with pytest.raises(ValueError, match=r"null|surrogates"):
            NEW.save(tmp_path / name)
    assert file_names(tmp_path) == []
    for call in (NEW.save, load, NEW.report):
        with pytest.raises(DataError) as caught:
            call("")
        assert "empty" in str(caught.value)
        assert "path" in str(caught.value)


def test_a_pipe_or_a_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", os.devnull):
        with pytest.raises(OSError, match="a device, a pipe or a socket"):
            NEW.save(path)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


# Nothing but whole fits -----------------------------------------------------------------------------------


def error_of(call, *given):
    """Return number and file of the OSError that a call raises, or None."""
    try:
        call(*given)
    except OSError as error:
        return error.errno, error.filename
    return None


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
def test_a_call_that_fails_leaves_a_whole_fit(held, monkeypatch, call, number):
    working = getattr(os, call)
    for which in range(4):
        calls = []

        def fails(*given, calls=calls, which=which, **more):
            calls.append(given)
            if len(calls) == which + 1:
                raise OSError(number, os.strerror(number))
            return working(*given, **more)

        with monkeypatch.context() as patched:
            patched.setattr(os, call, fails)
            message = error_of(NEW.save, held)
        assert message in (None, (number, str(held)))
        assert terms_of_saved_fit(held) in (PART, WHOLE)
        assert file_names(held.parent) == ["fit"]
        OLD.save(held)


@pytest.mark.slow
def test_a_disk_that_fills_up_leaves_the_old_fit(tmp_path):
    # Files of this process may have so many bytes: writing fails within the header, or within a buffer.
    script = """
import os, resource, sys
from discrim import lda, load
from discrim.datasets import load_iris
old, new = lda("species ~ petal_width", load_iris()), lda("species ~ .", load_iris())
path = sys.argv[1]
new.save(path)
whole = os.path.getsize(path)
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for size in (0, 5, 100, whole // 2, whole - 1):
    old.save(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        new.save(path)
    except OSError as error:
        print(error.errno, error.filename == path, *load(path).terms, *os.listdir(os.path.dirname(path)))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
"""
    command = [sys.executable, "-c", script, str(tmp_path / "fit")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{errno.EFBIG} True petal_width fit\n" * 5


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interrupted_save_leaves_the_old_fit(held, system_fails, stop):
    system_fails("fsync", stop())
    with pytest.raises(stop):
        NEW.save(held)
    assert terms_of_saved_fit(held) == PART
    assert file_names(held.parent) == ["fit"]


WRITERS = """
import os, random, signal, sys, time
from discrim import lda, load
from discrim.datasets import load_iris
fits = [lda("species ~ petal_width", load_iris()), lda("species ~ .", load_iris())]
path = sys.argv[1]

def started():
    child = os.fork()
    if not child:
        while True:
            for fit in fits:
                fit.save(path)
    return child

def ended(child):
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -1
"""


def run_script(script, path):
    """Run a script after `WRITERS` in a process of its own and return its output."""
    command = [sys.executable, "-c", WRITERS + script, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@pytest.mark.slow
def test_a_save_that_is_killed_leaves_a_whole_fit(held):
    script = """
random.seed(14)
for _ in range(30):
    child = started()
    time.sleep(random.uniform(0, 0.1))
    os.kill(child, signal.SIGKILL)
    print(ended(child), len(load(path).terms))
"""
    assert set(run_script(script, held).splitlines()) == {"9 1", "9 4"}


@pytest.mark.slow
def test_three_writers_of_one_file(held):
    script = """
children = [started() for _ in range(3)]
end = time.monotonic() + 60
seen = []
while time.monotonic() < end and (len(seen) < 100 or len(set(seen)) < 2):
    seen.append(len(load(path).terms))
for child in children:
    os.kill(child, signal.SIGKILL)
print(sorted(set(seen)), *map(ended, children))
"""
    assert run_script(script, held) == "[1, 4] 9 9 9\n"


# What is saved can be loaded --------------------------------------------------------------------------------


def wide(n, p, name="g{}"):
    rng = np.random.default_rng(p)
    data = pd.DataFrame(rng.normal(size=(n, p)), columns=[name.format(j) for j in range(p)])
    return data.assign(y=np.tile(["a", "b"], n // 2))


def check_same(fit, path, data, functions=None):
    fit.save(path)
    again = load(path, functions=functions)
    pd.testing.assert_frame_equal(again.predict_proba(data), fit.predict_proba(data), check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda data: shrunken_centroids("y ~ .", data, threshold=0.1), marks=pytest.mark.exhaustive
        ),
        lambda data: lda("y ~ .", data, covariance=Shrunk(standardize=True)),
        pytest.param(lambda data: knn("y ~ .", data, k=1), marks=pytest.mark.exhaustive),
    ],
)
def test_a_microarray_is_saved_and_loaded(tmp_path, make):
    data = wide(6, 54_675)
    check_same(make(data), tmp_path / "fit", data)


@pytest.mark.slow
def test_names_that_fill_more_than_64_mib(tmp_path):
    data = wide(4, 4, "{}" + "n" * 9_000_000)
    check_same(lda("y ~ .", data, covariance="diagonal"), tmp_path / "fit", data)
    assert (tmp_path / "fit").stat().st_size > 64 * 2**20


def many_columns(x):
    return np.outer(x, np.arange(1.0, 1201.0)) + np.arange(1200.0) ** 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        pytest.param("center(f(x))", marks=pytest.mark.exhaustive),
        pytest.param("scale(f(x))", marks=pytest.mark.exhaustive),
        "standardize(f(x))",
    ],
)
def test_a_state_as_wide_as_its_function(tmp_path, call):
    functions = {"f": many_columns}
    data = IRIS.rename(columns={"petal_width": "x"})
    fit = lda(f"species ~ {call}", data, functions=functions, covariance="diagonal")
    check_same(fit, tmp_path / "fit", data, functions)


def test_a_fit_whose_file_would_not_load_is_not_saved(held, monkeypatch):
    def spoilt(*_, **__):
        raise RuntimeError("spoilt")

    monkeypatch.setattr(fit_file, "check_description", spoilt)
    with pytest.raises(NotSupportedError) as caught:
        NEW.save(held)
    assert "Pickle" in str(caught.value)
    assert "could" in str(caught.value)
    monkeypatch.undo()
    assert terms_of_saved_fit(held) == PART
    monkeypatch.setattr(tensor_file, "MAX_HEADER_BYTES", 1000)
    with pytest.raises(DataError) as caught:
        NEW.save(held)
    assert "cannot be" in str(caught.value)
    monkeypatch.undo()
    assert terms_of_saved_fit(held) == PART
    assert file_names(held.parent) == ["fit"]


# What is loaded ---------------------------------------------------------------------------------------------


def test_a_pipe_a_device_or_a_folder_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to the pipe").symlink_to("pipe")
    for path in (tmp_path / "pipe", tmp_path / "to the pipe", "/dev/zero", os.devnull, tmp_path):
        if os.path.exists(path):
            with pytest.raises(DataError) as caught:
                load(path)
            assert "save()" in str(caught.value)


def sparse(path, start, size):
    with open(path, "wb") as file:
        file.write(start)
        file.truncate(size)
    return path


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"a,b\n1,2\n" * 9,
        (10**9).to_bytes(8, "little") + b"{",
        (2**29).to_bytes(8, "little") + b"{",
        (2**20).to_bytes(8, "little") + b"{" * 9,
    ],
    ids=["zeros", "CSV", "too long a header", "a long header", "no JSON"],
)
def test_a_large_file_is_refused_without_reading_it(tmp_path, start):
    path = sparse(tmp_path / "large", start, 1_500_000_000)
    began = time.perf_counter()
    with pytest.raises(DataError) as caught:
        load(path)
    assert "saved" in str(caught.value)
    assert "read" in str(caught.value)
    assert time.perf_counter() - began < 1


def test_a_header_of_many_names_is_refused_before_it_is_parsed(tmp_path):
    header = b"{" + b",".join(b'"%d":0' % number for number in range(10**6)) + b"}"
    (tmp_path / "names").write_bytes(len(header).to_bytes(8, "little") + header)
    tracemalloc.start()
    with pytest.raises(DataError) as caught:
        load(tmp_path / "names")
    assert "saved" in str(caught.value)
    assert "read" in str(caught.value)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 * len(header)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        load(tmp_path / "none.fit")
    assert "does not exist" in str(caught.value)
    assert "file" in str(caught.value)
    with pytest.raises(DataError) as caught:
        load(tmp_path / "none.fit")
    assert "save" in str(caught.value)
    with pytest.raises(DataError) as caught:
        load(tmp_path / ("n" * 300))
    assert "read" in str(caught.value)


@pytest.mark.parametrize("end", sorted({"/", os.sep, "//"}))
def test_paths_that_end_in_a_separator_are_folders(end, tmp_path):
    """pathlib drops the separator, and what was meant for a folder would be a file of its name."""
    place = f"{tmp_path}{os.sep}z.fit{end}"
    for path in (place, os.fsencode(place)):
        with pytest.raises(IsADirectoryError) as caught:
            NEW.save(path)
        assert "folder" in str(caught.value)
        assert "This" in str(caught.value)
    assert not os.listdir(tmp_path)
    (tmp_path / "z.fit").mkdir()
    NEW.save(f"{place}fit")
    assert os.listdir(tmp_path / "z.fit") == ["fit"]


WRITING = {
    "save": lambda fit, path: fit.save(path),
    "report": lambda fit, path: fit.report(path, pictures=[]),
    "predict": lambda fit, path: write_frames([fit.predict().to_frame()], path),
}
FILES = dict.fromkeys(WRITING, "x.csv") | {"report": "x.html"}


@pytest.mark.parametrize("name", WRITING)
def test_unwritable_files_raise_errors_of_the_package_and_the_system(name, tmp_path):
    fit, write = lda("species ~ .", IRIS), WRITING[name]
    absent = tmp_path / "absent" / FILES[name]
    with pytest.raises(DiscrimError) as raised:
        write(fit, absent)
    assert isinstance(raised.value, FileNotFoundError | UnwritableFileError)
    assert raised.value.errno == errno.ENOENT
    assert raised.value.message == f"There is no such folder: {str(absent.parent)!r}."
    assert raised.value.hint
    assert pickle.loads(pickle.dumps(raised.value)).filename == str(absent.parent)


@pytest.mark.parametrize("name", WRITING)
def test_errors_name_a_full_disk(name, tmp_path, system_fails):
    system_fails("fsync", OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(UnwritableFileError) as raised:
        WRITING[name](lda("species ~ .", IRIS), tmp_path / FILES[name])
    assert "disk" in str(raised.value)
    assert "full" in str(raised.value)
    assert raised.value.filename == str(tmp_path / FILES[name])
    assert list(tmp_path.iterdir()) == []


def test_tildes_expand_to_home_folders(tmp_path):
    home = f"~{pwd.getpwuid(os.getuid()).pw_name}"
    here = f"{home}/{os.path.relpath(tmp_path, os.path.expanduser(home))}"
    fit = lda("species ~ .", IRIS)
    fit.save(f"{here}/irises")
    load_iris().to_csv(tmp_path / "iris.csv", index=False)
    assert file_names(tmp_path) == ["iris.csv", "irises"]
    assert lda("species ~ .", f"{here}/iris.csv").formula == load(f"{here}/irises").formula
    with pytest.raises(MissingFileError) as caught:
        lda("species ~ .", "~nobody-of-that-name/iris.csv")
    assert "user" in str(caught.value)


def test_a_link_to_a_missing_file_names_that_file(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "gone.csv")
    with pytest.raises(MissingFileError) as caught:
        lda("species ~ .", link)
    assert "gone.csv" in str(caught.value)


@pytest.mark.parametrize("write", [NEW.save, NEW.report, lambda path: NEW.predict(IRIS, out=path)])
def test_a_name_that_is_too_long_is_an_error_of_the_package(write, tmp_path):
    path = tmp_path / ("a" * 400 + ".csv")
    with pytest.raises(UnwritableFileError) as raised:
        write(path)
    assert raised.value.errno == errno.ENAMETOOLONG
    assert raised.value.filename == str(path)
