"""Operations on replays of connectors."""

from functools import partial
from typing import Annotated

from msgspec import Meta, field

from longwire.api.replies import Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import GroupId, parse_period
from longwire.clock import Moment
from longwire.dates import LATEST, format_date
from longwire.delivery.connectors import replays
from longwire.delivery.connectors.replay_estimates import ReplayEstimate, ReplayEstimator
from longwire.model import Replay as ReplayValue
from longwire.web.fields import Body, Count, DateIn, DateText, Id, Query, Reply, words
from longwire.web.routing import Route

ReplayId = Annotated[Id, Meta(examples=["rpl_vzpeqxr5mxjrq2uy6ct3mlgw"])]


# --- responses ---


class ReplayStarted(Reply):
    """A replay that was started."""

    message: str
    queued: Count
    replay_id: str


class Replay(Shown[ReplayValue]):
    """The progress of a replay."""

    id: str = field(name="replayId")
    connector_id: str
    group_id: str
    state: Annotated[str, words("ReplayState", ("running", "done", "cancelled"))] = field(
        name="status"
    )
    records_scanned: Count = field(name="lookedAt")
    queued: Count
    begin_at: DateText = field(name="beginDate")
    end_at: DateText = field(name="endDate")
    created_at: DateText
    updated_at: DateText
    created_by: str


class ReplayList(Reply):
    """The last replays of a connector, the newest first."""

    items: list[Replay]


class ReplayPreview(Shown[ReplayEstimate]):
    """What a replay would send."""

    looked_at: Annotated[Count, Meta(description="Records that were looked at.", examples=[10000])]
    matches: Annotated[
        Count, Meta(description="Of those, records that would be sent.", examples=[412])
    ]
    sent_before: Annotated[
        Count,
        Meta(
            description="Of the matches, records that the connector has had before; their messages"
            " keep their ids.",
            examples=[400],
        ),
    ]
    is_all: Annotated[
        bool, Meta(description="Whether every record was looked at that a replay would look at.")
    ]
    estimated_matches: Annotated[
        Count,
        Meta(
            description="`matches` if all were looked at, else an estimate for the whole range.",
            examples=[1650],
        ),
    ]


# --- requests ---


class ReplayInput(Body):
    """Which connector, and the timestamps of which records."""

    connector_id: Id
    group_id: GroupId
    begin_date: DateIn
    end_date: DateIn


class ReplayQuery(Query):
    """Which replay of which connector."""

    connector_id: Id
    group_id: GroupId
    replay_id: ReplayId


class ReplaysQuery(Query):
    """The replays of which connector."""

    connector_id: Id
    group_id: GroupId


# --- operations ---


def start_replay(context: Context, body: ReplayInput) -> ReplayStarted:
    """Replay stored records through a connector.

    Those with timestamps in the range that match, also from before the connector was created.
    Records it has had before are sent again under their old id. `queued` is the number queued so
    far; a long range is processed in the background, see `GET /connector/replay`.
    """
    begin, end = _parse_range(body)
    replay = replays.start_replay(
        context.tx,
        context.actor,
        body.group_id,
        body.connector_id,
        begin,
        end,
        context.services.writer,
    )
    rest = "More follow." if replay.state == "running" else "Complete."
    return ReplayStarted(
        message=f"{replay.queued} queued. {rest}", queued=replay.queued, replay_id=replay.id
    )


async def preview_replay(context: AsyncContext, body: ReplayInput) -> ReplayPreview:
    """Preview a replay: how many records it would send.

    Nothing is sent. At most 10,000 records are looked at, those that arrived in the range first;
    beyond, `estimatedMatches` is an estimate.
    """
    # Reads the records in steps, and evaluates the filter with no transaction open.
    computing = context.services.computing
    estimator = ReplayEstimator(context.database, computing.threads.run, computing.previews)
    estimate = await estimator.estimate(
        context.actor, body.group_id, body.connector_id, *_parse_range(body)
    )
    return ReplayPreview.show(estimate)


def get_replay(context: Context, query: ReplayQuery) -> Replay:
    """Get the progress of a replay."""
    replay = replays.get_replay(
        context.tx, context.actor, query.group_id, query.connector_id, query.replay_id
    )
    return _wire(query, replay)


def list_replays(context: Context, query: ReplaysQuery) -> ReplayList:
    """List the last 20 replays of a connector.

    The newest first; one that runs is always the first.
    """
    found = replays.list_replays(context.tx, context.actor, query.group_id, query.connector_id)
    return ReplayList(items=[_wire(query, each) for each in found])


def cancel_replay(context: Context, query: ReplayQuery) -> Replay:
    """Cancel a replay.

    Messages that it has queued are still sent.
    """
    replay = replays.cancel_replay(
        context.tx, context.actor, query.group_id, query.connector_id, query.replay_id
    )
    return _wire(query, replay)


def _parse_range(body: ReplayInput) -> tuple[Moment, Moment]:
    begin, end = parse_period(body.begin_date, body.end_date)
    assert begin is not None and end is not None  # both are required
    return begin, end


def _wire(query: ReplayQuery | ReplaysQuery, replay: ReplayValue) -> Replay:
    return Replay.show(
        replay,
        connector_id=query.connector_id,
        group_id=query.group_id,
        end_at=format_date(min(replay.end_at, LATEST)),
    )


_route = partial(
    Route,
    tag="Connectors",
    object_rule="in the group of the connector",
    not_found_is_bad_request=True,
    is_addition=True,
)

ROUTES = [
    _route("POST", "/connector/replay", start_replay, "connector.resend"),
    _route(
        "POST",
        "/connector/replay/preview",
        preview_replay,
        "connector.resend",
        only_reads=True,
        in_turns=True,
    ),
    _route("GET", "/connector/replay", get_replay, "connector.read"),
    _route("GET", "/connector/replays", list_replays, "connector.read"),
    _route("DELETE", "/connector/replay", cancel_replay, "connector.resend"),
]
