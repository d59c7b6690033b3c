"""Numbers of models whose columns are independent within classes."""
