"""What ends a command with a message."""


class CommandError(Exception):
    """Something that whoever typed the command can fix: printed without a traceback."""
