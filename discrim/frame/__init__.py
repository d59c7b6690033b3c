"""From what the user has to plain arrays, and back to names."""
