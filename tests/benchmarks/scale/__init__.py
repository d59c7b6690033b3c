"""Tables larger than memory: the cost of a fit compared with reading the rows, and its growth.

    python -m tests.benchmarks --only scale [--rows 20000000] [--folder FOLDER]

The rows are written to Parquet once; a FOLDER keeps them for later runs. Each figure is measured in a
process of
its own with one BLAS thread, so that peak memory can be attributed to it.
"""
