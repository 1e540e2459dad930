"""Device types out of files that makers publish, each with the examples of its codec.

From ChirpStack's device profiles: `devices/*.toml`, with the codec that it names and the examples
in `test_decode_*.json` and `test_encode_*.json`. From The Things Network's device repository:
`*.yaml` of one device, with the definition of its codec, which has the examples, and the codec.
"""

import importlib
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import msgspec

from longwire.decoders.base import DecodeError, InvalidDecoder
from longwire.decoders.catalogue import JAVASCRIPT, Decoders
from longwire.decoders.codec_examples import CodecExample, Json, Verb
from longwire.decoders.javascript import INTEGERS
from longwire.errors import BadInput, FieldError, Unavailable, invalid_field

CHIRPSTACK = "chirpstack"
THE_THINGS_NETWORK = "theThingsNetwork"
FORMATS = (CHIRPSTACK, THE_THINGS_NETWORK)
DESCRIPTION_CHARACTERS_MAX = 256 * 1024  # of a file that is no codec
LEVELS_MAX = 32
# The time to parse a key of TOML grows with the square of its parts, which are all on one line.
TOML_DOTS_PER_LINE_MAX = 64
# CPU time, of the files that were parsed when another one is to be.
READ_S_MAX = 2.0
EXAMPLES_MAX = 200
NOTE_CHARACTERS_MAX = 256


@dataclass(slots=True)
class DeviceProfile:
    """A device of a maker, as far as a device type can have it."""

    format: str
    name: str
    display_name: str
    battery: str | None = None
    firmware_version: str | None = None
    decoder_source: str | None = None
    encoder_source: str | None = None  # if the decoder is another codec
    examples: list[CodecExample] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Files:
    """The files of an import, and which of them were used."""

    texts: Mapping[str, str]
    decoders: Decoders
    used: set[str] = field(default_factory=set)
    _began_s: float = field(default_factory=time.thread_time)

    def require_time(self) -> None:
        if time.thread_time() - self._began_s > READ_S_MAX:
            raise invalid_field("files", "take too long to read; leave out those of other devices")

    def find(self, name: str, beside: str) -> str | None:
        """The path of a file by its name; the nearest one, if there are several."""
        wanted = PurePosixPath(name).name
        found = [each for each in self.texts if PurePosixPath(each).name == wanted]
        return max(found, key=lambda path: _count_common(path, beside), default=None)

    def take(self, name: str, beside: str) -> str | None:
        path = self.find(name, beside)
        if path is None:
            return None
        self.used.add(path)
        return self.texts[path]

    def require(self, name: str, beside: str) -> str:
        text = self.take(name, beside)
        if text is None:
            raise invalid_field("files", f"{beside} names {name}, which is not among the files")
        return text


def _count_common(path: str, other: str) -> int:
    pairs = zip(PurePosixPath(path).parts, PurePosixPath(other).parts, strict=False)
    return next((count for count, (one, two) in enumerate(pairs) if one != two), 0)


def parse_profile(
    texts: Mapping[str, str],
    device: str | None,
    firmware_version: str | None,
    decoders: Decoders,
) -> DeviceProfile:
    """The only device of the files, or the one that is named. May block."""
    files = _Files(texts, decoders)
    found = dict(_find_devices(files))
    names = ", ".join(sorted(found))
    if device is not None and device not in found:
        raise invalid_field("device", f"is none of the files' devices: {names or 'there is none'}")
    if device is None and len(found) > 1:
        raise invalid_field("device", f"is required, since the files have {names}")
    if not found:
        profile = _build_from_codec(files)
    else:
        path, definition = found[device or next(iter(found))]
        files.used.add(path)
        build = _build_from_toml if path.endswith(".toml") else _build_from_yaml
        profile = build(files, path, definition, firmware_version)
    if len(profile.examples) > EXAMPLES_MAX:
        profile.ignored.append(f"examples after the first {EXAMPLES_MAX}")
        del profile.examples[EXAMPLES_MAX:]
    unused = sorted(set(texts) - files.used)
    profile.ignored += [f"{each}: of something else, or about radio" for each in unused]
    return profile


def _find_devices(files: _Files) -> Iterator[tuple[str, tuple[str, Json]]]:
    for path, text in files.texts.items():
        files.require_time()
        suffix, stem = PurePosixPath(path).suffix, PurePosixPath(path).stem
        if suffix == ".toml":
            definition = _parse_toml(path, text).get("device")
        elif suffix in (".yaml", ".yml"):
            parsed = _parse_yaml(path, text)
            definition = parsed if "firmwareVersions" in parsed else None
        else:
            continue
        if isinstance(definition, dict):
            yield stem, (path, definition)


