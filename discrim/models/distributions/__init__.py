"""Bayes classifier of a fully specified distribution (priors and class densities)."""
