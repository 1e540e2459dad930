"""Connectors and what is theirs: messages, replays, previews, metrics.

Uses the engine by its channels; the engine knows nothing of connectors.
"""
