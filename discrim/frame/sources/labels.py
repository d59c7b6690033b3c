"""Files of CSV some of whose columns hold labels, which are read as they are written there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from discrim.core.numerics.progress import late_bar
from discrim.frame.sources.csv import CSVSource
from discrim.frame.sources.dialect import Dialect
from discrim.frame.sources.files import Files
from discrim.frame.sources.parts import Part, Source
from discrim.frame.written_labels import with_type

__all__ = ["WrittenLabels"]


class WrittenLabels(Source):
    """Files of CSV whose labels are no measurements.

    Parameters
    ----------
    files : Files
    as_text : callable
        Which of the columns it is given are read as text.
    typed : collection of str
        Those of them that become numbers or truth values where nothing is lost. That takes a pass over
        them, since all labels together tell it.
    dialect : Dialect, optional
        How the files are written.
    """

    def __init__(
        self,
        files: Files,
        as_text: Callable[[Sequence[str]], list[str]],
        typed: frozenset[str],
        dialect: Dialect | None = None,
    ) -> None:
        self._inner = CSVSource(files, as_text, dialect)
        self._typed = typed
        self._known: dict[str, pd.Series] = {}
        super().__init__(self._inner.what, self._inner.names)

    def reads(self, path: str) -> bool:
        """Whether a file of this path is, or would be, one of those that are read."""
        return self._inner.reads(path)

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        typed = [name for name in (self.names if columns is None else columns) if name in self._typed]
        parts = self._inner.begun(columns)
        self._learn([name for name in typed if name not in self._known])
        for part in parts:
            found = {name: _of_type(part.data[name], self._known[name]) for name in typed}
            yield Part(part.data.assign(**found) if found else part.data, part.where)

    def _learn(self, columns: Sequence[str]) -> None:
        """Learn the type of columns that are read as text."""
        if not columns:
            return
        seen: dict[str, dict[Any, None]] = {name: {} for name in columns}
        with late_bar(0, "labels") as tell:
            for part in self._inner.begun(tuple(columns)):
                for name in columns:
                    seen[name].update(dict.fromkeys(part.data[name].unique().tolist()))
                tell(len(part.data))
        for name in columns:
            texts = [text for text in seen[name] if isinstance(text, str)]
            missing = [None] * (len(texts) < len(seen[name]))
            values = pd.Series([*texts, *missing], index=[*texts, *missing], dtype=object)
            self._known[name] = with_type(values)


def _of_type(texts: pd.Series, known: pd.Series) -> pd.Series:
    """Texts as the labels that they are known for."""
    places = known.index.get_indexer(pd.Index(texts.astype(object).where(texts.notna(), None)))
    return known.iloc[places].set_axis(texts.index)
