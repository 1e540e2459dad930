"""Single messages of connectors: search, get, retry and cancel.

Retrying or cancelling many goes in steps, each a transaction of its own, so that nobody waits for
all of them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from longwire import metrics
from longwire.delivery.attempts import Attempt, parse_attempts
from longwire.delivery.channel_owners import check_devices
from longwire.delivery.connectors import connectors
from longwire.delivery.connectors.delivery_commands import COMMAND_WRITER
from longwire.delivery.exchanges import Exchange, decode_exchange
from longwire.delivery.matching import matching
from longwire.errors import BadInput, FieldError, NotAllowed, invalid_field, not_found
from longwire.identity import access
from longwire.ids import parse_delivery_id
from longwire.model import (
    Actor,
    Connector,
    Origin,
    Page,
    PageRequest,
)
from longwire.store.database import Database, Tx
from longwire.store.delivery import change_messages as store_changes
from longwire.store.delivery import connectors as store_connectors
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery import delivery_history, delivery_search
from longwire.store.delivery import exchanges as store_exchanges
from longwire.store.delivery.connectors import CONNECTORS
from longwire.store.delivery.delivery_history import DeliveryDetail, DeliveryEvent
from longwire.store.delivery.delivery_search import DeliveryFilter, StateCounts
from longwire.store.identity import groups as store_groups
from longwire.store.records import arrived_records

# By a filter, in one request; more is for the next one.
CHANGED_MAX = 10_000
MESSAGES_PER_STEP_MAX = 1_000
# Pages of a search that find little.
STEPS_MAX = 30

# With those of groups below; each is read on its own.
CONNECTORS_SEARCHED_MAX = 1_000
TOO_MANY_CONNECTORS = (
    f"has more than {CONNECTORS_SEARCHED_MAX:,} connectors with messages in this period; name a"
    " connector, a group below, or a shorter period"
)

CANCELLED_BY_USER = "cancelled"


# --- search and get ---


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Messages of some connectors, whose ids are by number."""

    page: Page[DeliveryEvent]
    connector_ids: Mapping[int, str]
    counts: StateCounts | None  # over the whole period; with the first page


def search_messages(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str | None,
    wanted: DeliveryFilter,
    request: PageRequest,
    *,
    ascending: bool,
    subgroups: bool = False,
) -> MessagePage:
    """The messages of the connectors of a group, by their last change."""
    found = _select_read(tx, actor, group_id, connector_id, subgroups=subgroups)
    _require_device(tx, group_id, wanted)
    numbers = delivery_search.list_active(tx, list(found), wanted.begin, wanted.end)
    if subgroups and len(numbers) > CONNECTORS_SEARCHED_MAX:
        raise invalid_field("subgroups", TOO_MANY_CONNECTORS)
    page = delivery_search.search(tx, numbers, wanted, request, ascending=ascending)
    counts = None
    if request.after is None:
        counts = delivery_search.count_by_state(tx, numbers, wanted.begin, wanted.end)
    return MessagePage(page, found, counts)


def list_created(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str | None,
    after: tuple[int, int] | None,
    first_seq: int,
    until_seq: int,
    most: int,
    *,
    subgroups: bool = False,
) -> tuple[list[tuple[str, DeliveryEvent]], tuple[int, int] | None]:
    """The next messages of a group's connectors, each with the id of its connector.

    Connector by connector, in the order of the records they are about; and the key to continue
    after, None at the end.
    """
    found = _select_read(tx, actor, group_id, connector_id, subgroups=subgroups)
    remaining = sorted(each for each in found if after is None or each >= after[0])
    for number in remaining[:CONNECTORS_SEARCHED_MAX]:
        after_seq = after[1] if after is not None and number == after[0] else first_seq - 1
        events = delivery_search.list_by_seq(tx, number, after_seq, until_seq, most)
        if events:
            return [(found[number], each) for each in events], (number, events[-1].seq)
    is_end = len(remaining) <= CONNECTORS_SEARCHED_MAX
    return [], None if is_end else (remaining[CONNECTORS_SEARCHED_MAX], first_seq - 1)


def _require_device(tx: Tx, group_id: str, wanted: DeliveryFilter) -> None:
    """Only devices of the group and below can be named."""
    if wanted.device_id is not None:
        groups = store_groups.list_subtree(tx, group_id)
        field_errors = check_devices(tx, {"device_id": wanted.device_id}, groups)
        if field_errors:
            raise BadInput(field_errors=field_errors)


