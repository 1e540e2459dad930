"""Shared views: a link shows a chart, a device, a list or a map of a group, without signing in.

It is read with the permissions that its creator has at that moment, and only as long as they could
create it again. Of the secret in the link a digest is stored; a link that somebody has deleted is
as unknown as one that never was.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from longwire.clock import DAY, Moment
from longwire.dates import format_date, format_optional_date
from longwire.errors import (
    BadInput,
    FieldError,
    HandedOver,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    not_found,
)
from longwire.identity import access
from longwire.ids import new_id, new_secret
from longwire.model import SYSTEM, Actor, Page, PageRequest, Scope
from longwire.quotas import Quotas
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.fleet import devices as store_devices
from longwire.store.fleet import shares as store
from longwire.store.fleet.shares import SHARES, Share
from longwire.store.identity import audit, credentials, group_limits, request_owners

CONTENTS = ("chart", "device", "list", "map")
STATES = ("open", "expired", "forbidden", "gone")
# Whoever may have reports sent to any address may have them read by whoever has a link.
PUBLISH = "notification.write"
SECRET_PREFIX = "lwv"
PAGE_PATH = "/console/shared/"  # the id follows, and the secret in the fragment

EXPIRES_IN_DAYS_MAX = 366
# Nobody watches what a program does, and whoever steals its token could publish for as long.
EXPIRES_IN_DAYS_MAX_OF_CLIENT = 31
KEPT_AFTER_EXPIRY: Moment = 7 * DAY
ORIGINS_MAX = 20
ORIGIN_CHARACTERS_MAX = 262

# As browsers write them, so nothing can end the directive that names them. Pages that are not
# encrypted only of the machine itself, where they are developed.
_ORIGIN = re.compile(
    r"https://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?"
    r"|http://(?:localhost|127\.0\.0\.1)(?::[0-9]{1,5})?"
)


@dataclass(frozen=True, slots=True)
class ShareDraft:
    """A shared view as requested."""

    name: str
    content: str
    subgroups: bool
    device_ids: Sequence[str]  # an empty one for those of the group
    parameters: str  # JSON
    origins: Sequence[str]
    expires_in_days: int


@dataclass(frozen=True, slots=True)
class ShareView:
    """A shared view, and whether its link shows something now."""

    share: Share
    state: str


@dataclass(frozen=True, slots=True)
class CreatedShare:
    """A new one, with the secret of its link, which is stored nowhere."""

    view: ShareView
    secret: str


Reading = tuple[Actor, Scope]  # with whose permissions it is read, and in which groups


# --- create, list, delete ---


def create_share(
    tx: Tx,
    actor: Actor,
    group_id: str,
    draft: ShareDraft,
    quotas: Quotas,
) -> CreatedShare:
    """Create a link; whoever was handed the session of another may not publish in their name."""
    _require_oneself(tx)
    access.authorize(tx, actor, PUBLISH, group_id)
    scope = _authorize_reading(tx, actor, group_id, subgroups=draft.subgroups)
    field_errors = [*_check_expiry(actor, draft.expires_in_days), *_check_origins(draft.origins)]
    if field_errors:
        raise BadInput(field_errors=field_errors)
    present = store_devices.list_present(tx, scope, draft.device_ids)
    missing = [
        FieldError(f"device_ids[{index}]", "is not a known device of this group")
        for index, each in enumerate(draft.device_ids)
        if each not in present
    ]
    if missing:
        raise NotFound(field_errors=missing)
    locks.acquire_lock(tx, "shares of group", group_id)  # for the limit below
    quotas.require_room("shares_per_group_max", SHARES.count(tx, group_id=group_id))
    secret = new_secret(SECRET_PREFIX)
    share = Share(
        id=new_id("shr"),
        group_id=group_id,
        name=draft.name,
        content=draft.content,
        subgroups=draft.subgroups,
        device_ids=tuple(draft.device_ids),
        parameters=draft.parameters,
        digest=tx.keyring.digest(secret),
        origins=tuple(dict.fromkeys(draft.origins)),
        actor_kind=actor.kind,
        actor_id=actor.id,
        created_at=tx.now,
        expires_at=tx.now + draft.expires_in_days * DAY,
    )
    SHARES.insert(tx, share)
    _log(tx, actor, "create", share, after=_describe(share))
    return CreatedShare(ShareView(share, "open"), secret)


def list_shares(
    tx: Tx,
    actor: Actor,
    group_id: str,
    request: PageRequest,
    *,
    subgroups: bool,
) -> Page[ShareView]:
    """Those of a group, the newest first."""
    scope = access.authorize_tree(tx, actor, "notification.read", group_id, subgroups=subgroups)
    page = SHARES.page(tx, scope, request, order="-created_at id")
    readings: dict[tuple[str, ...], Reading | None] = {}
    views = []
    for share in page.items:
        # Once for all that one person shares of a tree, which may have many groups.
        key = share.actor_kind, share.actor_id, share.group_id, str(share.subgroups)
        if key not in readings:
            readings[key] = _find_reading(tx, share)
        views.append(ShareView(share, _state_of(tx, share, readings[key])))
    return Page(views, page.last_key)


def delete_share(tx: Tx, actor: Actor, group_id: str, share_id: str) -> ShareView:
    """Revoke a link; the audit log keeps how it was used."""
    scope = access.authorize(tx, actor, PUBLISH, group_id)
    share = SHARES.get(tx, scope, share_id)
    if share is None:
        raise not_found("share_id", "shared view of this group")
    view = ShareView(share, find_state(tx, share))
    if not SHARES.delete(tx, share_id):
        raise not_found("share_id", "shared view of this group")
    _log(tx, actor, "delete", share, before=_describe(share) | _describe_use(share))
    return view


def prune(tx: Tx, most: int) -> int:
    """Delete some that expired a while ago; how many."""
    old = store.list_old(tx, tx.now - KEPT_AFTER_EXPIRY, most)
    if old:
        store.delete_some(tx, old)
    for each in old:
        _log(tx, SYSTEM, "expire", each, before=_describe(each) | _describe_use(each))
    return len(old)


def check_origin(origin: str) -> bool:
    return len(origin) <= ORIGIN_CHARACTERS_MAX and _ORIGIN.fullmatch(origin) is not None


def _require_oneself(tx: Tx) -> None:
    if tx.origin.issued_by is not None:
        raise HandedOver


def _check_expiry(actor: Actor, days: int) -> list[FieldError]:
    most = EXPIRES_IN_DAYS_MAX_OF_CLIENT if actor.kind == "client" else EXPIRES_IN_DAYS_MAX
    return [FieldError("expires_in_days", f"must be at most {most}")] if days > most else []


def _check_origins(origins: Sequence[str]) -> list[FieldError]:
    return [
        FieldError(f"origins[{index}]", "is no origin like https://www.example.com")
        for index, each in enumerate(origins)
        if not check_origin(each)
    ]


def _log(tx: Tx, actor: Actor, verb: str, share: Share, **sides: Any) -> None:
    audit.log(
        tx,
        actor,
        f"share.{verb}",
        share.id,
        group_id=share.group_id,
        name=share.name,
        **sides,
    )


def _describe(share: Share) -> dict[str, Any]:
    """What the audit log says of it: all but its secret."""
    return {
        "name": share.name,
        "content": share.content,
        "subgroups": share.subgroups,
        "device_ids": share.device_ids,
        "parameters": share.parameters,
        "origins": share.origins,
        "expires_at": format_date(share.expires_at),
        "created_by": share.actor_id,
    }


def _describe_use(share: Share) -> dict[str, Any]:
    return {
        "uses": share.uses,
        "first_used_at": format_optional_date(share.first_used_at),
        "last_used_at": format_optional_date(share.last_used_at),
    }


# --- what a link opens ---


def find_share(tx: Tx, secret: str) -> Share:
    """What a secret opens, or has opened; the same error for whatever it never did."""
    share = store.find(tx, tx.keyring.digest(secret))
    if share is None:
        raise NotAuthenticated("The link is invalid, or was revoked.")
    return share


def find_state(tx: Tx, share: Share) -> str:
    """Whether it shows something, or why not."""
    return _state_of(tx, share, _find_reading(tx, share))


def open_share(tx: Tx, share: Share) -> Reading:
    """With whose permissions its content is read, and where; an error if it shows nothing."""
    reading = _find_reading(tx, share)
    state = _state_of(tx, share, reading)
    if state != "open" or reading is None:
        raise NotAllowed(f"The link shows nothing any more: {state}.")
    return reading


def _state_of(tx: Tx, share: Share, reading: Reading | None) -> str:
    if share.expires_at <= tx.now:
        return "expired"
    if reading is None:
        return "forbidden"
    _, scope = reading
    if share.device_ids and not store_devices.list_present(tx, scope, share.device_ids):
        return "gone"
    return "open"


def _find_reading(tx: Tx, share: Share) -> Reading | None:
    """As whom and where it is read; None if its creator could not publish it any more."""
    actor = credentials.get_actor(tx, share.actor_kind, share.actor_id)
    if actor is None:
        return None
    try:
        access.authorize(tx, actor, PUBLISH, share.group_id)
        return actor, _authorize_reading(tx, actor, share.group_id, subgroups=share.subgroups)
    except (NotAllowed, NotFound):
        return None


def _authorize_reading(tx: Tx, actor: Actor, group_id: str, *, subgroups: bool) -> Scope:
    """The scope of what is shown: whoever shares it may read all of it."""
    access.authorize(tx, actor, "device.read", group_id)
    return access.authorize_tree(tx, actor, "record.read", group_id, subgroups=subgroups)


def build_visitor(tx: Tx, share: Share) -> Actor:
    """On whose account a link is read: as an app client of the group, with its limits."""
    return Actor(
        "client",
        share.id,
        group_id=share.group_id,
        owner_id=request_owners.get_owner_id(tx, share.group_id),
        rates=group_limits.list_rates(tx, share.group_id),
    )
