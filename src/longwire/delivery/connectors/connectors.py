"""Connectors: create, get, list, update, delete, resend, and the history of their deliveries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from longwire import extras
from longwire.clock import Moment
from longwire.dates import parse_date
from longwire.delivery.cel.expressions import Expression
from longwire.delivery.cel.lexer import InvalidExpression
from longwire.delivery.channel_owners import (
    ChannelDraft,
    DraftRules,
    OwnerKind,
    OwnerView,
    check_device_types,
    check_devices,
    updated,
    updated_unique,
)
from longwire.delivery.connectors.formats import FORMATS
from longwire.delivery.destinations import catalogue
from longwire.delivery.destinations.base import DestinationParams
from longwire.delivery.http.egress import Egress
from longwire.errors import BadInput, FieldError
from longwire.identity import access
from longwire.model import Actor, Channel, ChannelPurpose, Connector, Page, PageRequest
from longwire.quotas import Quotas
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.delivery import backlogs as store_backlogs
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import dead_letters as store_dead_letters
from longwire.store.delivery import delivery_history
from longwire.store.delivery import ordered_deliveries as store_ordered
from longwire.store.delivery.connectors import CONNECTORS, sum_settings
from longwire.store.delivery.delivery_history import DeliveryEvent
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.fleet import overviews
from longwire.store.identity import audit
from longwire.store.identity import groups as store_groups
from longwire.store.notifications import alarms as store_alarms
from longwire.store.notifications import notifications as store_notifications


def _audit_policies(channel: Channel) -> audit.Fields:
    has_retries = channel.retries_max is not None
    retry: dict[str, Any] = {"delays": channel.retry_delays}
    if channel.retry_delay_s is not None:
        retry = {"retry_delay": channel.retry_delay_s, "max_retry": channel.retries_max}
    return {
        "enabled": channel.is_enabled,
        "data_failure_policy": {"storing_duration": channel.storing_s},
        "retry_policy": retry if has_retries else None,
    }


KIND = OwnerKind(
    ChannelPurpose.CONNECTOR,
    "connector",
    "connector_id",
    "con",
    "connector of this group",
    Connector,
    CONNECTORS,
    catalogue.TYPES,
    catalogue.get_params_type,
    _audit_policies,
)

ParseParams = Callable[[type[DestinationParams], str], DestinationParams]

# Messages of one state that are counted for the health of a connector.
COUNTED_MAX = 10_000
# Queued messages of a connector that can be put in order; each is marked.
ORDERED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class RetryDraft:
    """How to retry: after the same delay each time, or a list of delays. Neither is the default."""

    delay_s: int | None = None
    retries_max: int | None = None
    delays_s: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class ConnectorDraft(ChannelDraft):
    """A connector as requested; None leaves a field as it is, or at its default."""

    device_ids: Sequence[str] | None = None
    message_filter: str | None = None
    format: str | None = None
    storing_s: int | None = None
    retry: RetryDraft | None = None


@dataclass(frozen=True, slots=True)
class ConnectorView(OwnerView[Connector]):
    kept_since: Moment | None  # the timestamp of the oldest dead letter
    previous_secret_until: Moment | None  # while it signs as well


@dataclass(frozen=True, slots=True)
class ConnectorHealth:
    """Counts are up to COUNTED_MAX each."""

    failures: int  # attempts in a row, since the last success
    waiting: int
    dead_letters: int
    failing_since: Moment | None
    next_attempt_at: Moment | None  # while it fails, or holds messages back, and something waits
    held_back: int  # of those that wait, for an earlier one of their device
    rate_limited: int  # of those that wait, for nothing but the rate of requests


@dataclass(frozen=True, slots=True)
class DeliveryHistory:
    page: Page[DeliveryEvent]
    counts: dict[DeliveryState, int]  # over the whole period


# --- get and list ---


def get_connector(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> ConnectorView:
    return _view(tx, actor, KIND.require(tx, actor, "read", group_id, connector_id))


def list_connectors(
    tx: Tx, actor: Actor, group_id: str, request: PageRequest, *, subgroups: bool = False
) -> Page[ConnectorView]:
    page = KIND.list_page(tx, actor, group_id, request, subgroups=subgroups)
    return Page([_view(tx, actor, each) for each in page.items], page.last_key)


def get_health(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> ConnectorHealth:
    connector = KIND.require(tx, actor, "read", group_id, connector_id)
    number, channel = connector.number, connector.channel
    is_failing = channel.failures > 0
    held_back = store_ordered.count_held_back(tx, number, COUNTED_MAX)
    has_next = channel.is_enabled and (is_failing or held_back > 0)
    return ConnectorHealth(
        channel.failures,
        overviews.count_queued(tx, [number], COUNTED_MAX),
        overviews.count_dead_letters(tx, [number], COUNTED_MAX).get(number, 0),
        channel.failing_since if is_failing else None,
        _get_next_attempt(tx, channel) if has_next else None,
        held_back,
        store_backlogs.count_due(tx, number, COUNTED_MAX) if _is_at_rate(tx, channel) else 0,
    )


def _is_at_rate(tx: Tx, channel: Channel) -> bool:
    """Whether nothing but its rate keeps what is due from being sent."""
    if channel.max_per_s is None or not channel.is_enabled or (channel.paused_until or 0) > tx.now:
        return False
    return store_channels.get_taken_until(tx, channel.number) > tx.now


def _get_next_attempt(tx: Tx, channel: Channel) -> Moment | None:
    due_at = store_backlogs.get_next_due(tx, channel.number)
    return None if due_at is None else max(due_at, channel.paused_until or 0, tx.now)


def list_deliveries(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    begin: Moment,
    end: Moment,
    request: PageRequest,
    *,
    ascending: bool,
) -> DeliveryHistory:
    """The deliveries of a connector that changed in a period."""
    connector = KIND.require(tx, actor, "read", group_id, connector_id)
    page = delivery_history.list_events(
        tx, connector.number, begin, end, request, ascending=ascending
    )
    return DeliveryHistory(page, delivery_history.count_by_state(tx, connector.number, begin, end))


def list_source_groups(tx: Tx, connector: Connector) -> frozenset[str]:
    """The groups whose records a connector forwards."""
    return _list_source_groups(tx, connector.group_id, connector.subgroups)


def list_source_groups_from(tx: Tx, connector: Connector, first: int, most: int) -> list[int]:
    """Some of their numbers, in order from one on."""
    if connector.subgroups:
        return store_groups.list_subtree_from(tx, connector.group_id, first, most)
    number = int(connector.group_id)
    return [number] if number >= first else []


def _list_source_groups(tx: Tx, group_id: str, subgroups: bool) -> frozenset[str]:
    return (
        frozenset(store_groups.list_subtree(tx, group_id)) if subgroups else frozenset([group_id])
    )


def _view(tx: Tx, actor: Actor, connector: Connector) -> ConnectorView:
    view = KIND.view(tx, actor, connector)
    kept_since = store_dead_letters.get_oldest_dead_letter_ts(tx, connector.number)
    return ConnectorView(view.owner, view.params, kept_since, _find_rotation_end(tx, view.params))


def _find_rotation_end(tx: Tx, params: str) -> Moment | None:
    if '"previousSecretUntil"' not in params:
        return None
    until = msgspec.json.decode(params).get("previousSecretUntil")
    ends_at = parse_date(until) if isinstance(until, str) else 0
    return ends_at if ends_at > tx.now else None


# --- create, update, delete, resend ---


def create_connector(
    tx: Tx,
    actor: Actor,
    group_id: str,
    draft: ConnectorDraft,
    parse: ParseParams,
    egress: Egress,
    *,
    quotas: Quotas,
    requested_id: str | None = None,
) -> ConnectorView:
    access.authorize(tx, actor, "connector.write", group_id)
    locks.acquire_lock(tx, "connectors of group", group_id)  # for the limit below
    rules = _draft_rules(parse, egress)
    connector = KIND.build(tx, actor, group_id, draft, rules, requested_id=requested_id)
    quotas.require_room("connectors_per_group_max", CONNECTORS.count_in_group(tx, group_id))
    connector = KIND.insert(tx, actor, connector)
    _require_room_for_settings(tx, group_id, quotas)
    return _view(tx, actor, connector)


def update_connector(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    draft: ConnectorDraft,
    parse: ParseParams,
    egress: Egress,
    *,
    quotas: Quotas,
) -> ConnectorView:
    access.authorize(tx, actor, "connector.write", group_id)
    sized = (draft.device_ids, draft.device_types, draft.message_filter, draft.params)
    if any(sized):
        locks.acquire_lock(tx, "connectors of group", group_id)  # for the limit below
    rules = _draft_rules(parse, egress)
    before, connector = KIND.update(tx, actor, group_id, connector_id, draft, rules)
    if before.channel.is_enabled and not connector.channel.is_enabled:
        # Nobody looks any more whether it fails.
        subjects = [store_notifications.connector_subject(connector.number)]
        store_notifications.delete_subject_states(tx, subjects)
        store_alarms.close_of_subjects(tx, subjects, "the connector was disabled")
    if connector.channel.is_ordered and not before.channel.is_ordered:
        _put_in_order(tx, connector)
    if connector.message_filter != before.message_filter:
        store_channels.reset_filter_outcomes(tx, connector.number)
        connector = CONNECTORS.get_by_numbers(tx, [connector.number])[connector.number]
    if _estimate_size(connector) > _estimate_size(before):
        _require_room_for_settings(tx, group_id, quotas)
    return _view(tx, actor, connector)


def _put_in_order(tx: Tx, connector: Connector) -> None:
    """What waits already is sent in the same order as what comes."""
    if store_backlogs.is_backlog_over(tx, connector.number, ORDERED_MAX):
        why = f"can be set while at most {ORDERED_MAX:,} messages wait: cancel some, or wait"
        raise BadInput(field_errors=[FieldError("params.ordered", why)])
    store_ordered.mark_open(tx, connector.number, ORDERED_MAX)


def _estimate_size(connector: Connector) -> int:
    """Whether it grows; how large all are, the database knows."""
    texts = (
        *connector.device_ids,
        *connector.device_types,
        connector.message_filter or "",
        connector.channel.sealed_params or "",
    )
    return sum(len(each) + 3 for each in texts)  # with quotes and comma


def _require_room_for_settings(tx: Tx, group_id: str, quotas: Quotas) -> None:
    """Of what is stored in this transaction; a process keeps the most of it in memory."""
    stored = sum_settings(tx, group_id)
    quotas.require_room("connector_bytes_per_group_max", stored, wanted=0)


def try_draft(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str | None,
    draft: ConnectorDraft,
    parse: ParseParams,
    egress: Egress,
) -> tuple[Connector | None, Connector]:
    """What a draft would change or create: the saved connector, if there is one, and the new one.

    Nothing is stored.
    """
    rules = _draft_rules(parse, egress)
    if connector_id is not None:
        return KIND.try_update(tx, actor, group_id, connector_id, draft, rules)
    access.authorize(tx, actor, "connector.write", group_id)
    return None, KIND.build(tx, actor, group_id, draft, rules)


def delete_connector(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> ConnectorView:
    """Delete a connector, with its undelivered messages."""
    return _view(tx, actor, KIND.delete(tx, actor, group_id, connector_id))


def resend_failed(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> ConnectorView:
    """Start a resend of the dead letters; a second request during a resend changes nothing."""
    connector = KIND.require(tx, actor, "resend", group_id, connector_id)
    has_any = store_dead_letters.get_oldest_dead_letter_ts(tx, connector.number) is not None
    if has_any and store_channels.begin_resend(tx, connector.number):
        store_channels.reset_given_up(tx, connector.number)
        KIND.log(tx, actor, "resend", connector)
    return _view(tx, actor, CONNECTORS.get_by_numbers(tx, [connector.number])[connector.number])


# --- drafts ---


def _draft_rules(
    parse: ParseParams, egress: Egress
) -> DraftRules[Connector, ConnectorDraft, DestinationParams]:
    return DraftRules(parse, egress, _check_template, _check_draft, _merge)


def _check_draft(
    tx: Tx, connector: Connector, draft: ConnectorDraft, params: DestinationParams | None
) -> list[FieldError]:
    type_name = draft.type or connector.channel.type
    subgroups = params is not None and params.subgroups
    return [
        *_check_installed(draft, type_name),
        *_check_filter(draft.message_filter),
        *_check_format(type_name, updated(draft.format, connector.format), params),
        *check_device_types(tx, draft.device_types, connector.group_id),
        *_check_devices(tx, draft.device_ids, connector.group_id, subgroups),
    ]


def _merge(connector: Connector, draft: ConnectorDraft, params: DestinationParams) -> Connector:
    channel, message_filter = connector.channel, connector.message_filter
    if draft.message_filter is not None:
        message_filter = draft.message_filter.strip() or None
    channel = replace(
        _merge_retry(channel, draft.retry),
        storing_s=updated(draft.storing_s, channel.storing_s),
        max_per_s=params.max_per_second,
        is_ordered=params.ordered,
    )
    return replace(
        connector,
        channel=channel,
        subgroups=params.subgroups,
        device_ids=updated_unique(draft.device_ids, connector.device_ids),
        message_filter=message_filter,
        format=updated(draft.format, connector.format),
        kinds=tuple(params.kinds or ()),
    )


def _merge_retry(channel: Channel, retry: RetryDraft | None) -> Channel:
    if retry is None:
        return channel
    delays = tuple(retry.delays_s or ())
    return replace(
        channel,
        retry_delay_s=retry.delay_s,
        retries_max=retry.retries_max if retry.delays_s is None else len(delays),
        retry_delays=delays,
    )


def _check_installed(draft: ConnectorDraft, type_name: str) -> list[FieldError]:
    """Only with new parameters: what exists may be renamed or disabled in any case."""
    extra = catalogue.get_extra(type_name) if type_name in catalogue.TYPES else ""
    if draft.params is None or not extra or extras.is_installed(extra):
        return []
    return [FieldError("type", extras.explain_missing(extra))]


def _check_template(type_name: str, params: DestinationParams) -> list[FieldError]:
    if params.template is None:
        return []
    return _check_expression("params.template", params.template)


def _check_devices(
    tx: Tx, ids: Sequence[str] | None, group_id: str, subgroups: bool
) -> list[FieldError]:
    places = {f"device_ids[{index}]": each for index, each in enumerate(ids or ())}
    return check_devices(tx, places, _list_source_groups(tx, group_id, subgroups))


def _check_filter(message_filter: str | None) -> list[FieldError]:
    source = (message_filter or "").strip()
    return _check_expression("message_filter", source, is_filter=True) if source else []


def _check_expression(place: str, source: str, *, is_filter: bool = False) -> list[FieldError]:
    try:
        Expression(source, is_filter=is_filter)
    except InvalidExpression as error:
        return [FieldError(place, str(error))]
    return []


def _check_format(
    type_name: str, format_name: str, params: DestinationParams | None
) -> list[FieldError]:
    destination = catalogue.TYPES.get(type_name)
    known = destination.formats if destination is not None else FORMATS
    if format_name not in known:
        return [FieldError("format", f"is unknown; known are {', '.join(known)}")]
    if format_name == "custom" and params is not None and params.template is None:
        return [FieldError("params.template", "is required for the format custom")]
    return []
