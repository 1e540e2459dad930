"""The production code under a seed: simulated time, threads, network and disk, and a model.

`make simulate` runs it; docs/explanation/simulation.md says what it is. A run owns
its process: time and randomness are replaced in the whole interpreter, so tests start it as one.
"""
