"""Classes that are mixtures of normals: EM, and the forms of the components' covariances."""
