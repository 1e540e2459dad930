"""Street maps that the operator adds: PMTiles files with vector tiles, checked, cut and kept.

The format is `pmtiles.py`; `cutting.py` takes the tiles of an area out of a large file, on this
machine or on a server; `folder.py` has the one file that the console's map shows. Draws nothing.
"""
