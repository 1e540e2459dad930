"""The engine: claims deliveries that are due, sends them, settles the outcomes, retries.

What a message contains is asked of channel handlers; where it goes, of destinations.
"""
