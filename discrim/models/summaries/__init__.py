"""The sections of the summaries, a file for each kind of result."""
