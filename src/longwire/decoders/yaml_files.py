"""YAML without what could become large, or what is no JSON."""

import re
from typing import Any

import yaml

EVENTS_MAX = 50_000


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML with the words and numbers of its version 1.2: "on" and "2024-01-01" are texts.

    So are integers that not every parser of JSON takes, and all keys.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (as its library has it)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ValueError("a key is no text")
            key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?(?:0x[0-9a-fA-F]{1,15}|0|[1-9][0-9]{0,17})$", "-+0123456789"),
    (
        "float",
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$",
        "-+0123456789.",
    ),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)


def parse(text: str, levels_max: int) -> Any:
    """Of a bounded depth, without tags, and without aliases; raises ValueError.

    By an alias a short text could become a large value, by a tag one that is no JSON.
    """
    try:
        _check(text, levels_max)
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def _check(text: str, levels_max: int) -> None:
    level = 0
    for count, event in enumerate(yaml.parse(text, Loader=_EventLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("aliases are not taken")
        if getattr(event, "tag", None) is not None:
            raise ValueError("tags are not taken")
        level += isinstance(event, yaml.CollectionStartEvent)
        level -= isinstance(event, yaml.CollectionEndEvent)
        if level > levels_max or count > EVENTS_MAX:
            raise ValueError("is too large or too deep")


_EventLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
