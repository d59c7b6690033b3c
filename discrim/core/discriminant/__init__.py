"""Estimates of discriminant analyses of normal classes, and the functions that compute them."""
