"""What a report of a fit says: tables, tests, pictures, rows, and the code that repeats it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discrim.models.plots.pictured import Pictured

if TYPE_CHECKING:
    from os import PathLike


class Reported(Pictured):
    """Results with a report."""

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

        The ending of the file's name gives the format. HTML contains all that it shows and loads nothing from
        a server; it has light and dark colours, as its reader prefers, and can be printed. A document of Word
        (".docx") has headings, tables and pictures that can be edited. Markdown (".md"), and Quarto's
        (".qmd"), have their pictures in a folder beside them: "iris_pictures" of "iris.md". If a fit lacks
        something, such as the rows of a fit that was loaded, a sentence says so.

        The most useful pictures come first: the model, its confusion, its coefficients. Four are seen at
        once, two more are folded, and the page has a line of code for each of the others. Rows are judged
        left out, one by one or in ten folds, if that takes little time. Nearly all of the time goes into the
        pictures: a quarter of a second for each, and up to two with many columns or classes.

        Parameters
        ----------
        path : str or path
            The file to write, which ends in ".html", ".docx", ".md" or ".qmd". A file that is already there
            is replaced whole, or not at all.
        title : str, optional
            Title of the page; by default that of the model.
        load : str, optional
            Expression of Python that loads the table, for the code in the page, such as
            "pd.read_csv('penguins.csv')". Without it the code reads "data.csv" and says that this name is to
            be replaced.
        pictures : sequence of str, or "all", optional
            Kinds of pictures, as `plot` takes them; [] stands for none, and "all" for all that the fit has,
            except those that fit it again ("partition"). By default the first six of these.
        interactive : bool, default False
            Whether pictures are figures of plotly, as `plot` makes them, if they can be. The page has to be
            HTML. It then holds plotly's script, of 5 megabytes, and loads nothing from a server either.

        Raises
        ------
        DataError
            `path` is not a path, or ends otherwise; `title` is not a text, `load` is not an expression, or a
            picture is not known.
        NotSupportedError
            `interactive` is for a page of another format than HTML.
        UnwritableFileError
            The folder does not exist, the disk is full, or the like. A file that was there before is still
            there.

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
