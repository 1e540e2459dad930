"""Destinations of connectors: one module for each type, with its parameters.

To add one, add its module, and its name to `catalogue.py`.
"""
