"""Run kernel.py before the first cell of a page, without leaving names in the namespace of the cells."""

__import__("runpy").run_path(__file__.replace("startup.py", "kernel.py"))
