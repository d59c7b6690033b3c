"""Linear classifiers by separation of the rows: the perceptron and the optimal separating hyperplane."""
