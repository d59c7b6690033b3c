"""Nearest neighbours and kernel density discriminant analysis."""
