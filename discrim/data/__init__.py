"""Tables and columns of any library, and sources that are read in chunks, such as files and Dask."""
