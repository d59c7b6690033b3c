"""What IPython runs before the first cell, and in the cells' own names: it leaves none there."""

__import__("runpy").run_path(__file__.replace("startup.py", "kernel.py"))
