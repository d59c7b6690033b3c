"""Numerical tools that know no statistics of classes."""
