"""Mixtures of normals within classes: EM, covariance forms, initial partitions and missing values."""
