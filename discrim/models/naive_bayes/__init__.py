"""Models whose columns are independent within classes: naive Bayes, shrunken centroids."""
