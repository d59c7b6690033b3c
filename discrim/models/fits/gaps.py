"""What becomes of new rows that have a gap: a missing value, or a level that the fit has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discrim.frame.unseen import Unseen
from discrim.models.fits.arguments import check_word

__all__ = ["AS_FITTED", "Gaps", "Missing"]

Missing = Literal["drop", "integrate"]
"""What is said of new rows with a missing value: nothing, or what their other columns tell."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """What becomes of new rows that have a gap.

    Attributes
    ----------
    unseen : {"raise", "missing"} or None
        A level that the fit has not seen is an error, or a missing value; None for what the fit does.
    missing : {"drop", "integrate"} or None
        Of a row with a missing value all answers are missing, or the missing columns are integrated out;
        None for what the fit does.

    Raises
    ------
    DataError
        Other words.
    """

    unseen: Unseen | None = None
    missing: Missing | None = None

    def __post_init__(self) -> None:
        check_word("unseen", self.unseen, ("raise", "missing"), optional=True)
        check_word("missing", self.missing, ("drop", "integrate"), optional=True)


AS_FITTED = Gaps()
"""What the fit does of its own."""
