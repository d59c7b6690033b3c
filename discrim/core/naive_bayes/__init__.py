"""Naive Bayes and nearest shrunken centroids: models with independent columns within classes."""
