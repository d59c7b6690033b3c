"""Log odds as columns of a table of models, as the package maketables asks for them.

maketables reads attributes whose names begin with `__maketables_`; of results with several equations it takes
what `to_list()` gives, a column each. It need not be installed, and nothing is imported for it.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from discrim.models.fits.labels import missing_if_refused

__all__ = ["Equation", "LogOddsEquations"]

INTERVALS = {0.95: ("ci95l", "ci95u"), 0.90: ("ci90l", "ci90u")}

STATISTICS = {"N": "nobs", "df_model": "df_model"}
OF_CLASS_GIVEN_ROW = {"ll": "llf", "llnull": "llnull", "pseudo_r2": "prsquared", "aic": "aic", "bic": "bic"}
"""Keys of maketables' statistics, and a fit's names of them. A likelihood of class and row does not go beside
those of other packages, which are of the class given the row."""


class Hooks:
    """What an equation and all equations of a fit have in common."""

    _equations_of: Any

    def __maketables_stat__(self, key: str) -> Any:
        """A statistic by maketables' key, or None."""
        fit = self._equations_of
        names = STATISTICS | (OF_CLASS_GIVEN_ROW if fit.likelihood_of == "class given row" else {})
        return missing_if_refused(fit, names[key]) if key in names else None

    @property
    def __maketables_fixef_string__(self) -> None:
        return None

    @property
    def __maketables_var_labels__(self) -> None:
        return None

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        fit = self._equations_of
        given_row = fit.likelihood_of == "class given row"
        kind = getattr(fit, "cov_type", "nonrobust")
        if kind != "nonrobust":
            return {"vcov_type": kind, "clustervar": fit._fit.numbers.robust.grouped_by or None}
        return {"vcov_type": "information" if given_row else "delta method", "clustervar": None}

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        given_row = self._equations_of.likelihood_of == "class given row"
        return ["N", "pseudo_r2", "ll"] if given_row else ["N"]


class Equation(Hooks):
    """Log odds of one class against the reference, a column of maketables' ETable.

    Attributes
    ----------
    label : label
        The class.
    """

    def __init__(self, fit: Any, label: Any, table: pd.DataFrame) -> None:
        self._equations_of = fit
        self._table = table
        self.label = label

    def __repr__(self) -> str:
        return f"<log odds of {self.__maketables_depvar__}>"

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        return self._table.copy()

    @property
    def __maketables_depvar__(self) -> str:
        return f"{self._equations_of.classes.name}: {self.label}"


class LogOddsEquations(Hooks):
    """The equations of log odds, for results that have `log_odds`."""

    @property
    def _equations_of(self) -> Any:
        return self

    def to_list(self: Any) -> list[Equation]:
        """The log odds of each class against the reference, as columns of a table of models.

        The package maketables calls this method to print the fit beside those of other packages. The
        coefficients have the names of formulas, with "Intercept" for the constant, so that the same terms of
        several models stand in one row.

        Returns
        -------
        list of Equation

        Raises
        ------
        NotSupportedError
            The fit has no `log_odds`.

        Examples
        --------
        >>> import discrim
        >>> fit = discrim.lda("species ~ petal_length", discrim.datasets.load_iris())
        >>> fit.to_list()
        [<log odds of species: versicolor>, <log odds of species: virginica>]
        >>> fit.to_list()[0].__maketables_coef_table__.round(2)[["b", "se", "t"]].rename_axis(None)
                          b    se     t
        Intercept    -43.23  5.26 -8.22
        petal_length  15.11  1.82  8.29

        Where maketables is installed, ``maketables.ETable([fit, others])`` prints the table.
        """
        table = coefficients(self)
        labels = table.index.get_level_values(0).unique()
        return [Equation(self, label, table.loc[label].rename_axis("Coefficient")) for label in labels]

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        table = coefficients(self)
        names = [term if len(self.classes) == 2 else f"{label}, {term}" for label, term in table.index]
        return table.set_axis(pd.Index(names, name="Coefficient"))

    @property
    def __maketables_depvar__(self) -> str:
        return str(self.classes.name)

    classes: pd.Index


def coefficients(fit: Any) -> pd.DataFrame:
    """Log odds by (class, term) in maketables' names: b, se, t, p and the ends of two intervals."""
    found = fit.log_odds()
    table = found[["coef", "se", "z", "p"]].set_axis(["b", "se", "t", "p"], axis=1)
    for level, ends in INTERVALS.items():
        table[list(ends)] = fit.log_odds(level=level)[["low", "high"]].to_numpy()
    constant = "(Intercept)" if "Intercept" in fit.terms else "Intercept"
    labels, terms = found.index.get_level_values(0), found.index.get_level_values(1)
    # The first row of each class is the constant, whatever a column is called.
    names = [constant if i % (len(fit.terms) + 1) == 0 else str(term) for i, term in enumerate(terms)]
    named: pd.DataFrame = table.set_axis(pd.MultiIndex.from_arrays([labels, names], names=found.index.names))
    return named
