"""How many messages about alarms a contact gets in a minute: beyond a limit, one that counts them.

A gateway returns, and ten thousand devices are resolved at once. What a contact does not get by
itself is counted with the alarms, in their transaction, and sent as one message at the end of the
minute, by one of the channels that still lead to the contact then. While something waits, whatever
follows is counted, too, so that nothing is overtaken.
"""

from collections.abc import Collection, Mapping, Set
from typing import Any

import msgspec
import structlog

from longwire.clock import MINUTE, Moment
from longwire.dates import format_date
from longwire.notifications.default_texts import default_subject, show_state
from longwire.notifications.recipients import Recipient, RecipientCache
from longwire.notifications.rules import get_rules
from longwire.notifications.types.base import NotificationContext, NotificationMessage
from longwire.records import RecordKind
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.notifications import contact_windows as store
from longwire.store.notifications.contact_points import CONTACT_POINTS
from longwire.store.notifications.contact_windows import ContactWindow
from longwire.translations.catalogue import format_number, translate, translate_count

# One a second: as many as anybody reads, and as a program gets in minutes without a storm.
PER_MINUTE_MAX = 60
GROUPED = "alarms"  # the reason of a grouped message
# How many of the channels to a contact are kept: those that were last needed.
CHANNELS_MAX = 20

_FIRST_MEMBERS = ("alarmId", "deviceId", "deviceName", "connectorId", "connectorName", "severity")

log = structlog.get_logger()


class ContactLimits:
    """What the contacts of one transaction still get as single messages about alarms."""

    def __init__(self, tx: Tx, recipients: Collection[Recipient]) -> None:
        """To whom notifications about alarms are sent."""
        self._tx = tx
        contacts = {(each.contact, schema.group_number(each.group_id)) for each in recipients}
        self._windows = store.lock_many(tx, contacts) if contacts else {}
        self._changed: set[str] = set()

    def take(self, recipient: Recipient, reason: str, message: Mapping[str, Any]) -> bool:
        """Whether a message about an alarm is sent by itself; else it is counted."""
        contact = recipient.contact
        window = start_minute(self._windows[contact], self._tx.now)
        self._changed.add(contact)
        is_single = window.due_at is None and window.sent < PER_MINUTE_MAX
        if is_single:
            self._windows[contact] = msgspec.structs.replace(window, sent=window.sent + 1)
        else:
            self._windows[contact] = add_waiting(window, recipient.channel_number, reason, message)
        return is_single

    def save(self) -> None:
        if self._changed:
            store.save(self._tx, [self._windows[each] for each in self._changed])


def start_minute(window: ContactWindow, now: Moment) -> ContactWindow:
    """The window as it is now: another minute begins, unless something of an earlier one waits."""
    minute = now // MINUTE
    if window.due_at is not None or window.minute == minute:
        return window
    return msgspec.structs.replace(window, minute=minute, sent=0)


def add_waiting(
    window: ContactWindow, number: int, reason: str, message: Mapping[str, Any]
) -> ContactWindow:
    """The window with one more, of a channel, that waits for the grouped message."""
    is_resolved = message["state"] == "resolved"
    first = window.first
    if first is None:
        known = {name: message[name] for name in _FIRST_MEMBERS if message.get(name) is not None}
        known |= {"state": message["state"], "reason": reason}
        known["subject"] = default_subject(reason, message)
        first = msgspec.json.encode(known).decode()
    channels = [each for each in _list_channels(window) if each != number]
    return msgspec.structs.replace(
        window,
        raised=window.raised + (not is_resolved),
        critical=window.critical + (not is_resolved and message["severity"] == "critical"),
        resolved=window.resolved + is_resolved,
        first=first,
        channels=msgspec.json.encode([*channels, number][-CHANNELS_MAX:]).decode(),
        due_at=window.due_at or (window.minute + 1) * MINUTE,
    )


def take_due(tx: Tx, group_number: int) -> list[NewDelivery]:
    """The grouped messages of a group that are due, as deliveries without a sequence number."""
    due = store.lock_due(tx, group_number)
    if not due:
        return []
    # While a storm lasts, there is a grouped message each minute, and nothing else.
    store.save(
        tx,
        [
            ContactWindow(
                each.contact, each.group_number, minute=tx.now // MINUTE, sent=PER_MINUTE_MAX
            )
            for each in due
        ],
    )
    recipients = _list_recipients(
        tx, group_number, {number for each in due for number in _list_channels(each)}
    )
    deliveries = []
    for window in due:
        # By the channel that was needed last, if it is still there.
        wanted = [(number, window.contact) for number in reversed(_list_channels(window))]
        recipient = next((recipients[each] for each in wanted if each in recipients), None)
        if recipient is None:
            count = window.raised + window.resolved
            log.warning("grouped message dropped", group=group_number, messages=count)
        else:
            deliveries.append(_build_delivery(tx.now, window, recipient))
    return deliveries


def _list_channels(window: ContactWindow) -> list[int]:
    """By which it would have got what waits, the last one at the end."""
    return msgspec.json.decode(window.channels or "[]", type=list[int])


def _list_recipients(
    tx: Tx, group_number: int, numbers: Set[int]
) -> dict[tuple[int, str], Recipient]:
    """To whom channels of a group lead now, by channel and contact."""
    cache = RecipientCache(tx)
    rules = get_rules(tx, str(group_number))
    found: list[Recipient] = []
    known = rules.by_number if rules is not None else {}
    for number in known.keys() & numbers:
        found += cache.get_recipients(known[number])
    for contact in CONTACT_POINTS.get_by_numbers(tx, sorted(numbers)).values():
        found += cache.list_of_contact_point(contact)
    return {(each.channel_number, each.contact): each for each in found}


def _build_delivery(now: Moment, window: ContactWindow, recipient: Recipient) -> NewDelivery:
    return NewDelivery(
        recipient.channel_number,
        0,
        "",
        RecordKind.EVENT,
        now,
        _encode(now, window, recipient.language),
        msgspec.json.encode(NotificationContext(recipient.to)).decode(),
        None,
    )


def _encode(now: Moment, window: ContactWindow, language: str) -> str:
    first = msgspec.json.decode(window.first or "{}")
    count = window.raised + window.resolved
    name = first.pop("subject", "")
    counts = {
        "raised": format_number(language, window.raised),
        "critical": format_number(language, window.critical),
        "resolved": format_number(language, window.resolved),
    }
    alarms = translate_count(language, "alarms.alarms", count)
    message = NotificationMessage(
        subject=translate(language, "alarms.subject", alarms=alarms, **counts),
        body=translate(
            language,
            "alarms.body",
            messages=translate_count(language, "alarms.messages", count),
            first=name,
            state=show_state(first.get("state", ""), language),
            **counts,
        ),
        reason=GROUPED,
        message={
            "kind": GROUPED,
            "groupId": str(window.group_number),
            "timestamp": format_date(now),
            "raised": window.raised,
            "critical": window.critical,
            "resolved": window.resolved,
            "first": first,
        },
        language=language,
    )
    return msgspec.json.encode(message).decode()
