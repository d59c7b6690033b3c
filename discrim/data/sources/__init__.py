"""Tables that are read part by part, and what is written so."""
