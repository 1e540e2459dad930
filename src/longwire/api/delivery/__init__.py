"""Operations on connectors, their deliveries and replays, and on notifications.

Wire shapes, permissions and short handlers; the rules belong to `longwire.delivery`.
"""
