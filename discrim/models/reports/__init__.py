"""What a report of a fit says: tables, tests, pictures, rows, and the code that repeats it."""
