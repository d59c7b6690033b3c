"""Decision rules: class scores of rows, posteriors, calibration and leave-one-out scores."""
