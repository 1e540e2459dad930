"""longwire: connected devices in groups, what they send, and who receives it."""

__version__ = "0.2.0"
