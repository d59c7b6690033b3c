"""One file a classifier: its numbers, its pure fit function, its verb."""
