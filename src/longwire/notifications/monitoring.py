"""Watching for what nobody reports: devices that fall silent, connectors that fail.

Every process watches, in small steps: it reads what might be told, and weighs it once more on the
transaction that tells it. There what is remembered is held, so that only one of them tells it.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial

import msgspec
import structlog

from longwire.clock import SECOND, Moment
from longwire.dates import date_text
from longwire.errors import LongwireError
from longwire.notifications import trigger_states
from longwire.notifications.firing import Numbers
from longwire.notifications.rules import Rule, rules_for
from longwire.notifications.trigger_states import (
    CONNECTOR_FAILING,
    CONNECTOR_RECOVERED,
    DEVICE_SILENT,
)
from longwire.notifications.triggers import Sign, wants, weigh
from longwire.store import auth_epoch
from longwire.store import connectors as store_connectors
from longwire.store import notifications as store
from longwire.store.database import Database, Tx
from longwire.store.notifications import Heard, Standing, State

WATCH_EVERY_S = 1.0
# A look takes a microsecond or two for each device. After a round through a large fleet the next
# one waits so long for each that was looked at, which is about fifty times as much.
REST_PER_DEVICE_S = 0.0001
REST_PER_RULE_S = 0.01
DEVICES_PER_STEP_MAX = 5_000
TOLD_PER_STEP_MAX = 200

WATCHED = (DEVICE_SILENT, CONNECTOR_FAILING, CONNECTOR_RECOVERED)

log = structlog.get_logger()

Wake = Callable[[Collection[int]], None]


async def watch(database: Database, numbers: Numbers, wake: Wake) -> None:
    """Look, again and again, until cancelled."""
    while True:
        rest_s = 0.0
        try:
            rest_s = await look_around(database, numbers, wake)
        except LongwireError:
            pass  # the database is away for now; the next round tries again
        except Exception:
            log.exception("what notifications watch could not be looked at")
        await asyncio.sleep(max(WATCH_EVERY_S, rest_s))


async def look_around(database: Database, numbers: Numbers, wake: Wake) -> float:
    """One round through all that is watched; how long to rest after that, in seconds."""
    rest_s = 0.0
    for rule in await database.read(_watching):
        rest_s += REST_PER_RULE_S
        after: int | None = 0
        while after is not None:
            step = await database.read(partial(_step, rule=rule, after=after))
            found, refusal, after, looked_at = step
            if refusal:
                await database.write(partial(_show, number=rule.number, reason=refusal))
            rest_s += looked_at * REST_PER_DEVICE_S
            for start in range(0, len(found), TOLD_PER_STEP_MAX):
                some = found[start : start + TOLD_PER_STEP_MAX]
                wake(await database.write(partial(tell, rule=rule, only=some, numbers=numbers)))
    return rest_s


def _watching(tx: Tx) -> list[Rule]:
    """What is to be looked at now."""
    return [
        rule
        for group_id in store.groups_of(tx, WATCHED)
        if (rules := rules_for(tx, group_id)) is not None
        for rule in rules.by_number.values()
        if rule.reason in WATCHED and rule.is_open(tx.now)
    ]


def _step(tx: Tx, rule: Rule, after: int) -> tuple[list[int], str, int | None, int]:
    """Of a piece of what a rule watches: whom there is news of, where to go on, how much it was.

    And why `when` could not be evaluated, if so.
    """
    go_on, looked_at = None, 0
    if rule.reason == DEVICE_SILENT:
        before = tx.now - rule.params.silent_after * SECOND
        heard, go_on, looked_at = store.silent(
            tx, rule.number, rule.group_id, before, after, DEVICES_PER_STEP_MAX
        )
        signs = _silent(tx, rule, heard)
    else:
        signs = _failing(tx, rule, store.standings(tx, rule.number, rule.group_id))
    refusals: dict[int, str] = {}
    found = [sign.subject for sign in signs if _is_worth_telling(sign, refusals)]
    return found, refusals.get(rule.number, ""), go_on, looked_at


def _is_worth_telling(sign: Sign, refusals: dict[int, str]) -> bool:
    manner = sign.rule.manner
    begins = manner is not None and manner.tells_begin and sign.holds
    return not begins or wants(sign.rule, sign.message, refusals)


def _show(tx: Tx, number: int, reason: str) -> None:
    """Show why `when` could not be evaluated; not again with every look."""
    known = store_connectors.by_number(tx, [number]).get(number)
    if known is not None and reason not in (known.error_message or ""):
        store_connectors.note_filter_error(tx, number, reason)


def tell(tx: Tx, rule: Rule, only: Collection[int], numbers: Numbers) -> set[int]:
    """Tell of some subjects what there is to tell by now; who has something to send then."""
    auth_epoch.look(tx)  # somebody may have disabled it elsewhere a moment ago
    rules = rules_for(tx, rule.group_id)
    current = rules.by_number.get(rule.number) if rules is not None else None
    if current is None or current.reason != rule.reason or not current.is_open(tx.now):
        return set()
    if current.reason == DEVICE_SILENT:
        heard = store.heard(tx, rule.number, rule.group_id, only)
        signs = _silent(tx, current, heard)
    else:
        numbered = [store.connector_subject(each) for each in only]
        found = store.standings(tx, rule.number, rule.group_id, numbered)
        signs = _failing(tx, current, found)
    refusals: dict[int, str] = {}
    woken = weigh(tx, numbers, signs, refusals)
    for number, reason in refusals.items():
        store_connectors.note_filter_error(tx, number, reason)
    return woken


def _silent(tx: Tx, rule: Rule, heard: Sequence[Heard]) -> list[Sign]:
    """What there is to say of devices that have, or have not, been heard of in time."""
    after = rule.params.silent_after * SECOND
    return [
        Sign(
            rule,
            each.number,
            {
                "kind": "device",
                "deviceId": each.id,
                "deviceName": each.name,
                "deviceType": each.type,
                "groupId": rule.group_id,
                "tags": msgspec.json.decode(each.tags),
                "timestamp": date_text(tx.now),
                "seenAt": date_text(each.at),
            },
            tx.now,
            each.id,
            reason=DEVICE_SILENT,
            holds=holds,
            at=each.at,
        )
        for each in heard
        if rule.concerns(each.id, each.type)
        and _is_news(rule, each.state, tx.now, holds=(holds := tx.now - each.at >= after))
    ]


def _failing(tx: Tx, rule: Rule, standings: Sequence[Standing]) -> list[Sign]:
    """The same of connectors. Between the first failure and the threshold nothing changes."""
    return [
        Sign(
            rule,
            store.connector_subject(each.number),
            {
                "kind": "connector",
                "connectorId": each.id,
                "connectorName": each.name,
                "connectorType": each.type,
                "groupId": rule.group_id,
                "timestamp": date_text(tx.now),
                "failures": each.failures,
                "error": each.error,
                "enabled": each.is_enabled,
            },
            tx.now,
            reason=rule.reason or "",
            holds=holds,
            at=tx.now,
        )
        for each in standings
        if (holds := _is_failing(each, rule.params.failing_after)) is not None
        and _is_news(rule, each.state, tx.now, holds=holds)
    ]


def _is_failing(standing: Standing, failing_after: int) -> bool | None:
    """Whether a connector fails; None while that is to stay as it was.

    One that was disabled by the answer of the other side has failed, however often it was. Enabled
    again it has to deliver something before it counts as working.
    """
    if not standing.is_enabled or standing.failures >= failing_after:
        return True
    return None if standing.failures else False


def _is_news(rule: Rule, state: State, now: Moment, *, holds: bool) -> bool:
    """Whether anything is different from what is remembered, or still to be told."""
    if holds != (state.raised_at is not None):
        return True
    manner = rule.manner
    if not holds or state.is_told or manner is None or not manner.tells_begin:
        return False
    return not trigger_states.is_waiting(state, now, rule.throttle)
