"""longwire: connected devices in groups, what they say, and who hears it."""

__version__ = "0.2.0"