# --- ChirpStack ---


def _build_from_toml(
    files: _Files, path: str, definition: Json, firmware_version: str | None
) -> DeviceProfile:
    home = PurePosixPath(path).parent
    maker = home.parent.name if home.name == "devices" else ""
    profile = DeviceProfile(
        CHIRPSTACK,
        _join_name(maker, PurePosixPath(path).stem),
        _text(definition.get("name")) or PurePosixPath(path).stem,
    )
    vendor = files.take("vendor.toml", path)
    if vendor is not None:
        parsed = _parse_toml("vendor.toml", vendor).get("vendor")
        maker_name = _text(_object(parsed).get("name"))
        profile.display_name = _join_display_name(maker_name, profile.display_name)
    firmware = _choose_firmware(profile, definition.get("firmware"), firmware_version)
    codec = _text(firmware.get("codec"))
    if codec:
        profile.decoder_source = files.require(codec, path)
        stem = PurePosixPath(codec).stem
        verbs: tuple[tuple[str, Verb], ...] = (("decode", "decode"), ("encode", "encode"))
        for prefix, verb in verbs:
            name = f"test_{prefix}_{stem}.json"
            text = files.take(name, path)
            if text is not None:
                profile.examples += _list_chirpstack_examples(files, name, text, verb)
    profiles = [_text(each) for each in _list(firmware.get("profiles"))]
    if profiles:
        profile.ignored.append(f"profiles {', '.join(profiles)}: about radio")
    rest = sorted(definition.keys() - {"name", "firmware"})
    if rest:
        profile.ignored.append(f"{path}: {', '.join(rest)}")
    return profile


def _build_from_codec(files: _Files) -> DeviceProfile:
    """Of files without a device: a codec, with its examples."""
    codecs = [each for each in files.texts if each.endswith(".js")]
    if len(codecs) != 1:
        raise invalid_field(
            "files",
            "have no device: neither a TOML file with [device], as of ChirpStack's profiles, nor a"
            " YAML file with firmwareVersions, as of The Things Network's repository",
        )
    stem = PurePosixPath(codecs[0]).stem
    name = PurePosixPath(codecs[0]).name
    path = codecs[0]
    return _build_from_toml(files, path, {"name": stem, "firmware": [{"codec": name}]}, None)


def _list_chirpstack_examples(
    files: _Files, name: str, text: str, verb: Verb
) -> list[CodecExample]:
    return [
        CodecExample(
            _text(each.get("name")) or _text(each.get("description")) or f"{name}, number {number}",
            verb,
            _object(each.get("input")),
            _object(each.get("expected")),
        )
        for number, each in enumerate(_parse_examples(files, name, text), 1)
    ]


def _parse_examples(files: _Files, name: str, text: str) -> list[Json]:
    """A list in JSON, or in JavaScript: some have comments and numbers like 0x67."""
    _require_short(name, text)
    try:
        parsed = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        source = f"var tests = {text}\n;function Decode() {{ return {{tests: tests}}; }}"
        try:
            decoder = files.decoders.build(JAVASCRIPT, source)
            parsed = decoder.decode(b"", None, 0).values["tests"]
        except Unavailable:
            raise
        except (InvalidDecoder, DecodeError, KeyError) as error:
            raise invalid_field("files", f"{name} is no list of examples: {error}") from None
    _require_plain(name, parsed, LEVELS_MAX)
    return [_object(each) for each in _list(parsed)]


def _require_plain(name: str, value: Any, levels: int) -> None:
    """Refuse what is no JSON to others: too many levels, or integers that they do not take."""
    if isinstance(value, dict | list):
        if not levels:
            raise invalid_field("files", f"{name} has more than {LEVELS_MAX} levels")
        for each in value.values() if isinstance(value, dict) else value:
            _require_plain(name, each, levels - 1)
    elif isinstance(value, int) and value not in INTEGERS:
        raise invalid_field("files", f"{name} has an integer of more than 64 bits")


# --- The Things Network ---


