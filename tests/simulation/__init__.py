"""The production code under a seed: simulated time, threads, network and disk, and a model of what must be true.

`make simulate` runs it; docs/explanation/simulation.md says what it found. A run owns its process: time and
randomness are replaced in the whole interpreter, so nothing here may be imported by other tests.
"""
