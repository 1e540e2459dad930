"""An alarm for each alert that is raised: about devices, and about connectors."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

RANDOM = {
    "sqlite": "lower(hex(randomblob(15)))",
    "postgresql": "substr(md5(random()::text || s.subject::text), 1, 30)",
}
INSERT = """
insert into alarm (
    id, group_id, notification_number, notification_id, reason, subject, device_id, connector_id,
    severity, raised_at, notified_at
)
select 'alm_' || {random}, {group}, c.number, c.id, n.reason, s.subject, {device}, {connector},
    'warning', s.raised_at, s.fired_at
from notification_state s
join notification n on n.channel_number = s.notification_number
join channel c on c.number = n.channel_number
join {subjects}
where s.raised_at is not null
    and s.is_notified
    and s.fired_at is not null
    and c.deleted_at is null
    and n.reason is not null
    and n.reason <> 'connectorRecovered'
"""


def list_statements(dialect: str) -> list[str]:
    """For devices, and for connectors."""
    of_devices = {
        "group": "d.group_id",
        "device": "d.id",
        "connector": "null",
        "subjects": "device d on d.number = s.subject",
    }
    of_connectors = {
        "group": "k.group_id",
        "device": "null",
        "connector": "k.id",
        "subjects": "channel k on k.number = -s.subject",
    }
    random = RANDOM[dialect]
    return [INSERT.format(random=random, **parts) for parts in (of_devices, of_connectors)]


def upgrade() -> None:
    for statement in list_statements(op.get_bind().dialect.name):
        op.execute(statement)
