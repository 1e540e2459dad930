"""Where messages go: one file for each kind of destination, with one verb and its parameters.

Adding one is adding its file, and its name to the list in `catalogue.py` beside this one.
"""
