"""Numbers: arrays in, frozen dataclasses out; no column name is known here."""
