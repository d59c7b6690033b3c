"""Base classes of the results of fitted classifiers."""
