"""Checks of `longwire doctor`: what is wrong with settings, machine, database and surroundings.

Each check returns findings, never raises, changes nothing that is kept, and shows no secret. They
work while the service runs and while it does not.
"""
