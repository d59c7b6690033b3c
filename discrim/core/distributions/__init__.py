"""Known distributions of class and observation: densities, integrals and the Bayes risk."""
