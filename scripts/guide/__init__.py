"""The documentation site: its build, what is generated from the code, and its diagrams."""
