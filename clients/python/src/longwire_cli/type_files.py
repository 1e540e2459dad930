"""The files of one device out of a folder: of ChirpStack's profiles or The Things Network's.

A folder of a maker has many devices. What a device needs is named in its own file, or in a file
that is named there, so nothing has to be understood here: the service does that.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from longwire_cli.errors import CommandError
from longwire_cli.terminal import printable_lines

SUFFIXES = (".toml", ".yaml", ".yml", ".js", ".json")
FILES_MAX = 5_000
BYTES_MAX = 512 * 1024
SENT_MAX = 64
SHOWN_MAX = 20
_DEVICE = {
    ".toml": re.compile(r"^\s*\[device\]", re.MULTILINE),
    ".yaml": re.compile(r"^firmwareVersions:", re.MULTILINE),
    ".yml": re.compile(r"^firmwareVersions:", re.MULTILINE),
}
_WORD = re.compile(r"[\w.+-]+")


def read_folder(folder: Path, device: str | None) -> dict[str, str]:
    """The texts of a device's files, by their paths from the folder of its maker on."""
    texts = dict(_read_texts(folder))
    devices = {path.stem: path for path, text in texts.items() if _is_device(path, text)}
    if device is not None and device not in devices:
        raise CommandError(f"The folder has no device {device}.{_list(devices)}")
    if device is None and len(devices) > 1:
        raise CommandError(f"Say which device by --device.{_list(devices)}")
    if not devices:
        return _name_from(folder.resolve(), texts)
    chosen = devices[device or next(iter(devices))]
    home = chosen.parent.parent if chosen.parent.name == "devices" else chosen.parent
    near = {path: text for path, text in texts.items() if path.is_relative_to(home)}
    return _name_from(home, _choose(chosen, near, set(devices.values())))


def _read_texts(folder: Path) -> Iterator[tuple[Path, str]]:
    if not folder.is_dir():
        raise CommandError(f"{folder} is no folder.")
    found = [each for each in sorted(folder.resolve().rglob("*")) if each.suffix in SUFFIXES]
    if len(found) > FILES_MAX:
        raise CommandError(f"{folder} has more than {FILES_MAX:,} files; give one maker's folder.")
    for path in found:
        if path.is_file() and path.stat().st_size <= BYTES_MAX:
            yield path, path.read_text("utf-8", errors="replace")


def _is_device(path: Path, text: str) -> bool:
    return path.suffix in _DEVICE and _DEVICE[path.suffix].search(text) is not None


def _list(devices: Mapping[str, Path]) -> str:
    names = sorted(devices)[:SHOWN_MAX]
    more = f" and {len(devices) - SHOWN_MAX} more" if len(devices) > SHOWN_MAX else ""
    return f" It has {', '.join(names)}{more}." if names else ""


def _choose(chosen: Path, texts: Mapping[Path, str], devices: set[Path]) -> dict[Path, str]:
    """A file, and those that it names, or that those name."""
    taken = {chosen}
    waiting = [chosen]
    while waiting:
        path = waiting.pop()
        words = set() if path.suffix == ".js" else set(_WORD.findall(texts[path]))
        if path.suffix == ".js":
            words = {f"test_{verb}_{path.stem}.json" for verb in ("decode", "encode")}
        for other in texts.keys() - taken - devices:
            is_named = other.name in words or (
                other.suffix in (".yaml", ".yml") and other.stem in words
            )
            if is_named or other.name == "vendor.toml":
                taken.add(other)
                waiting.append(other)
    return {path: texts[path] for path in sorted(taken)}


def _name_from(home: Path, texts: Mapping[Path, str]) -> dict[str, str]:
    if len(texts) > SENT_MAX:
        raise CommandError(f"The device has more than {SENT_MAX} files.")
    if not texts:
        raise CommandError("The folder has no files of a device: none in TOML, YAML or JavaScript.")
    return {path.relative_to(home.parent).as_posix(): text for path, text in texts.items()}


def describe_import(outcome: Mapping[str, Any]) -> str:
    """What became of the examples and of the files, for people."""
    lines = [outcome["message"]]
    for each in outcome.get("examples") or ():
        if not each["isPassed"]:
            lines += [
                f"FAILED {each['name']} ({each['function']})",
                f"  expected {each['expected']}",
                f"  got      {each['actual']}",
            ]
    lines += [f"warning: {each}" for each in outcome.get("warnings") or ()]
    lines += [f"ignored: {each}" for each in outcome.get("ignored") or ()]
    return printable_lines("\n".join(lines))
