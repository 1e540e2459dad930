"""How people are told: one file for each way, with its parameters and one verb.

Adding one is adding its file, and its name to the list in `catalogue.py` beside this one.
"""
