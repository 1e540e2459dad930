"""What can go wrong in a demo."""


class DemoError(Exception):
    """The service refused what the demo asked for."""


class ServiceUnreachable(DemoError):
    """There is no service at this URL, or not any more."""
