"""Reports, what became of them, and their files.

Never knows what a report is about.
"""