def _build_from_yaml(
    files: _Files, path: str, definition: Json, firmware_version: str | None
) -> DeviceProfile:
    stem, maker = PurePosixPath(path).stem, PurePosixPath(path).parent.name
    profile = DeviceProfile(
        THE_THINGS_NETWORK,
        _join_name(maker, stem),
        _text(definition.get("name")) or stem,
        battery=_text(_object(definition.get("battery")).get("type")) or None,
    )
    firmware = _choose_firmware(profile, definition.get("firmwareVersions"), firmware_version)
    by_region = _object(firmware.get("profiles"))
    codecs = [_text(_object(each).get("codec")) for each in by_region.values()]
    codecs = list(dict.fromkeys(each for each in codecs if each))
    if by_region:
        profile.ignored.append(f"profiles of {', '.join(map(str, by_region))}: about radio")
    if codecs:
        _add_codec(files, path, profile, codecs[0])
        profile.ignored += [f"codec {each}, of some regions" for each in codecs[1:]]
    rest = sorted(map(str, definition.keys() - {"name", "battery", "firmwareVersions"}))
    if rest:
        profile.ignored.append(f"{path}: {', '.join(rest)}")
    return profile


def _add_codec(files: _Files, path: str, profile: DeviceProfile, codec: str) -> None:
    name = f"{codec}.yaml"
    parsed = _parse_yaml(name, files.require(name, path))
    parts = {each: _object(parsed.get(each)) for each in _VERBS}
    sources = {each: _text(part.get("fileName")) for each, part in parts.items()}
    decoder, encoder = sources["uplinkDecoder"], sources["downlinkEncoder"]
    if decoder:
        profile.decoder_source = files.require(decoder, path)
    if encoder and encoder != decoder:
        profile.encoder_source = files.require(encoder, path)
    for part, verb in _VERBS.items():
        for number, each in enumerate(map(_object, _list(parts[part].get("examples"))), 1):
            profile.examples.append(
                CodecExample(
                    _text(each.get("description")) or f"{part} {number}",
                    verb,
                    _object(each.get("input")),
                    _object(each.get("output")),
                    _object(each.get("normalizedOutput")).get("data"),
                )
            )


_VERBS: dict[str, Verb] = {
    "uplinkDecoder": "decode",
    "downlinkEncoder": "encode",
    "downlinkDecoder": "decodeDownlink",
}


# --- both ---


def _choose_firmware(profile: DeviceProfile, given: Any, wanted: str | None) -> Json:
    """The version that is wanted, or the last one."""
    versions = {_text(each.get("version")): each for each in map(_object, _list(given))}
    if wanted is not None and wanted not in versions:
        raise invalid_field("firmware_version", f"is none of {', '.join(versions)}")
    if not versions:
        return {}
    chosen = wanted if wanted is not None else next(reversed(versions))
    others = [each for each in versions if each != chosen]
    if others:
        profile.ignored.append(f"firmware {', '.join(others)}")
    profile.firmware_version = chosen[:NOTE_CHARACTERS_MAX] or None
    return versions[chosen]


def _join_name(maker: str, stem: str) -> str:
    return stem if not maker or stem.startswith(maker) else f"{maker}-{stem}"


def _join_display_name(maker: str, name: str) -> str:
    is_named = not maker or name.casefold().startswith(maker.casefold())
    return (name if is_named else f"{maker} {name}")[:NOTE_CHARACTERS_MAX]


def _text(value: Any) -> str:
    """A text as it can be stored."""
    is_large = isinstance(value, int) and value not in INTEGERS
    if is_large or not isinstance(value, str | int | float):
        return ""
    return str(value).replace("\0", "")[:NOTE_CHARACTERS_MAX]


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _require_short(name: str, text: str) -> None:
    if len(text) > DESCRIPTION_CHARACTERS_MAX:
        message = f"{name} has more than {DESCRIPTION_CHARACTERS_MAX} characters"
        raise invalid_field("files", message)


def _parse_toml(name: str, text: str) -> Json:
    _require_short(name, text)
    if any(line.count(".") > TOML_DOTS_PER_LINE_MAX for line in text.split("\n")):
        message = f"{name} has more than {TOML_DOTS_PER_LINE_MAX} dots in a line"
        raise invalid_field("files", message)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # some numbers are no error of TOML's own
        raise _unreadable(name, error) from None


def _parse_yaml(name: str, text: str) -> Json:
    _require_short(name, text)
    # Imported on demand: its library is slow to load, and hardly anybody imports a device type.
    library: Any = importlib.import_module("longwire.decoders.yaml_files")
    try:
        return _object(library.parse(text, LEVELS_MAX))
    except (RecursionError, ValueError) as error:
        raise _unreadable(name, error) from None


def _unreadable(name: str, error: Exception) -> BadInput:
    text = " ".join(str(error).split())[:NOTE_CHARACTERS_MAX]
    return BadInput(field_errors=[FieldError("files", f"{name} cannot be read: {text}")])
