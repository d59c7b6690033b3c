"""Mixture discriminant analysis: classes that are mixtures of normal distributions, fitted by EM."""
