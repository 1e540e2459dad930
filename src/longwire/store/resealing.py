"""Seals again what an older key has sealed, some rows at a time.

The list below has every column that is sealed, with the purpose that its owner seals it for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from longwire.model import ChannelPurpose
from longwire.seal import UnsealError
from longwire.store import instance, schema
from longwire.store.database import Tx
from longwire.store.delivery import exchanges
from longwire.store.fleet import unknown_devices
from longwire.store.statement import Statement

# Of a step, which the service waits for; one value may be larger.
ROWS_PER_STEP = 50
BYTES_PER_STEP = 4 * 1024 * 1024

Key = tuple[Any, ...]  # of a row


@dataclass(frozen=True, slots=True)
class SealedColumn:
    table: str
    column: str
    purpose: Callable[..., str]  # of the values of `named`
    named: Sequence[str]
    join: str = ""  # to name the row
    where: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)  # of its condition

    @property
    def name(self) -> str:
        return f"{self.table}.{self.column}"

    @property
    def key(self) -> Sequence[str]:
        return [column.name for column in schema.metadata.tables[self.table].primary_key.columns]


@dataclass(frozen=True, slots=True)
class ResealingStep:
    last: Key | None  # the key of the last row; None behind the end
    resealed: int
    unreadable: int  # by any key


_OF_DEVICE = "join device d on d.number = t.device_number"

SEALED: tuple[SealedColumn, ...] = (
    SealedColumn(
        "device_group", "sealed_token", lambda owner: f"device_group|{owner}|token", ["t.id"]
    ),
    SealedColumn(
        "app_client", "sealed_secret", lambda owner: f"app_client|{owner}|secret", ["t.id"]
    ),
    SealedColumn(
        "user_password", "sealed_hash", lambda owner: f"user_password|{owner}", ["t.user_id"]
    ),
    SealedColumn("user_totp", "sealed_secret", lambda owner: f"user_totp|{owner}", ["t.user_id"]),
    SealedColumn("push_token", "sealed_token", lambda owner: f"push_token|{owner}", ["t.user_id"]),
    SealedColumn(
        "channel",
        "sealed_params",
        lambda owner, kind: f"{kind}|{owner}|params",
        ["t.id", "t.purpose"],
    ),
    SealedColumn(
        "registration",
        "sealed_pac",
        lambda owner: f"registration|{owner}|pac",
        ["d.id"],
        join=_OF_DEVICE,
    ),
    SealedColumn(
        "network_link",
        "sealed_key",
        lambda owner: f"network_link|{owner}|key",
        ["d.id"],
        join=_OF_DEVICE,
    ),
    SealedColumn(
        "reception",
        "sealed",
        lambda home, first: f"reception|{home}|{first}",
        ["t.group_id", "t.first_seq"],
    ),
    SealedColumn(
        "unknown_device",
        "sealed",
        unknown_devices.get_purpose,
        ["t.group_id", "t.network", "t.original_key"],
    ),
    SealedColumn(
        "delivery_exchange",
        "sealed",
        exchanges.get_purpose,
        ["t.channel_number", "t.id"],
    ),
    SealedColumn(
        "job_chunk",
        "content",
        lambda owner, part: f"job_chunk|{owner}|{part}",
        ["t.job_id", "t.number"],
    ),
    SealedColumn(
        "report_chunk",
        "content",
        lambda owner, part: f"report_chunk|{owner}|{part}",
        ["t.run_id", "t.number"],
    ),
)

LIST_MAIL_CHANNELS = Statement(f"""
select number
from channel
where purpose = '{ChannelPurpose.MAIL}'
""")


def list_mail_queues(tx: Tx) -> list[SealedColumn]:
    """The bodies of mails that wait, by channel: those of other channels are not sealed."""
    return [_mail_queue(number) for (number,) in tx.fetch(LIST_MAIL_CHANNELS)]


def _mail_queue(number: int) -> SealedColumn:
    return SealedColumn(
        "delivery",
        "body",
        lambda: ChannelPurpose.MAIL.value,
        [],
        where="and t.channel_number = :channel",
        values={"channel": number},
    )


def reseal_some(tx: Tx, sealed: SealedColumn, after: Key | None) -> ResealingStep:
    """Seal the next rows behind `after` with the newest key, as far as an older one has."""
    last, has_more = _find_step(tx, sealed, after)
    if last is None:
        return ResealingStep(None, 0, 0)
    change = _update(sealed)
    resealed = unreadable = 0
    for key, value, purpose in list_values(tx, sealed, after, last):
        if tx.keyring.is_current(value, purpose):
            continue
        try:
            new = _reseal(tx, value, purpose)
        except UnsealError:
            unreadable += 1
            continue
        resealed += tx.run(change, **_name("own", key), old=value, new=new)
    return ResealingStep(last if has_more else None, resealed, unreadable)


def list_values(
    tx: Tx, sealed: SealedColumn, after: Key | None = None, last: Key | None = None
) -> Iterator[tuple[Key, str | bytes, str]]:
    """The keys of rows, their values, and what these are sealed for."""
    statement = _select(sealed, [f"t.{sealed.column}", *sealed.named], after, last)
    values = {**_name("after", after), **_name("last", last), **sealed.values}
    size = len(sealed.key)
    for row in tx.fetch(statement, **values):
        yield row[:size], row[size], sealed.purpose(*row[size + 1 :])


def _find_step(tx: Tx, sealed: SealedColumn, after: Key | None) -> tuple[Key | None, bool]:
    """The key of the last row of a step, None if there is no row; and whether more may follow."""
    statement = _select(sealed, [f"length(t.{sealed.column})"], after, most=ROWS_PER_STEP)
    found = tx.fetch(statement, **_name("after", after), **sealed.values)
    left = BYTES_PER_STEP
    last: Key | None = None
    for row in found:
        left -= row[-1]
        if last is not None and left < 0:
            return last, True
        last = tuple(row[:-1])
    return last, len(found) == ROWS_PER_STEP


def _reseal(tx: Tx, value: str | bytes, purpose: str) -> str | bytes:
    if isinstance(value, bytes):
        return tx.keyring.seal_bytes(tx.keyring.unseal_bytes(value, purpose), purpose)
    return tx.keyring.seal(tx.keyring.unseal(value, purpose), purpose)


def _select(
    sealed: SealedColumn,
    columns: Sequence[str],
    after: Key | None,
    last: Key | None = None,
    most: int | None = None,
) -> Statement[Any]:
    key = [f"t.{name}" for name in sealed.key]
    behind = "" if after is None else f"and ({', '.join(key)}) > ({_list('after', after)})"
    up_to = "" if last is None else f"and ({', '.join(key)}) <= ({_list('last', last)})"
    return Statement(f"""
select {", ".join([*key, *columns])}
from {sealed.table} t
{sealed.join}
where t.{sealed.column} is not null
    {sealed.where}
    {behind}
    {up_to}
order by {", ".join(key)}
{"" if most is None else f"limit {most}"}
""")


def _update(sealed: SealedColumn) -> Statement[Any]:
    is_row = " and ".join(f"{name} = :own_{number}" for number, name in enumerate(sealed.key))
    return Statement(f"""
update {sealed.table}
set {sealed.column} = :new
where {is_row}
    and {sealed.column} = :old
""")


def _list(name: str, key: Key) -> str:
    return ", ".join(f":{each}" for each in _name(name, key))


def _name(name: str, key: Key | None) -> dict[str, Any]:
    """The parts of a key as values of a statement."""
    return {f"{name}_{number}": part for number, part in enumerate(key or ())}


def finish(tx: Tx) -> None:
    """From now on the newest key suffices."""
    instance.save_fact(tx, "digest_key", tx.keyring.seal_digest_key())
    instance.save_fact(tx, "key_fingerprint", tx.keyring.fingerprint)


def iterate_columns(mail: Sequence[SealedColumn]) -> Iterator[SealedColumn]:
    yield from SEALED
    yield from mail
