"""Pages with sections, tables, pictures and code, and their styles."""
