"""What waits for connectors: the worst of them by id, the others as one, for metrics."""

from collections.abc import Mapping, Sequence

from longwire.dataclass import dataclass
from longwire.store.database import Tx
from longwire.store.delivery import channels
from longwire.store.delivery.backlogs import Backlog

OTHER = "other"


@dataclass(frozen=True, slots=True)
class ConnectorBacklog:
    """What waits for a connector, and how often it has failed."""

    id: str
    type: str
    queued: int  # or in flight
    dead_letters: int
    failures: int  # attempts that failed in a row


def list_worst_connectors(
    tx: Tx, backlogs: Mapping[int, Backlog], most: int
) -> list[ConnectorBacklog]:
    """The connectors that fail or have a backlog, at most so many; a last one has the rest."""
    if not most or not backlogs:
        return []
    return merge_least(
        [
            ConnectorBacklog(
                each.id,
                each.type,
                queued=backlogs[each.number].queued + backlogs[each.number].leased,
                dead_letters=backlogs[each.number].failed,
                failures=each.failures,
            )
            for each in channels.list_connector_health(tx, list(backlogs))
        ],
        most,
    )


def merge_least(connectors: Sequence[ConnectorBacklog], most: int) -> list[ConnectorBacklog]:
    """Worst first: those that fail, then those with the largest backlog."""
    ranked = sorted(
        connectors, key=lambda each: (each.failures == 0, -each.queued - each.dead_letters, each.id)
    )
    worst, rest = ranked[:most], ranked[most:]
    if not rest:
        return worst
    other = ConnectorBacklog(
        OTHER,
        OTHER,
        queued=sum(each.queued for each in rest),
        dead_letters=sum(each.dead_letters for each in rest),
        failures=max(each.failures for each in rest),
    )
    return [*worst, other]
