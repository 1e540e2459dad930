"""Which notifications fire for what devices say. Decided while it is stored, on that transaction.

Plain reasons are looked up in a dictionary, so that many notifications cost no more than one. What
a notification has to remember is held for the time of the transaction: of two processes that hear
of the same device at once, one waits for the other.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.dates import date_text
from longwire.delivery.filters import DATA_LEVELS_MAX, NO_MATCH, message_of
from longwire.delivery.matching import context_of
from longwire.notifications import trigger_states
from longwire.notifications.firing import Firing, Numbers, Recipients, Room, fire, fitting
from longwire.notifications.rules import Rule, Rules, rules_for
from longwire.notifications.trigger_states import GEOFENCE_ENTER, Manner, Telling
from longwire.store import connectors as store_connectors
from longwire.store import notifications as store
from longwire.store.database import Tx
from longwire.store.devices import Reporting
from longwire.store.notifications import Key, State
from longwire.store.records import KINDS, Row

DATA, EVENT, GEOLOC = (KINDS.index(kind) for kind in ("data", "event", "geoloc"))
ONCE = Telling()


class Battery(msgspec.Struct, frozen=True):
    """What a network told of a battery, and the record that came with it."""

    device: Reporting
    text: str
    at: Moment
    row: Row


class Sign(msgspec.Struct, frozen=True):
    """Something that may make a notification fire."""

    rule: Rule
    subject: int
    message: Mapping[str, Any]
    ts: Moment
    device_id: str = ""
    kind: int = EVENT
    reason: str = ""
    # For what holds for a while: whether it does, and how new that is.
    holds: bool | None = None
    at: Moment = 0

    @property
    def key(self) -> Key:
        return self.rule.number, self.subject


class _Said(msgspec.Struct):
    """The reason of a data record, or the type of an event."""

    reason: str | None = None
    type: str | None = None


class _Place(msgspec.Struct):
    lat: float | None = None
    lng: float | None = None


class _Data(msgspec.Struct):
    data: str | None = None


_said = msgspec.json.Decoder(_Said)
_data = msgspec.json.Decoder(_Data)
_place = msgspec.json.Decoder(_Place)


def hear(
    tx: Tx,
    numbers: Numbers,
    fresh: Sequence[Row],
    devices: Collection[Reporting],
    batteries: Sequence[Battery] = (),
) -> set[int]:
    """Fire for some records and what was told beside; who has something to send now."""
    rules = {group: rules_for(tx, group) for group in {each.group_id for each in devices}}
    if not any(rules.values()):
        return set()
    refusals: dict[int, str] = {}
    heard = list(_Ear(tx.now, rules, refusals).signs(fresh, devices, batteries))
    woken = weigh(tx, numbers, heard, refusals) if heard else set()
    for number, reason in sorted(refusals.items()):
        store_connectors.note_filter_error(tx, number, reason)
    return woken


class _Ear:
    """Finds what concerns the notifications of some groups."""

    def __init__(
        self, now: Moment, rules: Mapping[str, Rules | None], refusals: dict[int, str]
    ) -> None:
        self._now = now
        self._rules = rules
        self._refusals = refusals
        self._open: dict[int, bool] = {}

    def signs(
        self,
        fresh: Sequence[Row],
        devices: Collection[Reporting],
        batteries: Sequence[Battery],
    ) -> Iterator[Sign]:
        by_number = {device.number: device for device in devices}
        for row in fresh:
            device = by_number[row.device_number]
            rules = self._rules[device.group_id]
            if rules is None:
                continue
            if row.kind == GEOLOC:
                yield from self._places(rules.fenced, row, device)
            elif row.kind == EVENT or (row.kind == DATA and rules.by_reason):
                yield from self._plain(rules, row, device)
        for battery in batteries:
            rules = self._rules[battery.device.group_id]
            if rules is not None:
                yield from self._charges(rules.battery, battery)

    def _plain(self, rules: Rules, row: Row, device: Reporting) -> Iterator[Sign]:
        said = _said.decode(row.body)
        reason = said.type if row.kind == EVENT else said.reason
        takers = rules.by_reason.get(reason or "", ())
        if row.kind == EVENT and rules.any_event:
            takers = [*takers, *rules.any_event]
        message: dict[str, Any] | None = None
        for rule in self._listening(takers, device):
            if message is None:
                message = _message(row, device)
            if self._wants(rule, message):
                yield Sign(rule, device.number, message, row.ts, device.id, row.kind, reason or "")

    def _places(self, fenced: Sequence[Rule], row: Row, device: Reporting) -> Iterator[Sign]:
        if not fenced:
            return
        place = _place.decode(row.body)
        if place.lat is None or place.lng is None:
            return
        message: dict[str, Any] | None = None
        for rule in self._listening(fenced, device):
            if message is None:
                message = _message(row, device)
            # A fix that `when` does not let through, as too vague perhaps, is not looked at.
            if rule.fence is None or not self._wants(rule, message):
                continue
            is_inside = rule.fence.contains(place.lat, place.lng)
            yield Sign(
                rule,
                device.number,
                message,
                row.ts,
                device.id,
                row.kind,
                rule.reason or "",
                is_inside == (rule.reason == GEOFENCE_ENTER),
                min(row.ts, self._now),
            )

    def _charges(self, rules: Sequence[Rule], battery: Battery) -> Iterator[Sign]:
        percent = percent_of(battery.text)
        if percent is None:
            return
        device, row = battery.device, battery.row
        for rule in self._listening(rules, device):
            message = _message(row, device) | {"battery": percent}
            yield Sign(
                rule,
                device.number,
                message,
                row.ts,
                device.id,
                row.kind,
                rule.reason or "",
                percent < rule.params.battery_below,
                battery.at,
            )

    def _listening(self, rules: Sequence[Rule], device: Reporting) -> Iterator[Rule]:
        for rule in rules:
            if rule.concerns(device.id, device.type) and self._is_open(rule):
                yield rule

    def _is_open(self, rule: Rule) -> bool:
        if rule.schedule is None:
            return True
        if rule.number not in self._open:
            self._open[rule.number] = rule.is_open(self._now)
        return self._open[rule.number]

    def _wants(self, rule: Rule, message: Mapping[str, Any]) -> bool:
        return wants(rule, message, self._refusals)


def percent_of(battery: str) -> float | None:
    """The charge; None when the network told something else, as volts are."""
    try:
        percent = float(battery)
    except ValueError:
        return None
    return int(percent) if percent.is_integer() else percent


def _message(row: Row, device: Reporting) -> dict[str, Any]:
    message = message_of(KINDS[row.kind], row.body, msgspec.json.decode(context_of(device)))
    if _is_deep(message.get("data")):
        # No text can name it, and writing it down could take more than there is.
        message["data"] = _data.decode(row.body).data
    return message


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DATA_LEVELS_MAX):
        level = [
            each
            for found in level
            if isinstance(found, dict | list)
            for each in (found.values() if isinstance(found, dict) else found)
        ]
        if not level:
            return False
    return True


# --- weighing: what is remembered decides ---


def weigh(tx: Tx, numbers: Numbers, signs: Sequence[Sign], refusals: dict[int, str]) -> set[int]:
    """Fire, as far as it was not told before; who has something to send now.

    Whose `when` could not be evaluated is put into `refusals`. Of more than there is room for, what
    lasts is told with the next news of it; of what is over with that, the last letter tells how
    many there were.
    """
    keys = {sign.key for sign in signs if sign.holds is not None or sign.rule.throttle}
    known = store.held(tx, keys) if keys else {}
    before = dict(known)
    recipients = Recipients(tx)
    room = Room(recipients, len({sign.rule.number for sign in signs}))
    fired: Counter[int] = Counter()
    firings = []
    for sign in signs:
        telling: Telling | None = ONCE
        state = known.get(sign.key)
        if state is not None:
            after, telling = _weighed(sign, state, tx.now, refusals)
            lasts = sign.holds is not None
            if telling and lasts and fired[sign.rule.number] >= room.of(sign.rule):
                after, telling = trigger_states.put_off(state, after, telling), None
            known[sign.key] = after
        if telling is not None:
            fired[sign.rule.number] += 1
            firings.append(_firing(sign, telling))
    changed = {key: state for key, state in known.items() if state != before[key]}
    if changed:
        store.keep(tx, changed)
    return fire(tx, numbers, fitting(firings, room), recipients) if firings else set()


def _weighed(
    sign: Sign, state: State, now: Moment, refusals: dict[int, str]
) -> tuple[State, Telling | None]:
    rule, manner = sign.rule, sign.rule.manner
    if sign.holds is None or manner is None:
        return trigger_states.pass_on(state, now, rule.throttle)
    if _would_tell_of_its_begin(sign, state, manner) and not wants(rule, sign.message, refusals):
        return state, None
    after, telling = trigger_states.look(
        state, manner, sign.at, now, rule.throttle, holds=sign.holds
    )
    if telling and not manner.tells_begin and not wants(rule, sign.message, refusals):
        telling = None
    return after, telling


def _would_tell_of_its_begin(sign: Sign, state: State, manner: Manner) -> bool:
    return bool(sign.holds) and manner.tells_begin and not state.is_told


def wants(rule: Rule, message: Mapping[str, Any], refusals: dict[int, str]) -> bool:
    """Whether `when` lets it through; an evaluation that fails is a no, and is shown."""
    reason = rule.refusal(message)
    if reason and reason != NO_MATCH:
        refusals[rule.number] = reason
    return not reason


def _firing(sign: Sign, telling: Telling) -> Firing:
    message = dict(sign.message)
    if telling.since is not None:
        message["state"] = "over" if telling.is_over else "raised"
        message["since"] = date_text(telling.since)
    return Firing(sign.rule, message, telling, sign.ts, sign.device_id, sign.kind, sign.reason)
