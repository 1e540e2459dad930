"""Connectors: where a group's messages go, which of them, and what became of them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from longwire.clock import Moment
from longwire.delivery import retry_policy
from longwire.delivery.destinations import catalogue, parameters
from longwire.delivery.destinations.base import (
    Destination,
    Message,
    Params,
    Parcel,
    Refused,
    Request,
)
from longwire.delivery.egress import Egress
from longwire.delivery.filters import BadExpression, Expression
from longwire.delivery.formats import FORMATS, CannotShape, shape
from longwire.delivery.matching import context_of, matcher_of
from longwire.errors import BadInput, Fault, missing, wrong
from longwire.identity import access
from longwire.ids import delivery_id, new_id
from longwire.model import Actor, Connector, Page, PageRequest
from longwire.store import audit, auth_epoch
from longwire.store import connectors as store
from longwire.store import deliveries as store_deliveries
from longwire.store import device_types as store_device_types
from longwire.store import devices as store_devices
from longwire.store import groups as store_groups
from longwire.store import records as store_records
from longwire.store.database import Tx
from longwire.store.deliveries import Event
from longwire.store.records import KINDS

# The group of a record as it is stored. Inside of a text its quotes would be escaped.
_GROUP = re.compile(r'"groupId":"(\d+)"')

ReadParams = Callable[[type[Params], str], Params]
Retry = tuple[int | None, int | None]  # delay in seconds, retries at most

RETRY_DEFAULT: Retry = (None, None)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a connector is to be; None leaves it as it is, or as it is by default."""

    params: str | None = None
    type: str | None = None
    name: str | None = None
    description: str | None = None
    device_types: Sequence[str] | None = None
    device_ids: Sequence[str] | None = None
    message_filter: str | None = None
    format: str | None = None
    storing_s: int | None = None
    retry: Retry | None = None
    is_enabled: bool | None = None
    tags: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A connector as somebody may see it."""

    connector: Connector
    params: str
    kept_since: Moment | None


# --- seeing ---


def find(tx: Tx, actor: Actor, permission: str, group_id: str, connector_id: str) -> Connector:
    scope = access.enter(tx, actor, permission, group_id)
    connector = store.get(tx, scope, connector_id)
    if connector is None:
        raise missing("connector_id", "connector of this group")
    return connector


def show(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> View:
    return view(tx, actor, find(tx, actor, "connector.read", group_id, connector_id))


def in_group(tx: Tx, actor: Actor, group_id: str, request: PageRequest) -> Page[View]:
    scope = access.enter(tx, actor, "connector.read", group_id)
    page = store.in_group(tx, scope, group_id, request)
    return Page([view(tx, actor, each) for each in page.items], page.last_key)


def view(tx: Tx, actor: Actor, connector: Connector) -> View:
    """With its secrets for whoever could change them, masked for everybody else."""
    text = _unsealed(tx, connector)
    if "connector.write" not in access.permissions_in(tx, actor, connector.group_id):
        text = catalogue.masked(connector.type, text)
    return View(connector, text, store_deliveries.kept_since(tx, connector.number))


# --- making and changing ---


def create(
    tx: Tx,
    actor: Actor,
    group_id: str,
    wish: Wish,
    read_params: ReadParams,
    egress: Egress,
    *,
    wished_id: str | None = None,
) -> View:
    access.enter(tx, actor, "connector.write", group_id)
    auth_epoch.change(tx)  # one after the other: of two who wish for the same id, one gets it
    connector = Connector(
        number=0,
        id=new_id("con") if wished_id is None else wished_id,
        group_id=group_id,
        version=1,
        name=None,
        description=None,
        type=wish.type or "",
        sealed_params="",
        subgroups=False,
        device_types=(),
        device_ids=(),
        message_filter=None,
        format="json",
        storing_s=retry_policy.STORING_DEFAULT_S,
        retry_delay_s=None,
        retries_max=None,
        tags=(),
        is_enabled=True,
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
        updated_by=actor.id,
    )
    taken = wished_id is not None and store.is_taken(tx, wished_id)
    faults = [Fault("id", "is taken; leave it out to get a new one")] if taken else []
    connector = _changed(tx, connector, wish, None, read_params, egress, faults)
    connector = store.insert(tx, connector)
    audit.note(
        tx, actor, "connector.create", connector.id, group_id=group_id, detail=connector.type
    )
    return view(tx, actor, connector)


def change(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    wish: Wish,
    read_params: ReadParams,
    egress: Egress,
) -> View:
    connector = _find_to_change(tx, actor, group_id, connector_id)
    kept = _unsealed(tx, connector)
    changed = _changed(tx, connector, wish, kept, read_params, egress, [])
    store.save(tx, replace(changed, updated_at=tx.now, updated_by=actor.id))
    audit.note(tx, actor, "connector.update", connector.id, group_id=group_id)
    return show_after(tx, actor, connector)


def delete(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> View:
    """Delete a connector; what it had not delivered is not delivered any more."""
    connector = _find_to_change(tx, actor, group_id, connector_id)
    seen = view(tx, actor, connector)
    store.remove(tx, connector)
    audit.note(tx, actor, "connector.delete", connector.id, group_id=group_id)
    return seen


def _find_to_change(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> Connector:
    """As it is once everybody who is changing it now has done so."""
    access.enter(tx, actor, "connector.write", group_id)
    auth_epoch.change(tx)
    return find(tx, actor, "connector.write", group_id, connector_id)


def _changed(
    tx: Tx,
    connector: Connector,
    wish: Wish,
    kept: str | None,
    read_params: ReadParams,
    egress: Egress,
    faults: list[Fault],
) -> Connector:
    """The connector with the wish fulfilled, or a refusal that names everything wrong with it."""
    type_name = wish.type or connector.type
    params: Params | None = None
    text = kept
    if type_name not in catalogue.TYPES:
        faults.append(Fault("type", f"is unknown; known are {', '.join(catalogue.TYPES)}"))
    elif wish.params is None and type_name != connector.type:
        faults.append(Fault("params", f"are needed for a connector of type {type_name}"))
    else:
        try:
            text, params = _params(
                type_name, connector.type, wish.params, kept, read_params, egress
            )
        except BadInput as error:
            faults += error.faults
    message_filter = connector.message_filter
    if wish.message_filter is not None:
        message_filter = wish.message_filter.strip() or None
        if message_filter is not None:
            faults += _expression_faults("message_filter", message_filter)
    format_name = connector.format if wish.format is None else wish.format
    faults += _format_faults(type_name, format_name, params)
    if wish.device_types is not None:
        faults += _type_faults(tx, wish.device_types)
    if wish.device_ids is not None:
        reach = _reach(tx, connector.group_id, params is not None and params.subgroups)
        faults += _device_faults(tx, wish.device_ids, reach)
    if faults:
        raise BadInput(faults=faults)
    assert params is not None and text is not None
    delay_s, retries_max = wish.retry or (connector.retry_delay_s, connector.retries_max)
    return replace(
        connector,
        type=type_name,
        sealed_params=tx.keyring.seal(text, _purpose(connector.id)),
        subgroups=params.subgroups,
        name=connector.name if wish.name is None else wish.name,
        description=connector.description if wish.description is None else wish.description,
        device_types=_unique(wish.device_types, connector.device_types),
        device_ids=_unique(wish.device_ids, connector.device_ids),
        message_filter=message_filter,
        format=format_name,
        storing_s=connector.storing_s if wish.storing_s is None else wish.storing_s,
        retry_delay_s=delay_s,
        retries_max=retries_max,
        is_enabled=connector.is_enabled if wish.is_enabled is None else wish.is_enabled,
        tags=connector.tags if wish.tags is None else tuple(wish.tags),
    )


def _unique(wished: Sequence[str] | None, so_far: tuple[str, ...]) -> tuple[str, ...]:
    return so_far if wished is None else tuple(dict.fromkeys(wished))


def _params(
    type_name: str,
    type_so_far: str,
    wished: str | None,
    kept: str | None,
    read_params: ReadParams,
    egress: Egress,
) -> tuple[str, Params]:
    """The parameters as text and as a value; whatever is wrong with them is raised."""
    if wished is None:
        if kept is None:
            raise wrong("params", "is required")
        # Judged when they were saved; by today's rules one could not even disable the connector.
        return kept, catalogue.params_of(type_name, kept)
    params_type = catalogue.TYPES[type_name].params_type
    of_same_type = kept if type_name == type_so_far else None
    text, params, faults = parameters.judged(params_type, wished, of_same_type, read_params, egress)
    if params.template is not None:
        faults += _expression_faults("params.template", params.template)
    if faults:
        raise BadInput(faults=faults)
    return text, params


def _expression_faults(place: str, source: str) -> list[Fault]:
    try:
        Expression(source)
    except BadExpression as error:
        return [Fault(place, str(error))]
    return []


def _format_faults(type_name: str, format_name: str, params: Params | None) -> list[Fault]:
    kind = catalogue.TYPES.get(type_name)
    known = kind.formats if kind is not None else FORMATS
    if format_name not in known:
        return [Fault("format", f"is unknown; known are {', '.join(known)}")]
    if format_name == "custom" and params is not None and params.template is None:
        return [Fault("params.template", "is needed for the format custom")]
    return []


def _type_faults(tx: Tx, names: Sequence[str]) -> list[Fault]:
    known = {each.name for each in store_device_types.every(tx)}
    return [
        Fault(f"device_types[{index}]", "is no device type that is known here")
        for index, name in enumerate(names)
        if name not in known
    ]


def _device_faults(tx: Tx, ids: Sequence[str], reach: frozenset[str]) -> list[Fault]:
    found = store_devices.reporting(tx, ids) if ids else {}
    return [
        Fault(f"device_ids[{index}]", "names no device of this group")
        for index, each in enumerate(ids)
        if each not in found or found[each].group_id not in reach
    ]


def groups_of(tx: Tx, connector: Connector) -> frozenset[str]:
    """The groups whose messages a connector takes."""
    return _reach(tx, connector.group_id, connector.subgroups)


def _reach(tx: Tx, group_id: str, subgroups: bool) -> frozenset[str]:
    return frozenset(store_groups.subtree(tx, group_id)) if subgroups else frozenset([group_id])


# --- parameters at rest ---


def open_params(tx: Tx, connector: Connector) -> Params:
    return catalogue.params_of(connector.type, _unsealed(tx, connector))


def _unsealed(tx: Tx, connector: Connector) -> str:
    return tx.keyring.unseal(connector.sealed_params, _purpose(connector.id))


def _purpose(connector_id: str) -> str:
    return f"connector|{connector_id}|params"


# --- shaping ---


def destination_of(connector: Connector, params: Params, egress: Egress) -> Destination:
    return catalogue.TYPES[connector.type](params, egress)


@dataclass(frozen=True, slots=True)
class Shaper:
    """Makes messages of what a connector forwards."""

    connector: Connector
    template: Expression | None

    @classmethod
    def of(cls, connector: Connector, params: Params) -> "Shaper":
        return cls(connector, Expression(params.template) if params.template else None)

    def message(
        self, seq: int, kind: int, device_id: str, body: str, context: str
    ) -> Message | Refused:
        """The message as it goes out, or why there cannot be one."""
        name = delivery_id(self.connector.number, seq)
        home = _GROUP.search(body)
        about = msgspec.json.decode(context)
        try:
            shaped = shape(self.connector.format, self.template, name, KINDS[kind], body, about)
        except CannotShape as error:
            return Refused(f"could not be put into its format: {error}", is_final=True)
        return Message(
            name,
            KINDS[kind],
            home[1] if home else self.connector.group_id,
            device_id,
            about["deviceType"],
            shaped.body,
            shaped.content_type,
            shaped.element,
        )


# --- what happened, and once more ---


@dataclass(frozen=True, slots=True)
class History:
    page: Page[Event]
    counts: dict[int, int]  # by state, over the whole period


def history(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    begin: Moment,
    end: Moment,
    request: PageRequest,
    *,
    ascending: bool,
) -> History:
    """What became of a connector's messages in a period."""
    connector = find(tx, actor, "connector.read", group_id, connector_id)
    page = store_deliveries.events(tx, connector.number, begin, end, request, ascending=ascending)
    return History(page, store_deliveries.counts(tx, connector.number, begin, end))


