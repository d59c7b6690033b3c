"""Rules on few directions: sparse scores of the classes, and partial least squares."""
