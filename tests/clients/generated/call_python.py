"""Sends every request of calls.json with the generated Python client beside it.

python call_python.py CLIENT CALLS URL TOKEN
"""

import importlib
import json
import re
import sys
from pathlib import Path


def to_snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[ -]", "_", name).lower()


def to_argument(name: str) -> str:
    return "type_" if name == "type" else to_snake(name)


def main(package: str, calls: str, url: str, token: str) -> None:
    folder = Path(package)
    sys.path.insert(0, str(folder.parent))
    client = importlib.import_module(f"{folder.name}.client").AuthenticatedClient(
        base_url=url, token=token
    )
    problem = importlib.import_module(f"{folder.name}.models").Problem
    for call in json.loads(Path(calls).read_text()):
        name = f"{folder.name}.api.{to_snake(call['tag'])}.{to_snake(call['operation'])}"
        arguments = {to_argument(key): value for key, value in call["query"].items()}
        response = importlib.import_module(name).sync_detailed(client=client, **arguments)
        assert response.status_code == 200, (call, response.content)
        assert response.parsed is not None and not isinstance(response.parsed, problem), call
        print(call["operation"])


if __name__ == "__main__":
    main(*sys.argv[1:])
