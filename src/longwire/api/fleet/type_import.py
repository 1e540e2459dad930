"""The operation that makes a device type out of the files of its maker."""

from typing import Annotated, Any

from msgspec import Meta

from longwire.api.fleet.device_shapes import DeviceTypeName
from longwire.api.fleet.device_types import DisplayName, Note, TypeGroupId
from longwire.api.services import AsyncContext
from longwire.api.types import IfUpdatedAt, parse_version
from longwire.decoders.javascript import SOURCE_BYTES_MAX
from longwire.decoders.profile_files import FORMATS
from longwire.errors import invalid_field
from longwire.fleet import device_types, type_imports
from longwire.fleet.type_imports import ExampleResult, ImportRequest, PreparedType
from longwire.model import Actor, DeviceType
from longwire.store.database import Tx
from longwire.web.fields import Body, Count, Reply, words
from longwire.web.routing import Route

FILES_MAX = 64
PATH_CHARACTERS_MAX = 256
_VERBS = {"decode": "decodeUplink", "encode": "encodeDownlink", "decodeDownlink": "decodeDownlink"}

FileText = Annotated[str, Meta(max_length=SOURCE_BYTES_MAX)]
FilePath = Annotated[str, Meta(min_length=1, max_length=PATH_CHARACTERS_MAX)]
AnyObject = Annotated[dict[str, Any], Meta(examples=[{"data": {"depth": 1.7}}])]


class TypeImportInput(Body, kw_only=True):
    """The files of a device, and what is to become of them."""

    files: Annotated[
        dict[str, FileText],
        Meta(
            description=f"At most {FILES_MAX}, by path: what the device's own file names.",
            examples=[
                {
                    "acme/devices/sonar.toml": '[device]\nname = "Sonar"\n[[device.firmware]]\n'
                    'version = "1.0"\ncodec = "sonar.js"\n',
                    "acme/codecs/sonar.js": "function decodeUplink(input) {"
                    " return {data: {depth: input.bytes[0] / 10}}; }",
                    "acme/codecs/test_decode_sonar.json": '[{"name": "1.7 m", "input":'
                    ' {"fPort": 1, "bytes": [17]}, "expected": {"data": {"depth": 1.7}}}]',
                }
            ],
        ),
    ]
    group_id: TypeGroupId | None = None
    device: (
        Annotated[
            FilePath,
            Meta(
                description="Which one, if the files have several: the name of its file without"
                " its ending.",
                examples=["sonar"],
            ),
        ]
        | None
    ) = None
    firmware_version: (
        Annotated[Note, Meta(description="Without it, the last one of its file.", examples=["1.0"])]
        | None
    ) = None
    name: (
        Annotated[
            DeviceTypeName,
            Meta(description="Without it, maker and device.", examples=["acme-sonar"]),
        ]
        | None
    ) = None
    display_name: DisplayName | None = None
    accept_failing: Annotated[
        bool, Meta(description="Create or update it although examples fail.", examples=[False])
    ] = False
    replace: Annotated[
        bool,
        Meta(
            description="Update the type of this `name`, which is required then. Its codecs become"
            " those of the files; what these do not say stays, as do its measurements.",
            examples=[False],
        ),
    ] = False
    if_updated_at: IfUpdatedAt | None = None
    dry_run: Annotated[
        bool, Meta(description="Only run the examples, and say what would be created or updated.")
    ] = False


class CodecExampleResult(Reply, kw_only=True):
    """An example of the maker, and what the codec makes of it."""

    name: Annotated[str, Meta(examples=["1.7 m"])]
    function: Annotated[
        str,
        words("CodecFunction", _VERBS.values()),
        Meta(description="Which one is called.", examples=["decodeUplink"]),
    ]
    is_passed: bool
    input: Annotated[AnyObject, Meta(examples=[{"fPort": 1, "bytes": [17]}])]
    expected: AnyObject
    actual: Annotated[
        AnyObject, Meta(description="What the codec returns; `errors` says why there is nothing.")
    ]


class TypeImportReturn(Reply, kw_only=True):
    """The outcome of an import, or of its dry run."""

    message: Annotated[str, Meta(examples=["acme-sonar was created. 1 of 1 examples passed."])]
    is_dry_run: Annotated[bool, Meta(description="Nothing was created or updated.")]
    format: Annotated[
        str, words("TypeFormat", FORMATS), Meta(description="Whose.", examples=["chirpstack"])
    ]
    name: DeviceTypeName
    group_id: TypeGroupId | None = None
    display_name: DisplayName
    battery: Note | None = None
    firmware_version: Note | None = None
    has_decoder: bool
    has_encoder: Annotated[bool, Meta(description="In a codec of its own.")]
    passed: Annotated[Count, Meta(description="Examples that the codec fulfils.", examples=[1])]
    failed: Annotated[Count, Meta(description="The others.", examples=[0])]
    examples: list[CodecExampleResult]
    ignored: Annotated[
        list[str],
        Meta(
            description="What of the files has no place in a device type.",
            examples=[["profiles EU868.toml: about radio"]],
        ),
    ]
    warnings: list[str] | None = None


