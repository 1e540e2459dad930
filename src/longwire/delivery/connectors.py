"""Connectors: create, get, list, update, delete, resend, and the history of their deliveries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from longwire.clock import Moment
from longwire.delivery import channels, messages, retry_policy
from longwire.delivery.cel.expressions import Expression
from longwire.delivery.cel.lexer import InvalidExpression
from longwire.delivery.channel_drafts import (
    ChannelDraft,
    ParamsRules,
    check_device_types,
    check_devices,
    check_params,
    updated,
    updated_unique,
)
from longwire.delivery.channels import ChannelPolicy
from longwire.delivery.destinations import catalogue, parameters
from longwire.delivery.destinations.base import DestinationParams
from longwire.delivery.egress import Egress
from longwire.delivery.formats import FORMATS
from longwire.errors import BadInput, FieldError, not_found
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import FORWARDING, Actor, Connector, Page, PageRequest
from longwire.store import audit, locks
from longwire.store import connectors as store
from longwire.store import deliveries as store_deliveries
from longwire.store import groups as store_groups
from longwire.store.database import Tx
from longwire.store.deliveries import DeliveryEvent, DeliveryState

ParseParams = Callable[[type[DestinationParams], str], DestinationParams]
Retry = tuple[int | None, int | None]  # delay in seconds, retries at most

RETRY_DEFAULT: Retry = (None, None)


@dataclass(frozen=True, slots=True)
class ConnectorDraft(ChannelDraft):
    """A connector as requested; None leaves a field as it is, or at its default."""

    device_ids: Sequence[str] | None = None
    message_filter: str | None = None
    format: str | None = None
    storing_s: int | None = None
    retry: Retry | None = None


@dataclass(frozen=True, slots=True)
class ConnectorView:
    """A connector as an actor may see it."""

    connector: Connector
    params: str
    kept_since: Moment | None


@dataclass(frozen=True, slots=True)
class DeliveryHistory:
    page: Page[DeliveryEvent]
    counts: dict[DeliveryState, int]  # over the whole period


# --- get and list ---


def require_connector(
    tx: Tx, actor: Actor, permission: str, group_id: str, connector_id: str
) -> Connector:
    scope = access.authorize(tx, actor, permission, group_id)
    connector = store.get(tx, scope, connector_id)
    if connector is None:
        raise not_found("connector_id", "connector of this group")
    return connector


def get_connector(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> ConnectorView:
    connector = require_connector(tx, actor, "connector.read", group_id, connector_id)
    return _view(tx, actor, connector)


def list_connectors(
    tx: Tx, actor: Actor, group_id: str, request: PageRequest
) -> Page[ConnectorView]:
    scope = access.authorize(tx, actor, "connector.read", group_id)
    page = store.list_page(tx, scope, group_id, request)
    return Page([_view(tx, actor, each) for each in page.items], page.last_key)


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
    connector = require_connector(tx, actor, "connector.read", group_id, connector_id)
    page = store_deliveries.list_events(
        tx, connector.number, begin, end, request, ascending=ascending
    )
    return DeliveryHistory(page, store_deliveries.count_by_state(tx, connector.number, begin, end))


def list_source_groups(tx: Tx, connector: Connector) -> frozenset[str]:
    """The groups whose records a connector forwards."""
    return _list_source_groups(tx, connector.group_id, connector.subgroups)


def _list_source_groups(tx: Tx, group_id: str, subgroups: bool) -> frozenset[str]:
    return (
        frozenset(store_groups.list_subtree(tx, group_id)) if subgroups else frozenset([group_id])
    )


def _view(tx: Tx, actor: Actor, connector: Connector) -> ConnectorView:
    """With its secrets for actors that may update it, masked for all others."""
    text = messages.unseal_params(tx, connector)
    if "connector.write" not in access.get_permissions(tx, actor, connector.group_id):
        text = catalogue.mask_secrets(connector.type, text)
    return ConnectorView(
        connector, text, store_deliveries.get_oldest_dead_letter_ts(tx, connector.number)
    )


def _reload_view(tx: Tx, actor: Actor, connector: Connector) -> ConnectorView:
    return _view(tx, actor, store.get_by_numbers(tx, [connector.number])[connector.number])


# --- create, update, delete, resend ---


def create_connector(
    tx: Tx,
    actor: Actor,
    group_id: str,
    draft: ConnectorDraft,
    parse: ParseParams,
    egress: Egress,
    *,
    requested_id: str | None = None,
) -> ConnectorView:
    access.authorize(tx, actor, "connector.write", group_id)
    if requested_id is not None:
        # Of two requests for the same id one fails.
        locks.acquire_lock(tx, "channel", requested_id)
    connector = channels.build_channel(
        tx,
        actor,
        FORWARDING,
        new_id("con") if requested_id is None else requested_id,
        group_id,
        draft.type or "",
        ChannelPolicy(storing_s=retry_policy.STORING_DEFAULT_S),
        format_name="json",
    )
    is_taken = requested_id is not None and store.id_exists(tx, requested_id)
    field_errors = [FieldError("id", "is taken; omit it to get a new one")] if is_taken else []
    connector = store.insert(
        tx, _apply_draft(tx, connector, draft, None, parse, egress, field_errors)
    )
    audit.log(tx, actor, "connector.create", connector.id, group_id=group_id, detail=connector.type)
    return _view(tx, actor, connector)


def update_connector(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    draft: ConnectorDraft,
    parse: ParseParams,
    egress: Egress,
) -> ConnectorView:
    connector = _lock_connector(tx, actor, group_id, connector_id)
    stored = messages.unseal_params(tx, connector)
    changed = _apply_draft(tx, connector, draft, stored, parse, egress, [])
    store.save(tx, replace(changed, updated_at=tx.now, updated_by=actor.id))
    audit.log(tx, actor, "connector.update", connector.id, group_id=group_id)
    return _reload_view(tx, actor, connector)


def delete_connector(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> ConnectorView:
    """Delete a connector, with its undelivered messages."""
    connector = _lock_connector(tx, actor, group_id, connector_id)
    view = _view(tx, actor, connector)
    store.mark_deleted(tx, connector)
    audit.log(tx, actor, "connector.delete", connector.id, group_id=group_id)
    return view


def resend_failed(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> ConnectorView:
    """Start a resend of the dead letters; a second request during a resend changes nothing."""
    connector = require_connector(tx, actor, "connector.resend", group_id, connector_id)
    has_any = store_deliveries.get_oldest_dead_letter_ts(tx, connector.number) is not None
    if has_any and store.begin_resend(tx, connector):
        audit.log(tx, actor, "connector.resend", connector.id, group_id=group_id)
    return _reload_view(tx, actor, connector)


def _lock_connector(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> Connector:
    """The connector, after concurrent updates of it have been committed."""
    access.authorize(tx, actor, "connector.write", group_id)
    locks.acquire_lock(tx, "channel", connector_id)
    return require_connector(tx, actor, "connector.write", group_id, connector_id)


# --- drafts ---


def _apply_draft(
    tx: Tx,
    connector: Connector,
    draft: ConnectorDraft,
    stored: str | None,
    parse: ParseParams,
    egress: Egress,
    field_errors: list[FieldError],
) -> Connector:
    """The connector with the draft applied, or an error that names every fault."""
    checked = check_params(draft, connector, stored, _params_rules(parse, egress))
    params = checked.value
    type_name = draft.type or connector.type
    subgroups = params is not None and params.subgroups
    all_errors = [
        *field_errors,
        *checked.field_errors,
        *_check_filter(draft.message_filter),
        *_check_format(type_name, updated(draft.format, connector.format), params),
        *check_device_types(tx, draft.device_types),
        *_check_devices(tx, draft.device_ids, connector.group_id, subgroups),
    ]
    if all_errors or params is None:
        raise BadInput(field_errors=all_errors)
    return replace(
        _merge(connector, draft),
        sealed_params=messages.seal_params(tx, connector.id, checked.text),
        subgroups=subgroups,
    )


def _merge(connector: Connector, draft: ConnectorDraft) -> Connector:
    message_filter = connector.message_filter
    if draft.message_filter is not None:
        message_filter = draft.message_filter.strip() or None
    delay_s, retries_max = draft.retry or (connector.retry_delay_s, connector.retries_max)
    return replace(
        connector,
        type=draft.type or connector.type,
        name=updated(draft.name, connector.name),
        description=updated(draft.description, connector.description),
        device_types=updated_unique(draft.device_types, connector.device_types),
        device_ids=updated_unique(draft.device_ids, connector.device_ids),
        message_filter=message_filter,
        format=updated(draft.format, connector.format),
        storing_s=updated(draft.storing_s, connector.storing_s),
        retry_delay_s=delay_s,
        retries_max=retries_max,
        is_enabled=updated(draft.is_enabled, connector.is_enabled),
        tags=connector.tags if draft.tags is None else tuple(draft.tags),
    )


def _params_rules(parse: ParseParams, egress: Egress) -> ParamsRules[DestinationParams]:
    def validate(
        type_name: str, text: str, stored: str | None
    ) -> tuple[str, DestinationParams, list[FieldError]]:
        params_type = catalogue.TYPES[type_name].params_type
        text, params, field_errors = parameters.validate_params(
            params_type, text, stored, parse, egress
        )
        if params.template is not None:
            field_errors += _check_expression("params.template", params.template)
        return text, params, field_errors

    return ParamsRules("connector", catalogue.TYPES, catalogue.parse_params, validate)


def _check_devices(
    tx: Tx, ids: Sequence[str] | None, group_id: str, subgroups: bool
) -> list[FieldError]:
    return check_devices(tx, ids, _list_source_groups(tx, group_id, subgroups)) if ids else []


def _check_filter(message_filter: str | None) -> list[FieldError]:
    source = (message_filter or "").strip()
    return _check_expression("message_filter", source) if source else []


def _check_expression(place: str, source: str) -> list[FieldError]:
    try:
        Expression(source)
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
