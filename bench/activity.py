"""What has happened in the fleet of `console`: a day of records and messages, and the reads of it.

Like the fleet it is written to the database directly: records of all devices in turn, messages
about the last of them by several connectors and their counts, changes in the audit log, and
reported configurations, some of which drift.
"""

from dataclasses import dataclass
from typing import Any

from longwire.clock import DAY, MINUTE, SECOND
from longwire.ids import format_delivery_id, format_record_id
from longwire.store.database import Tx
from longwire.store.records.arrival_numbers import first_seq
from longwire.store.statement import ByEngine, Statement

RECORDS = 200_000
MESSAGES = 20_000  # of each connector
FAILED_EVERY = 50
CHANGES = 50_000
DRIFTING_EVERY = 20

_NUMBERS = """
with recursive number (n) as (
    select cast(:first as bigint)
    union all
    select n + 1
    from number
    where n < :last
)"""
# A record every so often, until now; the devices in turn, those of all groups mixed.
_MOMENT = f"(:now - ({RECORDS} - n) * {DAY // RECORDS})"
_DEVICE = "join device d on d.number = 1 + n * 7919 % :devices"

_INSERT_ARRIVALS = f"""
insert into arrival (group_id, seq, kind, source, stay, device_number, ts)
{_NUMBERS}
select d.group_id, {_MOMENT} * 1024, 0, 0, 0, d.number, {_MOMENT}
from number
{_DEVICE}
"""

_DIGEST = ByEngine(sqlite="randomblob(16)", postgres="decode(md5(cast(n as text)), 'hex')")

_INSERT_RECORDS = f"""
insert into record_data (device_number, stay, ts, digest, seq, body)
{_NUMBERS}
select d.number, 0, {_MOMENT}, {{digest}}, {_MOMENT} * 1024,
    '{{"deviceId":"' || d.id || '","timestamp":"2026-11-15T12:00:00.000Z","groupId":"'
    || d.group_id || '","data":"{{\\"temperature\\":' || (n % 40)
    || '}}","configuration":"{{}}","__raw":"0a1b2c","deviceType":"' || d.type
    || '","deviceName":"' || d.name || '"}}'
from number
{_DEVICE}
"""

_INSERT_MESSAGES = f"""
insert into delivery (
    channel_number, seq, device_id, kind, ts, state, first_end, generation, attempts, due_at,
    created_at, changed_at, attempt_log
)
{_NUMBERS}
select c.channel_number, {_MOMENT} * 1024, d.id, 0, {_MOMENT}, STATE, STATE, 0, 1, {_MOMENT},
    {_MOMENT}, {_MOMENT} + {SECOND}, '[]'
from number
{_DEVICE}
cross join connector c
""".replace("STATE", f"case when n % {FAILED_EVERY} = 0 then 3 else 2 end")

_INSERT_MINUTES = f"""
insert into connector_minute (channel_number, minute, part, writer, succeeded, bucket_1, max_ms)
{_NUMBERS}
select c.channel_number, :now / {MINUTE} - n, 1, 1, n % 100, n % 100, 19
from number
cross join connector c
"""

_INSERT_CHANGES = f"""
insert into audit (
    at, actor_kind, actor_id, action, object_id, group_id, address, request_id, detail, changes
)
{_NUMBERS}
select {_MOMENT}, 'user', 'usr_' || (n % 20), 'device.update', d.id, d.group_id, '127.0.0.1',
    'req_' || n, '', '{{"before":{{"name":"a"}},"after":{{"name":"b"}}}}'
from number
{_DEVICE}
"""

_INSERT_REPORTS = f"""
insert into device_report (
    device_number, configuration, digest, reported_at, version, checked_version
)
select number, '{{"interval":60}}', 1, :now, 1, 1
from device
where number % {DRIFTING_EVERY} = 0
"""

_SET_DRIFTING = f"""
update device
set drifted_at = :now,
    reported_digest = 1
where number % {DRIFTING_EVERY} = 0
"""

_FIND_MESSAGE = """
select channel_number, device_id
from delivery
where seq = :seq
order by channel_number
limit 1
"""


@dataclass(frozen=True, slots=True)
class Activity:
    """One of the last records: its device, and a message about it."""

    device_id: str
    record_id: str
    message_id: str


def fill(tx: Tx, devices: int) -> Activity:
    """Write all of it; there are devices and connectors."""
    values: dict[str, Any] = {"now": tx.now, "devices": devices}
    for sql, first, last in (
        (_INSERT_ARRIVALS, 1, RECORDS),
        (_INSERT_RECORDS, 1, RECORDS),
        (_INSERT_MESSAGES, RECORDS - MESSAGES + 1, RECORDS),
        (_INSERT_MINUTES, 1, DAY // MINUTE),
        (_INSERT_CHANGES, RECORDS - CHANGES + 1, RECORDS),
        (_INSERT_REPORTS, 1, 1),
        (_SET_DRIFTING, 1, 1),
    ):
        tx.run(Statement(sql, digest=_DIGEST), **values, first=first, last=last)
    seq = first_seq(tx.now - 10 * (DAY // RECORDS))
    channel, device_id = tx.fetch(Statement(_FIND_MESSAGE), seq=seq)[0]
    return Activity(device_id, format_record_id(seq), format_delivery_id(channel, seq))
