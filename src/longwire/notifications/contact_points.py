"""Contact points: create, get, list, update, delete, test."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from longwire.dates import format_date
from longwire.delivery.channel_owners import ChannelDraft, DraftRules, OwnerView
from longwire.delivery.channels import DispatchContext
from longwire.delivery.http.egress import Egress
from longwire.errors import Conflict, FieldError
from longwire.identity import access
from longwire.model import Actor, Page, PageRequest
from longwire.notifications.recipients import CONTACT_KIND, RecipientCache
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import (
    ContactParams,
    NotificationContext,
    NotificationMessage,
    SendingConfig,
)
from longwire.notifications.types.rota import RotaParams, RotaSender
from longwire.quotas import Quotas
from longwire.records import RecordKind
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.notifications import contact_points as store
from longwire.store.notifications.contact_points import ContactPoint, ContactPointUse
from longwire.translations.catalogue import translate

TEST = "test"
NOT_USABLE = "is not a contact point that this group may use"
IS_ROTA = "is a rota itself"
# So many users are named where one is in use.
NAMED_MAX = 5

ParseContactParams = Callable[[type[ContactParams], str], ContactParams]


@dataclass(frozen=True, slots=True)
class ContactPointView:
    """A contact point as an actor may see it."""

    owner: ContactPoint
    params: str | None  # None in groups above, which only share it
    on_call: Sequence[str] | None  # of a rota


# --- get and list ---


def get_contact_point(
    tx: Tx, actor: Actor, contact_id: str, group_id: str | None
) -> ContactPointView:
    return _view(tx, actor, CONTACT_KIND.require(tx, actor, "read", group_id, contact_id))


def list_contact_points(
    tx: Tx, actor: Actor, group_id: str, request: PageRequest, *, usable: bool, subgroups: bool
) -> Page[ContactPointView]:
    """Those of a group, with those of groups below or without, or all it may use."""
    access.authorize(tx, actor, "notification.read", group_id)
    if usable:
        page = store.list_usable_page(tx, access.get_group_path(tx, group_id), request)
    else:
        page = CONTACT_KIND.list_page(tx, actor, group_id, request, subgroups=subgroups)
    return Page([_view(tx, actor, each) for each in page.items], page.last_key)


def _view(tx: Tx, actor: Actor, contact: ContactPoint) -> ContactPointView:
    if "notification.read" not in access.get_permissions(tx, actor, contact.group_id):
        return ContactPointView(contact, None, None)
    params = CONTACT_KIND.open_params(tx, contact.channel)
    on_call = params.list_on_call(tx.now) if isinstance(params, RotaParams) else None
    view: OwnerView[ContactPoint] = CONTACT_KIND.view(tx, actor, contact)
    return ContactPointView(contact, view.params, on_call)


# --- create, update, delete ---


def create_contact_point(
    tx: Tx,
    actor: Actor,
    group_id: str,
    draft: ChannelDraft,
    parse: ParseContactParams,
    egress: Egress,
    config: SendingConfig,
    *,
    quotas: Quotas,
) -> ContactPointView:
    access.authorize(tx, actor, "notification.write", group_id)
    locks.acquire_lock(tx, "contact points of group", group_id)  # for the limit below
    contact = CONTACT_KIND.build(tx, actor, group_id, draft, _draft_rules(parse, egress, config))
    stored = store.CONTACT_POINTS.count_in_group(tx, group_id)
    quotas.require_room("contact_points_per_group_max", stored)
    created = CONTACT_KIND.insert(tx, actor, contact)
    _save_members(tx, created)
    return _view(tx, actor, created)


def update_contact_point(
    tx: Tx,
    actor: Actor,
    group_id: str,
    contact_id: str,
    draft: ChannelDraft,
    parse: ParseContactParams,
    egress: Egress,
    config: SendingConfig,
) -> ContactPointView:
    rules = _draft_rules(parse, egress, config)
    before, after = CONTACT_KIND.update(tx, actor, group_id, contact_id, draft, rules)
    _require_still_usable(tx, actor, before, after)
    if draft.params is not None:
        _save_members(tx, after)
    return _view(tx, actor, after)


def delete_contact_point(tx: Tx, actor: Actor, group_id: str, contact_id: str) -> ContactPointView:
    """Delete a contact point that nothing uses, with its unsent messages."""
    deleted = CONTACT_KIND.delete(tx, actor, group_id, contact_id)
    _require_unused(tx, actor, store.list_uses(tx, deleted.number))
    store.save_uses(tx, deleted.number, [])
    return _view(tx, actor, deleted)


def _require_still_usable(tx: Tx, actor: Actor, before: ContactPoint, after: ContactPoint) -> None:
    """Groups below keep what they use, and a rota names no other one."""
    uses = store.list_uses(tx, after.number)
    if before.subgroups and not after.subgroups:
        _require_unused(tx, actor, [each for each in uses if each.group_id != after.group_id])
    if after.type == RotaSender.type and before.type != RotaSender.type:
        rotas = [each for each in uses if each.purpose == CONTACT_KIND.purpose]
        _require_unused(tx, actor, rotas)


def _require_unused(tx: Tx, actor: Actor, uses: Sequence[ContactPointUse]) -> None:
    if not uses:
        return
    named = [
        each.name or each.id
        for each in uses
        if "notification.read" in access.get_permissions(tx, actor, each.group_id)
    ][:NAMED_MAX]
    others = len(uses) - len(named)
    names = [*named, *([f"{others} more" if named else f"{others} of other groups"] * (others > 0))]
    raise Conflict(f"It is used by {', '.join(names)}; take it out there first.")


def _save_members(tx: Tx, contact: ContactPoint) -> None:
    params = CONTACT_KIND.open_params(tx, contact.channel)
    named = [each for _, each in params.list_named()] if isinstance(params, RotaParams) else []
    save_uses(tx, contact.number, named)


def save_uses(tx: Tx, number: int, ids: Sequence[str]) -> None:
    """Store which contact points a notification or a rota names; they were checked."""
    found = store.list_by_ids(tx, ids)
    store.save_uses(tx, number, [each.number for each in found])


# --- drafts ---


def check_named(
    tx: Tx, group_id: str, named: Sequence[tuple[str, str]], *, may_be_rota: bool
) -> list[FieldError]:
    """Contact points by the field of `params` that names them: each must be usable."""
    if not named:
        return []
    for contact_id in sorted({each for _, each in named}):
        locks.acquire_lock(tx, "channel", contact_id)  # none of them is deleted meanwhile
    path = access.get_group_path(tx, group_id)
    found = store.list_usable(tx, {each for _, each in named}, path)
    is_rota = {each.id: each.type == RotaSender.type for each in found}
    errors = [
        FieldError(f"params.{place}", NOT_USABLE) for place, each in named if each not in is_rota
    ]
    if not may_be_rota:
        errors += [
            FieldError(f"params.{place}", IS_ROTA) for place, each in named if is_rota.get(each)
        ]
    return errors


def _draft_rules(
    parse: ParseContactParams, egress: Egress, config: SendingConfig
) -> DraftRules[ContactPoint, ChannelDraft, ContactParams]:
    check_params, check = partial(_check_allowed, config), partial(_check_draft, config)
    return DraftRules(parse, egress, check_params, check, _merge)


def _check_allowed(
    config: SendingConfig, type_name: str, params: ContactParams
) -> list[FieldError]:
    disallowed = catalogue.CONTACT_POINT_TYPES[type_name].list_disallowed(params, config)
    return [FieldError(f"params.{place}", why) for place, why in disallowed]


def _check_draft(
    config: SendingConfig,
    tx: Tx,
    contact: ContactPoint,
    draft: ChannelDraft,
    params: ContactParams | None,
) -> list[FieldError]:
    sender_type = catalogue.CONTACT_POINT_TYPES.get(draft.type or contact.type)
    if draft.params is None or sender_type is None:
        return []
    if not sender_type.is_available(config):
        return [FieldError("type", sender_type.setup_hint)]
    if isinstance(params, RotaParams):
        named = params.list_named()
        others = [(place, each) for place, each in named if each != contact.id]
        return [
            *(
                FieldError(f"params.{place}", IS_ROTA)
                for place, each in named
                if each == contact.id
            ),
            *check_named(tx, contact.group_id, others, may_be_rota=False),
        ]
    return []


def _merge(contact: ContactPoint, draft: ChannelDraft, params: ContactParams) -> ContactPoint:
    return replace(contact, subgroups=params.subgroups)


# --- test ---


def test_contact_point(
    tx: Tx, actor: Actor, group_id: str, contact_id: str, dispatch: DispatchContext
) -> int:
    """Send a test to all who would be notified now; returns how many messages were queued."""
    contact = CONTACT_KIND.require(tx, actor, "write", group_id, contact_id)
    name = contact.name or contact.id
    about = {
        "kind": TEST,
        "contactPointId": contact.id,
        "groupId": group_id,
        "timestamp": format_date(tx.now),
    }
    context = NotificationContext(group_id=group_id)
    recipients = list(dict.fromkeys(RecipientCache(tx).list_of_contact_point(contact)))
    seqs = dispatch.take_sequence_numbers(tx.now, len(recipients)) if recipients else ()
    store_deliveries.insert(
        tx,
        [
            NewDelivery(
                each.channel_number,
                seq,
                "",
                RecordKind.EVENT,
                tx.now,
                _encode_test(name, about, each.language),
                msgspec.json.encode(msgspec.structs.replace(context, to=each.to)).decode(),
            )
            for seq, each in zip(seqs, recipients, strict=True)
        ],
    )
    dispatch.wake(tx, {each.channel_number for each in recipients})
    CONTACT_KIND.log(tx, actor, TEST, contact)
    return len(recipients)


def _encode_test(name: str, about: dict[str, str], language: str) -> str:
    message = NotificationMessage(
        subject=translate(language, "test.contact_subject", name=name),
        body=translate(language, "test.body"),
        reason=TEST,
        message=about,
        language=language,
    )
    return msgspec.json.encode(message).decode()
