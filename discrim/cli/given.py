"""The table of a verb, as it is named on the command line."""

from __future__ import annotations

from typing import Any, NamedTuple

from discrim.cli.labels import Labels
from discrim.cli.reading import read_table
from discrim.cli.sources import source_given
from discrim.errors import DataError

__all__ = ["Given", "given_of"]


class Given(NamedTuple):
    """A table as it is named on the command line.

    Attributes
    ----------
    data : str
        DATA.
    dialect : Dialect
        How CSV is written.
    """

    data: str
    dialect: Any

    def source(self, labels: Labels) -> Any:
        """What reads it part by part; None of what is read into memory."""
        return source_given(self.data, labels, self.dialect)

    def table(self, labels: Labels | None = None) -> Any:
        """It, read into memory."""
        return read_table(self.data, labels, self.dialect)


def given_of(options: dict[str, Any]) -> Given:
    """Take the options of the table from the others.

    Raises
    ------
    DataError
        The decimal sign is the sign between fields.
    """
    from discrim.frame.sources.dialect import Dialect

    data, separator, decimal = (options.pop(name, None) for name in ("data", "sep", "decimal"))
    dialect = Dialect(separator, decimal or ".")
    if dialect.separator_of(data) == dialect.decimal:
        raise DataError(
            f"numbers of {data!r} cannot have the decimal sign {dialect.decimal!r}, which stands between its "
            "fields: give --sep ';' or what there is between them"
        )
    return Given(data, dialect)
