"""The steps of jobs that send messages of some devices through a connector again.

A resend goes through the dead letters of the connector, a replay through the records that arrived
in its groups; each step looks at a bounded number, whether they are of these devices or not. While
the connector has much to send, both wait.
"""

from collections.abc import Collection

import msgspec

from longwire.delivery.channels import DispatchContext
from longwire.delivery.connectors import replays
from longwire.delivery.connectors.replays import ScanPosition
from longwire.errors import not_found
from longwire.identity import access
from longwire.jobs.kinds import READ, MessageTask, ReplayTask, ResendTask
from longwire.jobs.results import JobFailed, StepPostponed, StepResult
from longwire.jobs.selection import DeviceSelection, decode_selection
from longwire.model import Actor, Connector, Job, JobCounts, Scope
from longwire.store.database import Tx
from longwire.store.delivery import backlogs as store_backlogs
from longwire.store.delivery import dead_letters as store_dead_letters
from longwire.store.delivery import delivery_search
from longwire.store.delivery.connectors import CONNECTORS
from longwire.store.fleet import device_search
from longwire.store.records.arrival_numbers import BEFORE_ANY_ARRIVAL

MESSAGES_PER_STEP_MAX = 200

CONNECTOR_GONE = "connector_gone"


def run_message_step(
    tx: Tx, actor: Actor, job: Job, task: ResendTask | ReplayTask, dispatch: DispatchContext
) -> StepResult:
    scope = access.authorize(tx, actor, "connector.resend", job.group_id)
    connector = CONNECTORS.get(tx, scope, task.connector_id)
    if connector is None:
        raise JobFailed(CONNECTOR_GONE)
    if store_backlogs.is_backlog_over(tx, connector.number, replays.QUEUED_MAX):
        raise StepPostponed
    if isinstance(task, ResendTask):
        result = _resend(tx, actor, job, connector)
    else:
        result = _replay(tx, actor, job, connector, task, dispatch.writer)
    dispatch.wake(tx, {connector.number})
    return result


def _resend(tx: Tx, actor: Actor, job: Job, connector: Connector) -> StepResult:
    after = msgspec.json.decode(job.cursor, type=int | None)
    found = store_dead_letters.list_dead_letters(
        tx,
        connector.number,
        BEFORE_ANY_ARRIVAL if after is None else after,
        job.created_at,
        MESSAGES_PER_STEP_MAX,
    )
    selected = _select(tx, actor, job, {device_id for _, device_id in found})
    seqs = [seq for seq, device_id in found if device_id in selected]
    resent = len(delivery_search.retry_many(tx, connector.number, seqs)) if seqs else 0
    cursor = str(found[-1][0]) if len(found) == MESSAGES_PER_STEP_MAX else None
    return StepResult([], cursor, JobCounts(len(found), resent, len(found) - resent))


def _replay(
    tx: Tx, actor: Actor, job: Job, connector: Connector, task: ReplayTask, writer: int
) -> StepResult:
    position = msgspec.json.decode(job.cursor, type=ScanPosition | None)
    position = position or replays.begin_scan(job.created_at)
    scanned = replays.scan(
        tx,
        connector,
        position,
        task.begin_date,
        task.end_date,
        lambda device_ids: _select(tx, actor, job, device_ids),
    )
    replays.count_inserted(tx, connector, scanned.inserted, writer)
    queued = scanned.queued
    counts = JobCounts(scanned.examined, queued, scanned.examined - queued)
    cursor = None if scanned.is_done else msgspec.json.encode(scanned.position).decode()
    return StepResult([], cursor, counts)


def require_connector(tx: Tx, scope: Scope, task: MessageTask) -> Connector:
    connector = CONNECTORS.get(tx, scope, task.connector_id)
    if connector is None:
        raise not_found("parameters.connector_id", "connector of this group")
    return connector


def _select(tx: Tx, actor: Actor, job: Job, device_ids: Collection[str]) -> Collection[str]:
    return select_devices(tx, device_ids, actor, decode_selection(job))


def select_devices(
    tx: Tx, device_ids: Collection[str], actor: Actor, selection: DeviceSelection
) -> Collection[str]:
    """Those of the devices that are selected."""
    if selection.device_ids is not None:
        return set(selection.device_ids) & set(device_ids)
    scope = access.authorize_tree(
        tx, actor, READ, selection.group_id, subgroups=selection.subgroups
    )
    return device_search.list_matching_ids(tx, scope, selection.filter, device_ids)
