"""Error rates, assessment, calibration and leave-one-out of fitted models."""
