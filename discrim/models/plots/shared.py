"""Lists of plots that several models share."""

from __future__ import annotations

from discrim.models.plots.evaluation import calibration, confusion, posteriors, precision_recall, roc, simplex
from discrim.models.plots.planes import partition, regions
from discrim.models.plots.spaces import biplot, he, pairs, scores, scree, structure, territory

POSTERIOR_PLOTS = (posteriors, partition, pairs, simplex, confusion, roc, precision_recall, calibration)
"""Plots of models with posteriors, except the regions of the classes."""

WITH_POSTERIORS = (regions, *POSTERIOR_PLOTS)
"""Plots of models with posteriors."""

DISCRIMINANT_PLOTS = (scores, biplot, territory, structure, scree, he)
"""Plots of models with canonical discriminants."""
