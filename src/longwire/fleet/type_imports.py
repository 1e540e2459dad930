"""Imports device types: the codec of a profile has to do what its own examples say."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longwire.clock import Moment
from longwire.decoders.base import InvalidDecoder
from longwire.decoders.catalogue import JAVASCRIPT, Decoders
from longwire.decoders.codec_examples import CodecExample, fits, run_example
from longwire.decoders.javascript import JavaScriptDecoder, JavaScriptEncoder
from longwire.decoders.profile_files import DeviceProfile, parse_profile
from longwire.decoders.sandbox_pool import get_processor_s
from longwire.errors import BadInput, FieldError, invalid_field, not_found
from longwire.fleet import device_types, type_definitions
from longwire.fleet.codec_guard import CodecCaller, CodecGuard, require_budget
from longwire.fleet.decoder_previews import NOT_TRIED, NOT_TRIED_BUDGET
from longwire.model import Actor, DeviceType
from longwire.object_versions import require_version
from longwire.quotas import DEFAULT_QUOTAS, Quotas
from longwire.store.database import Tx

SHOWN_CHARACTERS_MAX = 500
# CPU time of all examples. A codec must not fail because the machine is busy, but a thread cannot
# wait for sandboxes that nobody gets, either.
TOTAL_S_MAX = 2.0
PASSING_S_MAX = 30.0


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """The files of a device, and what is to become of them."""

    files: Mapping[str, str]
    group_id: str | None = None
    device: str | None = None
    firmware_version: str | None = None
    name: str | None = None
    display_name: str | None = None
    replaced: DeviceType | None = None  # the type that gets what the files say, if not a new one


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """An example, and what the codec makes of it."""

    example: CodecExample
    actual: dict[str, Any]
    is_passed: bool


@dataclass(frozen=True, slots=True)
class PreparedType:
    """A device type that may be created or updated, and how its codec does with its examples."""

    profile: DeviceProfile
    fields: Mapping[str, Any]  # of the type, as the files and the request have them
    draft: DeviceType
    is_replacing: bool
    results: Sequence[ExampleResult]
    warnings: Sequence[str]

    @property
    def failing(self) -> list[tuple[int, ExampleResult]]:
        return [(index, each) for index, each in enumerate(self.results) if not each.is_passed]


def prepare_import(request: ImportRequest, now: Moment, guard: CodecGuard) -> PreparedType:
    """Read the files, load the codecs, and run their examples. Blocks; the group pays for it."""
    replaced = request.replaced
    home = request.group_id if replaced is None else replaced.group_id
    caller = CodecCaller(home or "", "")
    require_budget(guard, caller.group_id)
    with guard.charging(caller):
        profile = parse_profile(
            request.files, request.device, request.firmware_version, guard.decoders
        )
    fields = _list_fields(request, profile)
    present = replaced or DeviceType(
        name=request.name or profile.name,
        display_name=profile.display_name,
        default_configuration="{}",
        group_id=home,
    )
    draft = device_types.merge_fields(present, fields)
    warnings = type_definitions.check_draft(draft, (), guard)
    results = _run_examples(draft, profile.examples, now, guard)
    return PreparedType(profile, fields, draft, replaced is not None, results, warnings)


def _list_fields(request: ImportRequest, profile: DeviceProfile) -> dict[str, Any]:
    """The codecs, which may be none, and what else is said."""
    codecs = {
        "decoder": None if profile.decoder_source is None else JAVASCRIPT,
        "decoder_source": profile.decoder_source,
        "encoder_source": profile.encoder_source,
    }
    others = {
        "display_name": request.display_name,
        "battery": profile.battery,
        "firmware_version": profile.firmware_version,
    }
    return codecs | {name: value for name, value in others.items() if value is not None}


def require_passed(prepared: PreparedType) -> None:
    """Refuse a codec that does not do what its examples say; the error names each of them."""
    if prepared.failing:
        raise BadInput(
            field_errors=[
                FieldError(f"examples[{index}]", describe_failure(each))
                for index, each in prepared.failing
            ]
        )


def get_replaced(
    tx: Tx, actor: Actor, name: str, group_id: str | None, if_updated_at: Moment | None = None
) -> DeviceType:
    """The type that is to be updated, if the actor may; of this group, if one is named."""
    present = device_types.find_visible(tx, actor, name)
    if present is None:
        raise not_found("name", "device type")
    device_types.require_may_change(tx, actor, present)
    if group_id not in (None, present.group_id):
        raise invalid_field("group_id", "is not the group of this device type")
    require_version(present.updated_at, if_updated_at)
    return present


def store_import(
    tx: Tx,
    actor: Actor,
    prepared: PreparedType,
    quotas: Quotas = DEFAULT_QUOTAS,
    *,
    if_updated_at: Moment | None = None,
) -> None:
    """Create the type, or update it; what is declared of its values stays."""
    if not prepared.is_replacing:
        type_definitions.create_definition(tx, actor, prepared.draft, (), quotas)
        return
    name, fields = prepared.draft.name, prepared.fields
    device_types.update_device_type(tx, actor, name, fields, quotas, if_updated_at=if_updated_at)


def describe_failure(result: ExampleResult) -> str:
    name, expected = result.example.name, _shorten(result.example.expected)
    return f"failed ({name}): expected {expected}, got {_shorten(result.actual)}"


def _shorten(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"


def _run_examples(
    draft: DeviceType, examples: Sequence[CodecExample], now: Moment, guard: CodecGuard
) -> list[ExampleResult]:
    caller = CodecCaller(draft.group_id or "", "")
    started_s, ends_at_s = get_processor_s(), time.monotonic() + PASSING_S_MAX
    results: list[ExampleResult] = []
    for example in examples:
        if get_processor_s() - started_s > TOTAL_S_MAX or time.monotonic() > ends_at_s:
            actual: dict[str, Any] = {"errors": [NOT_TRIED]}
        elif guard.is_budget_used_up(caller.group_id):
            actual = {"errors": [NOT_TRIED_BUDGET]}
        else:
            with guard.charging(caller):
                actual = _run(draft, example, now, guard.decoders)
        results.append(ExampleResult(example, actual, fits(example, actual)))
    return results


def _run(
    draft: DeviceType, example: CodecExample, now: Moment, decoders: Decoders
) -> dict[str, Any]:
    try:
        codec = _get_codec(draft, example, decoders)
    except InvalidDecoder as error:
        return {"errors": [error.reason]}
    return run_example(codec, example, now)


def _get_codec(
    draft: DeviceType, example: CodecExample, decoders: Decoders
) -> JavaScriptDecoder | JavaScriptEncoder:
    if example.verb != "decode" and draft.encoder_source is not None:
        return decoders.get_encoder(draft.encoder_source)
    decoder = decoders.get(JAVASCRIPT, draft.decoder_source or "")
    assert isinstance(decoder, JavaScriptDecoder)
    return decoder
