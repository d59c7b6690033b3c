"""A page of HTML that holds all it shows: sections, tables, pictures, code, and how they look."""