def _select_connectors(
    tx: Tx, actor: Actor, action: str, group_id: str, connector_id: str | None
) -> dict[int, str]:
    """The ids of all connectors of a group by number, or of one of them."""
    if connector_id is not None:
        connector = connectors.KIND.require(tx, actor, action, group_id, connector_id)
        return {connector.number: connector.id}
    access.authorize(tx, actor, f"connector.{action}", group_id)
    return store_connectors.list_numbers(tx, [group_id])


def _select_read(
    tx: Tx, actor: Actor, group_id: str, connector_id: str | None, *, subgroups: bool
) -> dict[int, str]:
    """The same to be read; with subgroups also of the groups below, where the permission holds."""
    if not subgroups:
        return _select_connectors(tx, actor, "read", group_id, connector_id)
    tree = access.authorize_tree(tx, actor, "connector.read", group_id)
    if connector_id is None:
        return store_connectors.list_numbers(tx, list(tree.group_ids))
    connector = CONNECTORS.get(tx, tree, connector_id)
    if connector is None:
        raise connectors.KIND.missing()
    return {connector.number: connector.id}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a connector, and what became of it."""

    connector: Connector
    event: DeliveryEvent
    attempts: list[Attempt]
    record: str | None  # JSON; for those who may read records, while it is stored
    record_seq: int | None  # the arrival of what it is about; None for a change without a record


def get_message(tx: Tx, actor: Actor, message_id: str) -> Message:
    key = parse_delivery_id(message_id)
    connector = CONNECTORS.get_by_numbers(tx, [key[0]]).get(key[0]) if key else None
    detail = delivery_history.get_detail(tx, *key) if key and connector else None
    permissions: frozenset[str] = frozenset()
    if connector is not None:
        permissions = access.get_permissions(tx, actor, connector.group_id)
    if connector is None or detail is None or not permissions:
        raise not_found("id", "message")
    if "connector.read" not in permissions:
        raise NotAllowed(f"This needs the permission connector.read in group {connector.group_id}.")
    record = _find_record(tx, connector, detail) if "record.read" in permissions else None
    return build_message(connector, detail, record)


def build_message(connector: Connector, detail: DeliveryDetail, record: str | None) -> Message:
    event = detail.event
    record_seq = detail.cause if event.kind in matching.CHANGE_KINDS else event.seq
    return Message(connector, event, parse_attempts(detail.attempt_log), record, record_seq)


def list_exchanges(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    message_id: str | None,
    request: PageRequest,
) -> Page[Exchange]:
    """What a connector sent and got back, as far as it is kept; of one message, or newest first.

    For those who may change it: a response may have anything in it.
    """
    connector = connectors.KIND.require(tx, actor, "write", group_id, connector_id)
    access.authorize(tx, actor, "record.read", connector.group_id)  # it shows their content
    if message_id is None:
        page = store_exchanges.list_page(tx, connector.number, request)
        return Page([decode_exchange(each.content) for each in page.items], page.last_key)
    key = parse_delivery_id(message_id)
    detail = None
    if key is not None and key[0] == connector.number:
        detail = delivery_history.get_detail(tx, *key)
    if detail is None:
        raise BadInput(field_errors=[FieldError("message_id", "is not a message of it")])
    ids = [each.exchange_id for each in parse_attempts(detail.attempt_log) if each.exchange_id]
    found = store_exchanges.get_many(tx, connector.number, ids)
    return Page([decode_exchange(each.content) for each in found], None)


def _find_record(tx: Tx, connector: Connector, detail: DeliveryDetail) -> str | None:
    """The record of a message: the copy that waits with it, or the stored one."""
    if detail.body is not None:
        return detail.body
    event = detail.event
    groups = connectors.list_source_groups(tx, connector)
    if event.kind in matching.CHANGE_KINDS:
        change = store_changes.get(tx, event.seq)
        is_seen = change is not None and str(change.group_number) in groups
        return change.encoded.body if change is not None and is_seen else None
    arrived = arrived_records.find_of_device(tx, event.device_id, event.seq)
    if arrived is None or arrived.device.group_id not in groups:
        return None
    return arrived.row.encoded.body


# --- retry and cancel many ---

Verb = Literal["retry", "cancel"]


@dataclass(frozen=True, slots=True)
class MessageSelection:
    """Messages of a group by their ids, or those of a connector by a filter."""

    group_id: str
    ids: Sequence[str] | None = None
    connector_id: str | None = None
    wanted: DeliveryFilter | None = None


@dataclass(slots=True)
class ChangedMessages:
    """What a request has changed; the others were in another state."""

    changed: int = 0
    skipped: int = 0
    is_more: bool = False  # not all that match have been looked at
    channels: set[int] = field(default_factory=set)

    def add(self, number: int, asked: int, changed: int) -> None:
        self.changed += changed
        self.skipped += asked - changed
        if changed:
            self.channels.add(number)


async def change_messages(
    database: Database, actor: Actor, origin: Origin, verb: Verb, selection: MessageSelection
) -> ChangedMessages:
    """Make messages due now, or cancel them."""
    result = ChangedMessages()
    if selection.ids is not None:
        ids = list(dict.fromkeys(selection.ids))
        step = partial(_change_by_ids, actor=actor, origin=origin, verb=verb, ids=ids)
        return await database.write(partial(step, group_id=selection.group_id))
    wanted, connector_id = selection.wanted, selection.connector_id
    assert wanted is not None and connector_id is not None
    # What is changed now is not found again.
    wanted = replace(wanted, end=min(wanted.end, database.context.clock.now()))
    after: tuple[int | str, ...] | None = None
    for _ in range(STEPS_MAX):
        most = min(MESSAGES_PER_STEP_MAX, CHANGED_MAX - result.changed - result.skipped)
        search = partial(
            _search_step,
            actor=actor,
            group_id=selection.group_id,
            connector_id=connector_id,
            wanted=wanted,
            request=PageRequest(most, after),
        )
        number, page = await database.read(search)
        if page.items:
            seqs = {number: [each.seq for each in page.items]}
            change = partial(_change, actor=actor, origin=origin, verb=verb, seqs=seqs)
            await database.write(partial(change, group_id=selection.group_id, result=result))
        after = page.last_key
        if after is None or result.changed + result.skipped >= CHANGED_MAX:
            break
    result.is_more = after is not None
    return result


def _search_step(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    wanted: DeliveryFilter,
    request: PageRequest,
) -> tuple[int, Page[DeliveryEvent]]:
    connector = connectors.KIND.require(tx, actor, "resend", group_id, connector_id)
    _require_device(tx, group_id, wanted)
    found = delivery_search.search(tx, [connector.number], wanted, request, ascending=True)
    return connector.number, found


def _change_by_ids(
    tx: Tx, actor: Actor, origin: Origin, verb: Verb, group_id: str, ids: Sequence[str]
) -> ChangedMessages:
    """All ids must be of messages of the group, or nothing is changed."""
    known = _select_connectors(tx, actor, "resend", group_id, None)
    seqs: defaultdict[int, list[int]] = defaultdict(list)
    for number, seq in filter(None, map(parse_delivery_id, ids)):
        if number in known:
            seqs[number].append(seq)
    present = {
        number: delivery_history.list_present(tx, number, each) for number, each in seqs.items()
    }
    field_errors = []
    for index, each in enumerate(ids):
        key = parse_delivery_id(each)
        if key is None or key[1] not in present.get(key[0], ()):
            field_errors.append(FieldError(f"ids[{index}]", "is not a message of this group"))
    if field_errors:
        raise BadInput(field_errors=field_errors)
    result = ChangedMessages()
    _change(tx, actor, origin, verb, group_id, seqs, result)
    return result


def _change(
    tx: Tx,
    actor: Actor,
    origin: Origin,
    verb: Verb,
    group_id: str,
    seqs: Mapping[int, Sequence[int]],
    result: ChangedMessages,
) -> None:
    tx.origin = origin
    found = CONNECTORS.get_by_numbers(tx, list(seqs))
    apply: Callable[[Tx, Connector, Sequence[int]], int] = _retry if verb == "retry" else _cancel
    for number, connector in sorted(found.items()):
        access.authorize(tx, actor, "connector.resend", group_id)
        changed = apply(tx, connector, seqs[number])
        result.add(number, len(seqs[number]), changed)
        if changed:
            detail = f"messages: {changed}"
            connectors.KIND.log(tx, actor, f"{verb}Messages", connector, detail)


def _retry(tx: Tx, connector: Connector, seqs: Sequence[int]) -> int:
    return len(delivery_search.retry_many(tx, connector.number, seqs))


def _cancel(tx: Tx, connector: Connector, seqs: Sequence[int]) -> int:
    cancelled = store_deliveries.cancel_many(tx, connector.number, seqs, CANCELLED_BY_USER)
    first = sum(generation == 0 for generation in cancelled.values())
    if first:
        counter = (int(connector.group_id), "connector_message_error")
        metrics.count(tx, COMMAND_WRITER, Counter({counter: first}))
    return len(cancelled)
