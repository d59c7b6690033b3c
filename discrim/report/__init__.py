"""Tables and pictures, from DataFrames and arrays; no model is imported here."""
