"""The tree of groups as it is kept: whatever was moved where, every path follows from the parents.

Here the store is asked alone, without the rules above it, so a move need only not close a circle.
"""

from collections.abc import Callable, Iterator, Mapping

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from longwire.clock import Clock
from longwire.identity.bootstrap import ADMINISTRATOR, MEMBER
from longwire.model import Group, User
from longwire.process.startup import build_database
from longwire.settings import Settings
from longwire.store import schema
from longwire.store.database import Database, Tx
from longwire.store.identity import groups, users

GROUPS = 10
IDS = [str(1_000 + number) for number in range(GROUPS)]

Parents = dict[str, str | None]
Paths = set[tuple[str, str, int]]  # (ancestor, group, depth)

one_of_them = st.integers(0, GROUPS - 1)
one_of_them_or_none = st.one_of(st.none(), one_of_them)
# Each group hangs below an earlier one, or is a root.
forests = st.tuples(
    *(
        st.one_of(st.none(), st.integers(0, number - 1)) if number else st.none()
        for number in range(GROUPS)
    )
)
moves = st.lists(st.tuples(one_of_them, one_of_them_or_none), min_size=8, max_size=25)


class Undone(Exception):
    """Raised to leave nothing behind."""


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    made, _ = build_database(settings, Clock())
    yield made
    made.close()


def in_a_trial(database: Database, story: Callable[[Tx], None]) -> None:
    """Run a story in a transaction that is taken back."""

    def work(tx: Tx) -> None:
        story(tx)
        raise Undone

    with pytest.raises(Undone):
        database.upgrade(work)


def plant(tx: Tx, forest: tuple[int | None, ...]) -> Parents:
    """The groups of a forest, stored one after the other."""
    users.USERS.insert(tx, User(id="usr_a", email="a@example.com", created_at=0, updated_at=0))
    parents: Parents = {}
    for group_id, above in zip(IDS, forest, strict=True):
        parents[group_id] = None if above is None else IDS[above]
        group = Group(
            id=group_id,
            parent_id=parents[group_id],
            owner_id="usr_a",
            sealed_token="",
            administrator_role_id=ADMINISTRATOR,
            default_role_id=MEMBER,
            created_at=0,
            updated_at=0,
            created_by="usr_a",
            updated_by="usr_a",
        )
        groups.insert(tx, group, group_id.encode())
    return parents


def way_up(parents: Mapping[str, str | None], group_id: str) -> list[str]:
    way = [group_id]
    while (above := parents[way[-1]]) is not None:
        way.append(above)
    return way


def paths_of(parents: Mapping[str, str | None]) -> Paths:
    """Every path, worked out from the parents alone."""
    return {
        (ancestor, group_id, depth)
        for group_id in parents
        for depth, ancestor in enumerate(way_up(parents, group_id))
    }


def stored_paths(tx: Tx) -> list[tuple[str, str, int]]:
    table = schema.group_path
    statement = sa.select(table.c.ancestor_id, table.c.group_id, table.c.depth)
    return [tuple(row) for row in tx.rows(statement)]


def stored_parents(tx: Tx) -> Parents:
    return {row.id: row.parent_id for row in tx.rows(sa.select(schema.group))}


@pytest.mark.engine_free
@pytest.mark.slow
@hypothesis_settings(
    max_examples=60,
    deadline=None,
    # Every example is taken back, so one database serves them all.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(forest=forests, journeys=moves)
def test_paths_follow_from_the_parents_after_any_moves(
    database: Database, forest: tuple[int | None, ...], journeys: list[tuple[int, int | None]]
) -> None:
    def story(tx: Tx) -> None:
        parents = plant(tx, forest)
        assert sorted(stored_paths(tx)) == sorted(paths_of(parents))
        for who, where in journeys:
            group_id = IDS[who]
            parent_id = None if where is None else IDS[where]
            if parent_id is not None and group_id in way_up(parents, parent_id):
                continue  # it would close a circle; the rules above refuse it
            groups.move(tx, group_id, parent_id)
            parents[group_id] = parent_id
            assert stored_parents(tx) == parents
            assert sorted(stored_paths(tx)) == sorted(paths_of(parents)), (group_id, parent_id)

    in_a_trial(database, story)


@hypothesis_settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(forest=forests, some=st.sets(one_of_them))
def test_questions_about_the_tree_are_answered_as_the_parents_say(
    database: Database, forest: tuple[int | None, ...], some: set[int]
) -> None:
    def story(tx: Tx) -> None:
        parents = plant(tx, forest)
        paths = paths_of(parents)
        wanted = {IDS[number] for number in some}
        for group_id in IDS:
            below = {group for ancestor, group, _ in paths if ancestor == group_id}
            depths = [depth for ancestor, _, depth in paths if ancestor == group_id]
            assert groups.get_path(tx, group_id) == tuple(way_up(parents, group_id))
            assert groups.get_height(tx, group_id) == max(depths)
            assert groups.are_within(tx, wanted, group_id) == (wanted <= below)

    in_a_trial(database, story)


def test_a_group_that_does_not_exist_has_no_path_and_nothing_below(database: Database) -> None:
    def story(tx: Tx) -> None:
        plant(tx, (None,) * GROUPS)
        for odd in ("999", "01000", "1000 ", "-1", "", "٣", "9" * 40, str(2**53)):
            assert groups.get_path(tx, odd) == (), odd
            assert groups.get_height(tx, odd) == 0, odd
            assert not groups.are_within(tx, IDS[:1], odd), odd

    in_a_trial(database, story)
