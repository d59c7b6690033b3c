"""The method `report` of all results: a page on a fit with plots, tables, and the code that repeats it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discrim.models.plots.plottable import PlottableResults

if TYPE_CHECKING:
    from os import PathLike


class ReportMethods(PlottableResults):
    """Base class of results with a method `report`."""

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        load: str | None = None,
        pictures: Sequence[str] | None = None,
        interactive: bool = False,
    ) -> None:
        """Write a page: pictures, summary, errors, tests, how it was fitted, its data and code.

        The extension of the file name determines the format. HTML is self-contained and loads nothing from a
        server; it has light and dark colours, according to the settings of the reader, and can be printed. A
        document of Word (".docx") has headings, tables and pictures that can be edited. Markdown (".md"), and
        Quarto's (".qmd"), have their pictures in a folder next to them: "iris_pictures" for "iris.md". If a
        fit lacks something, such as the rows of a fit that was loaded, a sentence states it.

        The most useful pictures come first: the model, its confusion, its coefficients. Four are
        visible, two more are folded, and the page has a line of code for each of the others. Error rates are
        by leave-one-out or ten folds if that is fast. Most of the time is needed for the pictures: a quarter
        of a second for each, and up to two with many columns or classes.

        Parameters
        ----------
        path : str or path
            The file to write, which ends in ".html", ".docx", ".md" or ".qmd". A file that is already there
            is replaced whole, or not at all.
        title : str, optional
            Title of the page; by default the title of the model.
        load : str, optional
            Expression of Python that loads the table, for the code in the page, such as
            "pd.read_csv('penguins.csv')". Without it the code reads "data.csv" and has a comment to
            replace this name.
        pictures : sequence of str, or "all", optional
            Kinds of pictures, see `plot`; [] stands for none, and "all" for all kinds of the fit, except
            kinds that refit it ("partition"). By default the six most useful ones.
        interactive : bool, default False
            Whether pictures are plotly figures, for kinds that support it. The page has to be HTML. It then
            contains the plotly script of 5 megabytes, and loads nothing from a server either.

        Raises
        ------
        DataError
            `path` is not a path, or ends otherwise; `title` is not a text, `load` is not an expression, or a
            picture is unknown.
        NotSupportedError
            `interactive` is for a page of another format than HTML.
        UnwritableFileError
            The folder does not exist, the disk is full, or another error of the operating system occurred.
            An existing file is not changed.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import discrim
        >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.report(f"{folder}/iris.html", title="Irises", load="discrim.datasets.load_iris()")
        ...     Path(folder, "iris.html").read_text(encoding="utf-8").count("<h2")
        7
        """
        from discrim.models.report.report import write_report

        write_report(self, path, title, load, pictures, interactive)
