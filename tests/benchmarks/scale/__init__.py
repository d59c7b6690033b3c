"""Tables larger than memory: what a fit takes beside what has to be read, and how it grows.

    python -m tests.benchmarks --only scale [--rows 20000000] [--folder FOLDER]

The rows are written to Parquet once; a FOLDER keeps them for the next time. Each figure is taken in a
process of its own, with one thread of BLAS, so that its peak of memory is its own.
"""
