"""`plot`, one method for all models: which kind of picture, and who draws it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discrim.errors import DataError, NotSupportedError
from discrim.models.fits.reading import check_word, listed, told
from discrim.models.kinds import Kind
from discrim.models.registry import BY_MODEL, resolve

if TYPE_CHECKING:
    from discrim.models.pictures.options import PictureOptions
    from discrim.report.plots.style import Axes


def kinds_of(results: Any, *, refits: bool = True) -> tuple[str, ...]:
    """Names of the kinds of pictures that a model has; some need rows, two columns, and the like.

    Without `refits`, those that fit the model again are left out.

    Examples
    --------
    >>> import discrim
    >>> kinds_of(discrim.knn("species ~ .", data=discrim.datasets.load_iris()))[:2]
    ('path', 'posteriors')
    """
    return tuple(kind.name for kind in BY_MODEL[results._model()].pictures if refits or not kind.refits)


class Pictured:
    """What can be drawn; for classes with a verb and a fit."""

    def plot(
        self: Any,
        kind: str | None = None,
        ax: Axes | None = None,
        *,
        data: Any = None,
        axes: Sequence[str] | None = None,
        columns: Sequence[str] | str | None = None,
        at: Any = None,
        method: str | None = None,
        level: float | None = None,
        structure: str | None = None,
        centred: bool | None = None,
        classes: Sequence[Any] | None = None,
        colors: Any = None,
        title: str | None = None,
    ) -> Axes:
        """Draw a picture.

        Parameters
        ----------
        kind : str, optional
            What to draw. By default it is the first kind that suits the fit; a name that is not known raises
            an error that lists the kinds of this model.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default those of a new figure. A picture with panels takes their
            place.
        data : table, optional
            New rows, with their response, in place of the rows of the fit.
        axes : two names of discriminants, optional
            For kinds that draw a plane of discriminants: the two, such as ("LD1", "LD3"); by default the
            first two.
        columns : name or names of columns, optional
            For kinds that draw columns: the two of a plane, the only one, or one for each panel.
        at : mapping or Series of column to value, optional
            For kinds that draw regions of more than two columns: the values at which the other columns are
            held; by default their means, or their most frequent levels.
        method : {"apparent", "loo", "cv"}, optional
            For kinds that judge the fit: which predictions of its rows are judged.
        level : float, optional
            Level of the intervals, or share of a class that its ellipse holds.
        structure : {"within", "total", "between"}, optional
            For kinds with structure correlations: those within classes (the default), over all rows, or of
            the means.
        centred : bool, optional
            For kind "ellipses": whether all have one centre, so that their shapes can be compared.
        classes : label or labels, optional
            For kinds that can show some of the classes: which.
        colors : mapping, sequence or str, optional
            Colours by class, in the order of the classes, or the name of a colormap of matplotlib.
        title : str, optional
            Title in place of the picture's own; "" for none.

        Returns
        -------
        Axes
            The axes drawn on. For a picture with panels they are the outer ones, whose `child_axes` are the
            panels.

        Raises
        ------
        DataError
            The kind is not known, or an option does not fit the kind, the columns or the classes.
        NotSupportedError
            The kind needs something that the fit does not have: rows, posteriors, or two columns.

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.lda("species ~ .", data=iris)
        >>> fit.plot("scores", title="Irises").get_title()
        'Irises'
        """
        from discrim.models.pictures.options import PictureOptions, asked_classes, asked_names

        check_word("structure", structure, ("within", "total", "between"), optional=True)
        axes, columns = asked_names("axes", axes), asked_names("columns", columns)
        chosen = asked_classes(classes)
        asked = PictureOptions(
            ax, data, axes, columns, at, method, level, structure, centred, chosen, colors, title
        )
        return drawn((self, self._subject()), BY_MODEL[self._model()].pictures, kind, asked)

    def _is_plane(self: Any) -> bool:
        """Whether the formula reads two columns, both of numbers."""
        from discrim.models.pictures.planes import numeric_columns

        design = self._fit.blocks.design
        return len(design.columns) == 2 == len(numeric_columns(design))


def drawn(shown: tuple[Any, ...], pictures: Sequence[Kind], name: str | None, asked: PictureOptions) -> Axes:
    """Draw the kind asked for of some pictures, or the first that suits.

    Parameters
    ----------
    shown : tuple
        What a picture is given before the options: results, and their fit where they are those of a model.
    """
    from discrim.report.plots.style import fonts_for, set_title

    kinds = {kind.name: kind for kind in pictures}
    check_word("kind", name, tuple(kinds), optional=True)
    kind = kinds[name] if name is not None else _first(shown, tuple(kinds.values()))
    if asked.title is not None and not isinstance(asked.title, str):
        raise DataError(f"title={told(asked.title)}: give a text.")
    for option in asked.given():
        if not _reads(kind, option):
            those = [each.name for each in kinds.values() if _reads(each, option)]
            other = f", or draw kind {listed(those)}" if those else ""
            raise NotSupportedError(f"{option}= does nothing for kind={kind.name!r}: leave it out{other}.")
    names = [*getattr(shown[0], "classes", ()), *getattr(shown[0], "terms", ())]
    with fonts_for([*names, asked.title or ""]):
        axes: Axes = resolve(kind.address)(*shown, asked)
        if asked.title is not None:
            set_title(axes, asked.title)
    return axes


def _reads(kind: Kind, option: str) -> bool:
    return option in kind.takes or (option in ("data", "colors") and option not in kind.leaves)


def _first(shown: tuple[Any, ...], kinds: tuple[Kind, ...]) -> Kind:
    for kind in kinds:
        if kind.first == "plane" and not shown[0]._is_plane():
            continue
        if kind.first == "chosen" and shown[1].path is None:
            continue
        return kind
    return kinds[-1]
