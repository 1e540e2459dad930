"""Rotating the signing secret of a webhook."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from longwire.api.delivery.channels import params_parser
from longwire.api.delivery.connectors import Connector, ConnectorRef, show_connector
from longwire.api.services import Context
from longwire.api.types import CHANGED_MEANWHILE, GroupId, IfUpdatedAt, parse_version
from longwire.clock import DAY, SECOND, Moment
from longwire.delivery.connectors import secret_rotations
from longwire.delivery.destinations.base import MASK
from longwire.delivery.destinations.signing import new_signing_secret, validate_signing_secret
from longwire.errors import invalid_field
from longwire.web.fields import Body, DateIn, Id, parse_date_field
from longwire.web.routing import Route

# Receivers get the new one within a day, or say when they will; nobody needs two for ever.
PREVIOUS_SECRET_DEFAULT: Moment = DAY
PREVIOUS_SECRET_MAX: Moment = 90 * DAY


class RotateSecretInput(Body, kw_only=True):
    """The connector whose signing secret is replaced."""

    connector_id: Id
    group_id: GroupId
    secret: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=256,
                description="The new one: `whsec_` and a key of 24 to 64 bytes in base64. Made by"
                " the service if it is left out.",
                examples=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
            ),
        ]
        | None
    ) = None
    previous_until: (
        Annotated[
            DateIn,
            Meta(
                description="Until when the secret before it signs as well, up to 90 days; 24 hours"
                " by default. If that is over, it ends at once."
            ),
        ]
        | None
    ) = None
    if_updated_at: IfUpdatedAt | None = None


def rotate_secret(context: Context, body: RotateSecretInput) -> Connector:
    """Rotate the signing secret of a webhook.

    From now on requests are signed with the new one, which is in `params` of the response; and
    until `previousUntil` with the one before it as well, so that receivers may verify with either.
    While that lasts, another rotation is refused.
    """
    now = context.tx.now
    until = (now + PREVIOUS_SECRET_DEFAULT) // SECOND * SECOND
    if body.previous_until is not None:
        until = parse_date_field("previous_until", body.previous_until)
    if until > now + PREVIOUS_SECRET_MAX:
        raise invalid_field("previous_until", "must be within 90 days")
    if body.secret == MASK:
        raise invalid_field("secret", "is a mask; send the secret itself")
    for problem in validate_signing_secret(body.secret):
        raise invalid_field("secret", problem)
    return show_connector(
        secret_rotations.rotate_secret(
            context.tx,
            context.actor,
            body.group_id,
            body.connector_id,
            body.secret or new_signing_secret(),
            until,
            params_parser(context),
            context.services.egress,
            quotas=context.services.quotas,
            if_updated_at=parse_version(body.if_updated_at),
        )
    )


def end_secret_rotation(context: Context, body: ConnectorRef) -> Connector:
    """End the rotation of a signing secret.

    The secret before the current one signs no more. Without one nothing changes.
    """
    return show_connector(
        secret_rotations.end_rotation(
            context.tx,
            context.actor,
            body.group_id,
            body.connector_id,
            params_parser(context),
            context.services.egress,
            quotas=context.services.quotas,
        )
    )


_route = partial(
    Route,
    tag="Connectors",
    object_rule="in the group of the connector",
    not_found_is_bad_request=True,
    is_addition=True,
)

ROUTES = [
    _route(
        "POST",
        "/connector/rotateSecret",
        rotate_secret,
        "connector.write",
        conflicts=CHANGED_MEANWHILE,
    ),
    _route(
        "POST",
        "/connector/endSecretRotation",
        end_secret_rotation,
        "connector.write",
    ),
]
