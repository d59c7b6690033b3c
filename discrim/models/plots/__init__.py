"""The plots that models share: their kinds, options, rows and columns."""
