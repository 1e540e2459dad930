"""The version of this package."""

import platform

__version__ = "0.2.0"
USER_AGENT = f"longwire-client/{__version__} python/{platform.python_version()}"
