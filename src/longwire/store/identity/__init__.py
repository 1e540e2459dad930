"""Rows of people, groups, roles and credentials, and of who may what.

Filters by the scope that it is handed; decides nothing about permissions itself.
"""
