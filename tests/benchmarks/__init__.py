"""Speed and memory beside the peers: `python -m tests.benchmarks`."""