async def import_type(context: AsyncContext, body: TypeImportInput) -> TypeImportReturn:
    """Create or update a device type from the files of its maker.

    From ChirpStack's device profiles, or from one device of The Things Network's repository: its
    own file, that of its codec, the codec, and its examples. These are run first; if one fails, the
    error has what was expected and what the codec returns, and nothing is changed unless
    `acceptFailing` is true. With `dryRun`, nothing is changed, and the response has every example.
    With `replace`, a type that exists is updated.
    """
    actor, quotas = context.actor, context.services.quotas
    if len(body.files) > FILES_MAX or any(len(each) > PATH_CHARACTERS_MAX for each in body.files):
        message = (
            f"must have at most {FILES_MAX} files, of at most {PATH_CHARACTERS_MAX} characters"
        )
        raise invalid_field("files", f"{message} in a path")
    replaced = await context.read(lambda tx: _find_replaced(tx, actor, body))
    request = ImportRequest(
        body.files,
        body.group_id,
        body.device,
        body.firmware_version,
        body.name,
        body.display_name,
        replaced,
    )
    # With no transaction open: codecs run in a sandbox.
    computing = context.services.computing
    home = (body.group_id if replaced is None else replaced.group_id) or ""
    prepared = await computing.threads.run(
        home, type_imports.prepare_import, request, context.now, computing.drafts
    )
    if body.dry_run:
        if replaced is None:
            await context.read(lambda tx: device_types.require_free_name(tx, prepared.draft.name))
        return show_import(prepared, is_dry_run=True)
    if not body.accept_failing:
        type_imports.require_passed(prepared)
    version = parse_version(body.if_updated_at)
    await context.write(
        lambda tx: type_imports.store_import(tx, actor, prepared, quotas, if_updated_at=version)
    )
    return show_import(prepared, is_dry_run=False)


def _find_replaced(tx: Tx, actor: Actor, body: TypeImportInput) -> DeviceType | None:
    """The type that is to be updated, if the actor may; None for a new one."""
    if not body.replace:
        if body.if_updated_at is not None:
            raise invalid_field("if_updated_at", "needs replace")
        device_types.authorize(tx, actor, body.group_id)
        return None
    if body.name is None:
        raise invalid_field("name", "is required with replace")
    return type_imports.get_replaced(
        tx, actor, body.name, body.group_id, parse_version(body.if_updated_at)
    )


def show_import(prepared: PreparedType, *, is_dry_run: bool) -> TypeImportReturn:
    draft, total, failed = prepared.draft, len(prepared.results), len(prepared.failing)
    verb = "would be" if is_dry_run else "was"
    done = "updated" if prepared.is_replacing else "created"
    return TypeImportReturn(
        message=f"{draft.name} {verb} {done}. {total - failed} of {total} examples passed.",
        is_dry_run=is_dry_run,
        format=prepared.profile.format,
        name=draft.name,
        group_id=draft.group_id,
        display_name=draft.display_name,
        battery=draft.battery,
        firmware_version=draft.firmware_version,
        has_decoder=draft.decoder is not None,
        has_encoder=draft.encoder_source is not None,
        passed=total - failed,
        failed=failed,
        examples=[_show_result(each) for each in prepared.results],
        ignored=prepared.profile.ignored,
        warnings=list(prepared.warnings) or None,
    )


def _show_result(result: ExampleResult) -> CodecExampleResult:
    example = result.example
    normalized = {} if example.normalized is None else {"normalized": example.normalized}
    return CodecExampleResult(
        name=example.name,
        function=_VERBS[example.verb],
        is_passed=result.is_passed,
        input=example.given,
        expected=example.expected | normalized,
        actual=result.actual,
    )


ROUTES = [
    Route(
        "POST",
        "/device/type/import",
        import_type,
        "device.update",
        tag="Device types",
        object_rule="in groupId, or in the group of the type; operators only without one",
        conflicts="The name is taken, or the types of the group are as many or as large as they may"
        " be; or the type was changed since `ifUpdatedAt`.",
        is_bulk=True,
        is_addition=True,
        in_turns=True,
    )
]
