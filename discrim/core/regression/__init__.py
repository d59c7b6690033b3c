"""Numbers of regressions of the class on the row."""
