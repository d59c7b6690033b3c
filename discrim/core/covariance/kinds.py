"""The covariance models that a file can contain, for reading fits."""

from __future__ import annotations

from discrim.core.covariance.adjusted import CovariateAdjustedCovariance
from discrim.core.covariance.by_estimator import EstimatorCovariance
from discrim.core.covariance.correlation import ShrunkCorrelationCovariance
from discrim.core.covariance.diagonal import DiagonalCovariance, ShrunkDiagonalCovariance
from discrim.core.covariance.em import EMCovariance, IncompleteEMCovariance
from discrim.core.covariance.factor import FactorAnalyticCovariance
from discrim.core.covariance.model import CovarianceModel, FullCovariance
from discrim.core.covariance.nonlinear import NonlinearCovariance
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.covariance.pseudo_inverse import PseudoInverseCovariance
from discrim.core.covariance.robust import MCDCovariance, StudentTCovariance
from discrim.core.covariance.separable import SeparableCovariance
from discrim.core.covariance.shrunk import ShrunkCovariance
from discrim.core.covariance.sliced import SAVECovariance
from discrim.core.covariance.spherical import SphericalCovariance

COVARIANCE_MODELS: tuple[type[CovarianceModel], ...] = (
    FullCovariance,
    DiagonalCovariance,
    ShrunkDiagonalCovariance,
    ShrunkCovariance,
    NonlinearCovariance,
    ShrunkCorrelationCovariance,
    SphericalCovariance,
    PseudoInverseCovariance,
    FactorAnalyticCovariance,
    EstimatorCovariance,
    CovariateAdjustedCovariance,
    SeparableCovariance,
    EMCovariance,
    IncompleteEMCovariance,
    StudentTCovariance,
    MCDCovariance,
    SubspaceCovariance,
    SAVECovariance,
)
"""Classes of all covariance models that a file can contain."""
