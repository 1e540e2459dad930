"""Operations on shared views: for those who create links, and for those who have one."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, field

from longwire.api.records.share_contents import (
    SharedDevices,
    SharedPositions,
    SharedSeries,
    read_chart,
    read_device,
    read_list,
    read_map,
)
from longwire.api.records.share_views import (
    SharedChart,
    SharedContent,
    SharedDevice,
    SharedList,
    SharedMap,
    check_view,
    decode_view,
    encode_view,
    get_scope,
)
from longwire.api.replies import Page, Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import GroupId, GroupPage
from longwire.errors import BadInput, FieldError, NotFound
from longwire.fleet import shares
from longwire.fleet.shares import ShareDraft, ShareView
from longwire.model import Actor
from longwire.store.database import Tx
from longwire.store.fleet.shares import Share
from longwire.web.authentication import get_token
from longwire.web.fields import (
    Body,
    Count,
    DateText,
    Id,
    Name,
    Paged,
    Query,
    words,
)
from longwire.web.page_tokens import PageTokens
from longwire.web.routing import NO_TOKEN, Route
from longwire.web.type_info import wire_names
from longwire.work.rate_limits import get_site
from longwire.work.turns import current_caller

ShareId = Annotated[Id, Meta(examples=["shr_vzpeqxr5mxjrq2uy6ct3mlgw"])]
ContentName = Annotated[
    str,
    words("SharedContent", shares.CONTENTS),
    Meta(description="What the link shows.", examples=["chart"]),
]
StateName = Annotated[
    str,
    words("ShareState", shares.STATES),
    Meta(
        description="`open`, or why the link shows nothing: `expired`; `forbidden`, if whoever"
        " created it could not do so any more; `gone`, if the devices are in this group no"
        " longer.",
        examples=["open"],
    ),
]
PageOrigin = Annotated[
    str,
    Meta(
        max_length=shares.ORIGIN_CHARACTERS_MAX,
        description="Scheme, host and port.",
        examples=["https://www.example.com"],
    ),
]
PageOrigins = Annotated[
    list[PageOrigin],
    Meta(
        max_length=shares.ORIGINS_MAX,
        description="Of pages that may embed it; no other may.",
        examples=[["https://www.example.com"]],
    ),
]


class ShareLink(Shown[Share], kw_only=True):
    """A link that shows something of a group."""

    id: ShareId
    group_id: GroupId
    name: Annotated[str, Meta(description="The title of the page.", examples=["Cold rooms"])]
    content: ContentName
    chart: SharedChart | None = None
    device: SharedDevice | None = None
    device_list: SharedList | None = field(name="list", default=None)
    device_map: SharedMap | None = field(name="map", default=None)
    origins: PageOrigins
    state: StateName
    expires_at: Annotated[DateText, Meta(description="Until when the link works.")]
    created_at: Annotated[DateText, Meta(description="When it was created.")]
    actor_id: Annotated[
        str,
        Meta(
            description="Who created it, and with whose permissions it is read.",
            examples=["usr_vzpeqxr5mxjrq2uy6ct3mlgw"],
        ),
    ] = field(name="createdBy")
    uses: Annotated[
        Count, Meta(description="How often it was opened, up to some seconds ago.", examples=[17])
    ]
    first_used_at: (
        Annotated[DateText, Meta(description="When it showed something for the first time.")] | None
    ) = None
    last_used_at: Annotated[DateText, Meta(description="When it did so last.")] | None = None


class NewShareLink(ShareLink, kw_only=True):
    """A new link; its secret is shown here only."""

    url: Annotated[
        str,
        Meta(
            description="Whoever has it sees what it shows. The secret is in the fragment.",
            examples=["https://iot.example.com/console/shared/shr_vzpeqxr5mx#lwv_9J3kQmVbQpT7xYw2"],
        ),
    ]


class ShareLinkConnection(Page[ShareLink]):
    """A page of links."""


class SharedView(Shown[Share], kw_only=True):
    """What a link shows, and whether it still does."""

    name: Annotated[str, Meta(description="The title.", examples=["Cold rooms"])]
    content: ContentName
    state: StateName
    expires_at: Annotated[DateText, Meta(description="Until when the link works.")]


class ShareInput(Body, kw_only=True):
    """What to show by a link: exactly one of `chart`, `device`, `list` and `map`."""

    group_id: GroupId
    name: Name
    expires_in_days: Annotated[
        int,
        Meta(
            ge=1,
            le=shares.EXPIRES_IN_DAYS_MAX,
            description="How long the link works; up to 31 days if an app client creates it.",
            examples=[30],
        ),
    ]
    origins: PageOrigins = field(default_factory=list)
    chart: SharedChart | None = None
    device: SharedDevice | None = None
    device_list: SharedList | None = field(name="list", default=None)
    device_map: SharedMap | None = field(name="map", default=None)


class SharesQuery(GroupPage, kw_only=True):
    """Of which group."""

    subgroups: Annotated[bool, Meta(description="With those of all groups below it.")] = False


class ShareQuery(Query):
    """Which link."""

    group_id: GroupId
    share_id: ShareId


class SharedPage(Paged):
    """Which page."""


_ATTRIBUTES = {"chart": "chart", "device": "device", "list": "device_list", "map": "device_map"}


# --- for those who create links ---


def create_share(context: Context, body: ShareInput) -> NewShareLink:
    """Create a link that shows something of a group.

    To whoever has it, without signing in, until it expires or is deleted: a chart, what a device
    says now, a list of devices or a map. It is read with the permissions that its creator has at
    that time, and shows nothing as soon as they could not create it any more. Only pages of
    `origins` may embed it.
    """
    content, view = _get_view(body)
    scope = get_scope(view)
    draft = ShareDraft(
        name=body.name,
        content=content,
        subgroups=scope.subgroups,
        device_ids=scope.device_ids,
        parameters=encode_view(view),
        origins=body.origins,
        expires_in_days=body.expires_in_days,
    )
    quotas = context.services.quotas
    try:
        created = shares.create_share(context.tx, context.actor, body.group_id, draft, quotas)
    except NotFound as error:
        raise _name_devices(content, error) from error
    try:
        check_view(context.tx, context.actor, body.group_id, view)
    except BadInput as error:
        raise _name_fields(content, view, error) from error
    share = created.view.share
    url = f"{context.services.sign_in.base_url}{shares.PAGE_PATH}{share.id}#{created.secret}"
    shown = _decode_content(created.view)
    return NewShareLink.show(
        share,
        url=url,
        chart=shown.get("chart"),
        device=shown.get("device"),
        device_list=shown.get("list"),
        device_map=shown.get("map"),
        state=created.view.state,
        origins=list(share.origins),
    )


def list_shares(context: Context, query: SharesQuery) -> ShareLinkConnection:
    """List the links that show something of a group.

    With how often each was used, the newest first; until a week after they expire.
    """
    page = shares.list_shares(
        context.tx,
        context.actor,
        query.group_id,
        context.page_tokens.page_request(query),
        subgroups=query.subgroups,
    )
    return ShareLinkConnection.show(context, query, page, _show)


def delete_share(context: Context, query: ShareQuery) -> ShareLink:
    """Revoke a link.

    It shows nothing from now on. The audit log keeps what it showed, and when it was used.
    """
    return _show(shares.delete_share(context.tx, context.actor, query.group_id, query.share_id))


def _show(view: ShareView) -> ShareLink:
    shown = _decode_content(view)
    return ShareLink.show(
        view.share,
        chart=shown.get("chart"),
        device=shown.get("device"),
        device_list=shown.get("list"),
        device_map=shown.get("map"),
        state=view.state,
        origins=list(view.share.origins),
    )


def _decode_content(view: ShareView) -> dict[str, Any]:
    """What the link shows, by its content."""
    share = view.share
    return {share.content: decode_view(share.content, share.parameters)}


def _get_view(body: ShareInput) -> tuple[str, SharedContent]:
    given = [
        (content, view)
        for content, attribute in _ATTRIBUTES.items()
        if (view := getattr(body, attribute)) is not None
    ]
    if len(given) != 1:
        names: Sequence[str] = [name for name, _ in given[1:]] or ["chart"]
        message = "is one of chart, device, list and map, of which exactly one is required"
        raise BadInput(field_errors=[FieldError(each, message) for each in names])
    return given[0]


def _name_devices(content: str, error: NotFound) -> NotFound:
    found = [
        FieldError(f"chart.{each.field.replace('device_ids', 'deviceIds')}", each.message)
        if content == "chart"
        else FieldError("device.deviceId", each.message)
        for each in error.field_errors
        if each.field.startswith("device_ids")
    ]
    return NotFound(field_errors=found) if found else error


def _name_fields(content: str, view: SharedContent, error: BadInput) -> BadInput:
    """They are in the member that says what is shown."""
    wire = wire_names(type(view))
    found = []
    for each in error.field_errors:
        name, bracket, rest = each.field.partition("[")
        field_name = f"{content}.{wire.get(name, name)}{bracket}{rest}"
        found.append(FieldError(field_name, each.message))
    return BadInput(field_errors=found)


# --- for those who have one ---


async def get_share_link(context: AsyncContext) -> SharedView:
    """Get what a link shows.

    With the secret of the link as the access token, which opens nothing else.
    """
    share = await _find_share(context)
    state = await context.read(partial(shares.find_state, share=share))
    if state == "open":
        _note(context, share, opened=1)
    return SharedView.show(share, state=state)


async def get_shared_series(context: AsyncContext) -> SharedSeries:
    """Get the numbers of a shared chart.

    With the secret of the link as the access token.
    """
    share = await _find_share(context)
    chart = _decode(share, "chart")
    async with context.services.shares.charts.take(current_caller.get().owner):
        found = await read_chart(context.database, share, chart, context.now)
    _note(context, share)
    return found


async def list_shared_devices(context: AsyncContext, query: SharedPage) -> SharedDevices:
    """List the devices of a shared list, or get a shared device.

    With their current values, and with the secret of the link as the access token.
    """
    share = await _find_share(context)
    if share.content == "device":
        view = _decode(share, "device")
        found = await context.read(partial(read_device, share=share, view=view))
    else:
        tokens, view = _build_page_tokens(context, share), _decode(share, "list")
        read = partial(read_list, share=share, view=view, request=tokens.page_request(query))
        found, page = await context.read(read)
        found.next_token = tokens.next_token(query, page)
    _note(context, share)
    return found


async def list_shared_positions(context: AsyncContext, query: SharedPage) -> SharedPositions:
    """List the positions of a shared map.

    With the secret of the link as the access token.
    """
    share = await _find_share(context)
    tokens, view = _build_page_tokens(context, share), _decode(share, "map")
    read = partial(read_map, share=share, view=view, request=tokens.page_request(query))
    found, page = await context.read(read)
    found.next_token = tokens.next_token(query, page)
    _note(context, share)
    return found


async def _find_share(context: AsyncContext) -> Share:
    """What a secret opens; from now on the request goes on the account of its group's owner."""
    guards = context.services.shares
    guards.addresses.acquire(get_site(context.request.address))
    secret = get_token(context.request)

    def find(tx: Tx) -> tuple[Share, Actor]:
        share = shares.find_share(tx, secret)
        return share, shares.build_visitor(tx, share)

    share, visitor = await context.read(find)
    current_caller.set(visitor.caller)
    guards.requests.acquire(visitor.caller)
    guards.callers.acquire(visitor)
    return share


