"""Spans of attempts: what a trace says about how a message left.

An attempt belongs to the trace of the request that stored its record, however long ago and in
whichever process that was. If that request was not traced, neither is the attempt.
"""

from collections.abc import Sequence

from longwire.delivery.destinations.base import (
    OUTCOME_NAMES,
    Delivered,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.engine.leases import LeasedDelivery
from longwire.model import Channel
from longwire.spans import Span, Tracer, parse_traceparent

# A span of a large batch has no more links than this, as in the SDK.
LINKS_MAX = 128


def start_attempt(
    tracer: Tracer, channel: Channel, leased: Sequence[LeasedDelivery]
) -> Span | None:
    traced = [each.claimed.traceparent for each in leased if each.claimed.traceparent is not None]
    parsed = [parse_traceparent(each) for each in traced[: LINKS_MAX + 1]]
    parents = [each for each in parsed if each is not None]
    if not parents:
        return None
    attributes = {
        "longwire.channel.id": channel.id,
        "longwire.channel.purpose": channel.purpose.value,
        "longwire.messages": len(leased),
        "longwire.attempt": leased[0].claimed.attempts,
    }
    return tracer.start_attempt(channel.type, parents, attributes)


def end_attempt(span: Span, outcome: Outcome) -> None:
    attributes: dict[str, str | int] = {"longwire.outcome": OUTCOME_NAMES[type(outcome)]}
    if isinstance(outcome, Refused | Delivered) and outcome.status is not None:
        attributes["http.response.status_code"] = outcome.status
    if isinstance(outcome, Refused | Unreachable):
        attributes["error.type"] = outcome.code.value
    span.end(attributes, is_error=not isinstance(outcome, Delivered))