def resend(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> View:
    """Send again what failed for good; while that goes on, asking again changes nothing."""
    connector = find(tx, actor, "connector.resend", group_id, connector_id)
    has_any = store_deliveries.kept_since(tx, connector.number) is not None
    if has_any and store.begin_resend(tx, connector):
        audit.note(tx, actor, "connector.resend", connector.id, group_id=group_id)
    return show_after(tx, actor, connector)


def show_after(tx: Tx, actor: Actor, connector: Connector) -> View:
    """How a connector is now, for somebody who may act on it."""
    return view(tx, actor, store.by_number(tx, [connector.number])[connector.number])


@dataclass(frozen=True, slots=True)
class Previewed:
    """What a connector would have done with a stored record."""

    device_id: str
    kind: str
    ts: Moment
    reason: str  # why it is not taken; empty when it is
    request: Request | None


def preview(
    tx: Tx, actor: Actor, group_id: str, connector_id: str, limit: int, egress: Egress
) -> list[Previewed]:
    """The last records, and what would go out for each; nothing is sent."""
    connector = find(tx, actor, "connector.read", group_id, connector_id)
    access.enter(tx, actor, "record.read", group_id)  # it shows what they say
    params = open_params(tx, connector)
    shaper, matcher = Shaper.of(connector, params), matcher_of(connector)
    destination = destination_of(connector, params, egress)
    groups = [int(each) for each in groups_of(tx, connector)]
    found = []
    for past in store_records.latest(tx, groups, limit):
        row, device = past.row, past.device
        reason = matcher.verdict(row, device)
        message = shaper.message(row.seq, row.kind, device.id, row.body, context_of(device))
        request = None
        if isinstance(message, Refused):
            reason = reason or message.reason
        else:
            request = destination.describe(Parcel(message.id, [message], tx.now))
        found.append(Previewed(device.id, KINDS[row.kind], row.ts, reason, request))
    return found
