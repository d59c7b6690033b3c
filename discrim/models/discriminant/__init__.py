"""Models of normal classes: linear, quadratic, regularized."""
