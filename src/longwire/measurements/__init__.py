"""What records say: the values in their data.

Pure: from the data of a record to its values. It never reads or stores anything.
"""
