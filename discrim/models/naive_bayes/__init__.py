"""Models with independent columns within classes: naive Bayes and nearest shrunken centroids."""
