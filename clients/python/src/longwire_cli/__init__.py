"""The command line of the client: `longwire`, for laptops.

Its commands talk to a service over HTTP with `longwire_client`, and need nothing of the service's
own code, its settings or its database: `profiles` knows where the service is and who we are there,
`connection` opens a client, `output` prints what it returns. `demo` and `simulation` have simulated
fleets. Where the service is installed beside it, `longwire` has the operator's commands as well.
"""

import importlib
import sys
from importlib.util import find_spec


def main() -> None:
    """Run `longwire`, as the service does where it is installed."""
    try:
        module = "longwire.cli" if find_spec("longwire") else "longwire_cli.commands"
        importlib.import_module(module).main()
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.exit(f"longwire: {error.name} is missing, of the client's extra `cli`")
