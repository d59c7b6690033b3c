"""Covariances and variances shrunk, and the choice of how much."""
