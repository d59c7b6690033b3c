"""Rows of the design matrix, chunk by chunk: missing values, unseen levels, weights and groups."""
