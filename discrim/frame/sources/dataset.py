"""Datasets of Arrow as sources: files that Arrow finds, with its filters, and with the schema that it has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs

from discrim.errors import DataError, UnreadableFileError
from discrim.frame.sources.parquet import BUFFER, file_batches
from discrim.frame.sources.parts import Part, Source, batch_rows, one_line

__all__ = ["DatasetSource"]


class DatasetSource(Source):
    """A dataset of Arrow, with its filter if it has one.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Files of Parquet on this machine, without a filter and with the types of the dataset, are read in
        short parts. Of all others Arrow holds a group of rows or more, and reads on one thread: on several
        it runs ahead of who takes the rows, up to a gigabyte.
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        super().__init__("the Arrow dataset", dataset.schema.names)

    def reads(self, path: str) -> bool:
        """Whether a file of this path is one of those that are read."""
        files = getattr(self._dataset, "files", ())
        return os.path.realpath(path) in {os.path.realpath(file) for file in files}

    @cached_property
    def _fragments(self) -> list[Any] | None:
        """Its files; None of one that is filtered, which does not say."""
        try:
            return list(self._dataset.get_fragments())
        except ValueError:
            return None

    @property
    def nrows(self) -> int | None:
        """Rows, by the ends of its Parquet files."""
        if self._rows is None and _format(self._dataset) == "parquet" and self._fragments is not None:
            try:
                return sum(int(fragment.count_rows()) for fragment in self._fragments)
            except (OSError, ValueError):
                return None
        return self._rows

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        asked = self.names if columns is None else columns
        if self._alike(asked):
            return (
                Part(pa.Table.from_batches([batch]).select(list(asked)), path, coded)
                for path in self._dataset.files
                for batch, coded in file_batches(path, asked)
            )
        return self._scanned(asked)

    def _alike(self, columns: tuple[str, ...]) -> bool:
        """Whether the files have these columns as the dataset says, and can be read by themselves."""
        local = isinstance(getattr(self._dataset, "filesystem", None), pa.fs.LocalFileSystem)
        # A format that was given may ask for other types than the files have, or decipher them.
        if not local or self._dataset.format != ds.ParquetFileFormat() or not self._fragments:
            return False
        try:
            schemas = [fragment.physical_schema for fragment in self._fragments]
        except (pa.ArrowException, OSError):
            return False
        types = {name: self._dataset.schema.field(name).type for name in columns}
        return all(
            schema.get_field_index(name) >= 0 and schema.field(name).type == dtype
            for schema in schemas
            for name, dtype in types.items()
        )

    def _scanned(self, asked: tuple[str, ...]) -> Iterator[Part]:
        options: dict[str, Any] = {}
        if _format(self._dataset) == "parquet":
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True, buffer_size=BUFFER
            )
        scanner = self._dataset.scanner(
            columns=list(asked),
            batch_size=batch_rows(len(asked)),
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
            **options,
        )
        last = None
        yield Part(scanner.projected_schema.empty_table())
        try:
            for tagged in scanner.scan_batches():
                last = getattr(tagged.fragment, "path", None)
                yield Part(pa.Table.from_batches([tagged.record_batch]), last)
        except (pa.ArrowException, OSError) as error:
            self._name_file(asked, last, error)
            raise

    def _name_file(self, columns: tuple[str, ...], last: str | None, error: Exception) -> None:
        """Raise an error that names the file at which a pass has failed: that read last, or a later one."""
        files = list(getattr(self._dataset, "files", ()))
        given: dict[str, Any] = {
            "format": _format_of(self._dataset),
            "filesystem": getattr(self._dataset, "filesystem", None),
        }
        for path in files[files.index(last) if last in files else 0 :]:
            try:
                file = ds.dataset(path, **given)
                held = [name for name in columns if name in file.schema.names]
                _read_all(file, held)
            except (pa.ArrowException, OSError) as fault:
                raise UnreadableFileError(
                    f"{path!r} of the Arrow dataset cannot be read: {one_line(fault)}. Write the file "
                    "again, or make the dataset without it."
                ) from error
            as_said = ds.dataset(path, schema=self._dataset.schema, **given)
            for name in held:
                try:
                    _read_all(as_said, [name])
                except (pa.ArrowException, OSError) as fault:
                    now, meant = (each.schema.field(name).type for each in (file, as_said))
                    raise DataError(
                        f"Column {name!r} of {path!r} is {now}, which does not become {meant}, as it is in "
                        f"the Arrow dataset: {one_line(fault)}. Write the file again with that type, or make "
                        "the dataset with a schema= that holds for all files."
                    ) from error


def _read_all(dataset: Any, columns: list[str]) -> None:
    for _ in dataset.to_batches(columns=columns):
        pass


def _format_of(dataset: Any) -> Any:
    return getattr(dataset, "format", None)


def _format(dataset: Any) -> str | None:
    return getattr(_format_of(dataset), "default_extname", None)
