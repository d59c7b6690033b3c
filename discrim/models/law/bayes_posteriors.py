"""What a known law says of rows: posteriors, and the scores that they are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.rules.rules import log_posteriors, posteriors

__all__ = ["LawPosteriors"]

Floats = NDArray[np.float64]


class LawPosteriors(ABC):
    """Tables of posteriors, rows by classes."""

    classes: pd.Index

    @abstractmethod
    def _frame(self, data: Any, prior: Any) -> tuple[Floats, pd.Index]:
        """Scores (n, K) of rows, and their labels."""

    def predict_proba(self, data: Any = None, prior: Any = None) -> pd.DataFrame:
        """Posterior probabilities, rows by classes; missing for a row with probability zero in every class.

        Parameters
        ----------
        data : table with the law's columns, array (n, p), or values of the only column
            Rows. Without it, all values of a table of densities.
        prior : optional
            Prior probabilities, in any form that the verb takes; by default those of the law.
        """
        scores, index = self._frame(data, prior)
        return pd.DataFrame(posteriors(scores), index=index, columns=self.classes)

    def predict_log_proba(self, data: Any = None, prior: Any = None) -> pd.DataFrame:
        """Logarithms of the posterior probabilities, which are exact even where the posterior underflows.

        Parameters
        ----------
        data : table with the law's columns, array (n, p), or values of the only column
            Rows. Without it, all values of a table of densities.
        prior : optional
            Prior probabilities, in any form that the verb takes; by default those of the law.
        """
        scores, index = self._frame(data, prior)
        return pd.DataFrame(log_posteriors(scores), index=index, columns=self.classes)

    def decision_function(self, data: Any = None) -> pd.DataFrame:
        """Logarithms of prior times density, rows by classes.

        Parameters
        ----------
        data : table with the law's columns, array (n, p), or values of the only column
            Rows. Without it, all values of a table of densities.
        """
        scores, index = self._frame(data, None)
        return pd.DataFrame(scores, index=index, columns=self.classes)
