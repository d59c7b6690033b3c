"""Processor time of searches: tuning parameters, folds, leave-one-out, and default pictures."""