def _decode(share: Share, content: str) -> Any:
    """What a link shows, if it shows such a thing."""
    if share.content != content:
        raise NotFound(f"The link shows no {content}, but a {share.content}.")
    return decode_view(content, share.parameters)


def _build_page_tokens(context: AsyncContext, share: Share) -> PageTokens:
    keyring, items_default = context.database.context.keyring, context.limits.page_items_default
    return PageTokens(keyring, Actor("client", share.id), context.operation_id, items_default)


def _note(context: AsyncContext, share: Share, *, opened: int = 0) -> None:
    context.services.shares.uses.note(share, context.origin, context.now, opened=opened)


_LINK_STATUSES = (400, 401, 403, 404, 429, 503)
_route = partial(Route, tag="Shared views", is_addition=True)
_link_route = partial(
    _route,
    permission=NO_TOKEN,
    object_rule="the secret of a link",
)

ROUTES = [
    _route(
        "POST",
        "/share",
        create_share,
        "notification.write",
        object_rule="in groupId; and device.read and record.read there",
        conflicts="The group has the maximum number of shared views.",
        example={
            **{"groupId": "880148294221312", "name": "Cold rooms", "expiresInDays": 30},
            "device": {"deviceId": "dev_vzpeqxr5mxjrq2uy6ct3mlgw", "values": ["moisture"]},
        },
        has_secrets=True,
    ),
    _route("GET", "/group/shares", list_shares, "notification.read", object_rule="in the group"),
    _route(
        "DELETE",
        "/share",
        delete_share,
        "notification.write",
        object_rule="in the group of the shared view",
    ),
    _link_route("GET", "/share/link", get_share_link, statuses=(400, 401, 429, 503)),
    _link_route("GET", "/share/series", get_shared_series, statuses=_LINK_STATUSES),
    _link_route("GET", "/share/devices", list_shared_devices, statuses=_LINK_STATUSES),
    _link_route("GET", "/share/positions", list_shared_positions, statuses=_LINK_STATUSES),
]
