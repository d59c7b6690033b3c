"""Sources of tables that are read in chunks, and writers of such tables."""
