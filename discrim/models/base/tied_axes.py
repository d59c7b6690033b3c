"""The warning that a number of axes separates axes of equal eigenvalues."""

from __future__ import annotations

from discrim.errors import TiedAxesWarning, warn_user


def warn_of_tied_axes(
    option: str, count: int, tie: tuple[int, int] | None, *, owner: str = "", most: int | None = None
) -> None:
    """Warn that the axes that are kept are arbitrary, if there is a tie.

    Parameters
    ----------
    option : str
        Option that says how many axes are kept, such as "components".
    count : int
        Number of axes that are kept.
    tie : (int, int) or None
        Numbers of the first and the last of the axes whose eigenvalues are equal, from `tied_axes`.
    owner : str
        What the axes are of, such as "class 'a'".
    most : int, optional
        Largest number that the option may have.
    """
    if tie is None:
        return
    first, last = tie
    where = f" of {owner}" if owner else ""
    others = [first - 1] * (first > 1) + [last] * (most is None or last <= most)
    hint = f"Choose {' or '.join(f'{option}={other}' for other in others)}." if others else ""
    warn_user(
        f"{option}={count} keeps axis {count}{where} and leaves out axis {count + 1}, but axes {first} to "
        f"{last} have equal eigenvalues. Which of their directions are kept is arbitrary, and the posteriors "
        f"depend on it, for example on the order of the rows. {hint}".rstrip(),
        TiedAxesWarning,
    )
