"""Files of fits: their layout, how they are written, and how they are checked as they are read."""
