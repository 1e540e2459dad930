"""Connectors: which records are forwarded. Where to and how is their channel's."""

from collections.abc import Sequence

from longwire.clock import Moment
from longwire.model import Connector
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.channel_owners import OwnerTable
from longwire.store.statement import Statement

CONNECTORS = OwnerTable(
    Connector,
    "connector",
    fields_read=("subgroups", "device_types", "device_ids", "message_filter", "kinds"),
    channel_fields_read=("is_enabled", "is_ordered"),
)

# Those of a group and, with their subgroups, of those above it.
_REACHES = """(
        c.group_id = :home
        or o.subgroups
            and c.group_id in (select ancestor_id from group_path where group_id = :home)
    )"""
LIST_REACHING = CONNECTORS.where(_REACHES)
LIST_ENABLED_REACHING = CONNECTORS.where(f"c.is_enabled and {_REACHES}")

LIST_VERSIONS_REACHING = Statement(f"""
select c.number, c.version, c.updated_at
from connector o
join channel c
    on c.number = o.channel_number
where c.deleted_at is null
    and c.is_enabled
    and {_REACHES}
order by c.number
""")

LIST_NUMBERS = Statement("""
select c.number, c.id
from connector o
join channel c
    on c.number = o.channel_number
where c.group_id {in:homes}
    and c.deleted_at is null
order by c.number
""")

# Whether or not it is enabled: one that is disabled may replay what it has missed.
FORWARDS_KIND = Statement(
    f"""
select 1
from connector o
join channel c
    on c.number = o.channel_number
where c.deleted_at is null
    and o.kinds like :kind
    and {_REACHES}
limit 1
""",
    into=int,
)

SUM_SETTINGS = Statement("""
select coalesce(sum(
    length(w.device_ids)
    + length(w.device_types)
    + coalesce(length(w.message_filter), 0)
    + coalesce(length(c.sealed_params), 0)
), 0)
from channel c
join connector w on w.channel_number = c.number
where c.group_id = :home
    and c.deleted_at is null
""")


def sum_settings(tx: Tx, group_id: str) -> int:
    """How large the settings of all connectors of a group are, disabled ones as well."""
    return int(tx.fetch(SUM_SETTINGS, home=schema.group_number(group_id))[0][0])


def list_numbers(tx: Tx, groups: Sequence[str]) -> dict[int, str]:
    """The ids of the connectors of some groups, by number."""
    return dict(tx.fetch(LIST_NUMBERS, homes=[schema.group_number(each) for each in groups]))


def list_for_group(tx: Tx, group_id: str) -> list[Connector]:
    """The enabled connectors that forward records of this group's devices."""
    return CONNECTORS.fetch(tx, LIST_ENABLED_REACHING, home=schema.group_number(group_id))


def list_versions_for_group(tx: Tx, group_id: str) -> list[tuple[int, int, Moment]]:
    """Of the same: number, version and last change, in the same order."""
    return tx.fetch(LIST_VERSIONS_REACHING, home=schema.group_number(group_id))


def is_kind_forwarded(tx: Tx, group_id: str, kind: str) -> bool:
    """Whether a connector asks for changes of a kind in this group."""
    values = {"home": schema.group_number(group_id), "kind": f'%"{kind}"%'}
    return tx.first(FORWARDS_KIND, **values) is not None


def list_reaching(tx: Tx, group_id: str) -> list[Connector]:
    """The same with those that are disabled."""
    return CONNECTORS.fetch(tx, LIST_REACHING, home=schema.group_number(group_id))
