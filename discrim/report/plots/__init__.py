"""Plots of labelled tables, independent of the models. matplotlib is imported only here, and only to draw."""
