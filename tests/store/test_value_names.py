"""The step after which no two places of values have one name."""

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

from longwire.store.database import Tx
from longwire.store.migrations.versions import v0011_unique_value_names
from longwire.store.statement import Statement
from tests.fleet.test_current_values import NOON_S, says, values
from tests.world import World


def test_of_places_with_one_name_the_first_keeps_it(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    says(ada, device, NOON_S, **{"a b": 1, "a c": 2, "a d": 3, "other": 4})

    def as_before(tx: Tx) -> None:
        tx.run(Statement("drop index ix_measurement_key_name"))
        tx.run(Statement("create index ix_measurement_key_name on measurement_key (name)"))
        tx.run(
            Statement("update measurement_key set name = 'same' where path like :path"),
            path="/data/a %",
        )

    def run_step(tx: Tx) -> None:
        with Operations.context(MigrationContext.configure(tx.connection)):
            v0011_unique_value_names.upgrade()

    world.write(as_before)
    world.database.upgrade(run_step)
    rows = {path: name for _, _, path, name in world.list_rows("measurement_key")}
    first, *others = sorted(path for path in rows if path.startswith("/data/a "))
    assert rows[first] == "same"
    assert all(rows[each].startswith("same__") for each in others)
    assert len(set(rows.values())) == len(rows)
    names = [rows[path] for path in sorted(rows)]
    assert values(ada, device) == dict(zip(names, (1, 2, 3, 4), strict=True))
