"""Regressions of the class on the row: indicators, flexible, logistic."""
