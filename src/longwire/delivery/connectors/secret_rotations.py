"""Rotating the secret that signs the messages of a connector: for a time, two of them sign."""

from collections.abc import Mapping
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.dates import format_date, parse_date
from longwire.delivery import channels
from longwire.delivery.connectors import connectors
from longwire.delivery.connectors.connectors import ConnectorDraft, ConnectorView, ParseParams
from longwire.delivery.http.egress import Egress
from longwire.errors import BadInput, FieldError
from longwire.identity import access
from longwire.model import Actor
from longwire.quotas import Quotas
from longwire.store import locks
from longwire.store.database import Tx


def rotate_secret(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    secret: str,
    until: Moment,
    parse: ParseParams,
    egress: Egress,
    *,
    quotas: Quotas,
    if_updated_at: Moment | None = None,
) -> ConnectorView:
    """Sign with a new secret, and until a moment with the one before it as well."""
    params = _open_signing_params(tx, actor, group_id, connector_id)
    if params.get("previousSecret") is not None and not _is_over(params, tx.now):
        # A request that is repeated would end the secret that receivers still have.
        raise BadInput(
            field_errors=[FieldError("connector_id", "is being rotated; end that rotation first")]
        )
    if secret == params.get("secret"):
        raise BadInput(field_errors=[FieldError("secret", "is the one that it has")])
    if params.get("secret") is None:
        raise BadInput(
            field_errors=[FieldError("connector_id", "has no secret; send one in params")]
        )
    changes = {"secret": secret, "previousSecret": None, "previousSecretUntil": None}
    if until > tx.now:
        changes["previousSecret"] = params["secret"]
        changes["previousSecretUntil"] = format_date(until)
    draft = ConnectorDraft(params=_change_params(params, changes), if_updated_at=if_updated_at)
    return connectors.update_connector(
        tx, actor, group_id, connector_id, draft, parse, egress, quotas=quotas
    )


def _is_over(params: Mapping[str, Any], now: Moment) -> bool:
    until = params.get("previousSecretUntil")
    return isinstance(until, str) and parse_date(until) <= now


def end_rotation(
    tx: Tx,
    actor: Actor,
    group_id: str,
    connector_id: str,
    parse: ParseParams,
    egress: Egress,
    *,
    quotas: Quotas,
) -> ConnectorView:
    """Sign with the new secret alone; a second request changes nothing."""
    params = _open_signing_params(tx, actor, group_id, connector_id)
    if params.get("previousSecret") is None:
        return connectors.get_connector(tx, actor, group_id, connector_id)
    changes = {"previousSecret": None, "previousSecretUntil": None}
    draft = ConnectorDraft(params=_change_params(params, changes))
    return connectors.update_connector(
        tx, actor, group_id, connector_id, draft, parse, egress, quotas=quotas
    )


def _open_signing_params(tx: Tx, actor: Actor, group_id: str, connector_id: str) -> dict[str, Any]:
    """The parameters of a connector that can sign, to be changed in this transaction."""
    access.authorize(tx, actor, "connector.write", group_id)
    locks.acquire_lock(tx, "connectors of group", group_id)
    locks.acquire_lock(tx, "channel", connector_id)
    connector = connectors.KIND.require(tx, actor, "write", group_id, connector_id)
    if connector.channel.type != "http":
        raise BadInput(field_errors=[FieldError("connector_id", "is of a type that does not sign")])
    params: dict[str, Any] = msgspec.json.decode(channels.unseal_params(tx, connector.channel))
    return params


def _change_params(params: Mapping[str, Any], changes: Mapping[str, str | None]) -> str:
    """With these members; None removes one."""
    changed = {name: each for name, each in {**params, **changes}.items() if each is not None}
    return msgspec.json.encode(changed).decode()
