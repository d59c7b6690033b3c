"""Laws of rows of which values are missing, by what is observed of them."""
