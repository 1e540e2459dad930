"""Notifications: triggers, schedules, geofences, and senders to people.

Messages are enqueued for the delivery engine, in the transaction that stores what triggered them.
Nothing here sends by itself; no HTTP towards callers, no SQL.
"""
