"""Planes between classes: the perceptron and the separating hyperplane."""
