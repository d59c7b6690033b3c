"""Linear models of several responses: mlm, manova, permanova, repeated measures."""
