"""A stateful test: who may do what, after any history of moves, roles and invitations.

The operations run on a real database, as their handlers call them. Beside them runs a model: plain
dictionaries, and the rules in the words of the documents. For every operation it says in advance
whether it is refused and how; after each, everybody's permissions and what they see of each other
must be those of the model.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from longwire.api.identity.roles import RoleChange, RoleInput, create_role, update_role
from longwire.clock import Clock
from longwire.errors import BadInput, Conflict, LongwireError, NotAllowed, NotFound
from longwire.identity import access, group_deletions, groups, users
from longwire.identity.bootstrap import ADMINISTRATOR, MEMBER, ROLES
from longwire.identity.groups import GroupUpdate
from longwire.model import SYSTEM, Actor, PageRequest
from longwire.process.startup import build_database, prepare
from longwire.settings import Settings
from longwire.store.database import Database, Tx
from tests.operations import context_of
from tests.state_machines import run_on_database

T = TypeVar("T")

PEOPLE = range(4)
GROUPS_MAX = 6
BUILT_IN = {role.id: frozenset(role.permissions) for role in ROLES}
ADMINISTRATION = BUILT_IN[ADMINISTRATOR]
SMALL_SETS = (
    ("group.read",),
    ("group.read", "group.update"),
    ("group.read", "group.update", "group.create"),
    ("group.read", "member.read", "member.write", "role.read"),
    ("group.read", "role.read", "role.write"),
    ("group.read", "group.update", "member.read", "member.write", "role.read", "role.write"),
)
Refusal = type[LongwireError] | None


@dataclass
class ExpectedMember:
    role: str
    is_accepted: bool


@dataclass
class ExpectedGroup:
    owner: int
    parent: int | None
    members: dict[int, ExpectedMember] = field(default_factory=dict)


@dataclass
class ExpectedRole:
    permissions: frozenset[str]
    creator: int | None = None


@dataclass
class Model:
    groups: dict[int, ExpectedGroup] = field(default_factory=dict)
    roles: dict[str, ExpectedRole] = field(
        default_factory=lambda: {name: ExpectedRole(held) for name, held in BUILT_IN.items()}
    )

    def path(self, group: int | None) -> Iterator[int]:
        while group is not None:
            yield group
            group = self.groups[group].parent

    def permissions(self, who: int, group: int) -> frozenset[str]:
        held = (self.groups[each].members.get(who) for each in self.path(group))
        return frozenset().union(*(self.roles[one.role].permissions for one in held if one))

    def need(self, who: int, permission: str, group: int) -> Refusal:
        held = self.permissions(who, group)
        return None if permission in held else NotAllowed if held else NotFound

    def may_grant(self, who: int, group: int, role: str) -> bool:
        return self.roles[role].permissions <= self.permissions(who, group)

    def users_of(self, role: str) -> set[int]:
        """The groups that use a role."""
        return {
            number
            for number, group in self.groups.items()
            if role == MEMBER or any(one.role == role for one in group.members.values())
        }

    def sees_role(self, who: int, role: str) -> bool:
        if role in BUILT_IN or self.roles[role].creator == who:
            return True
        return any("role.read" in self.permissions(who, each) for each in self.users_of(role))

    def administrators(self, group: int) -> list[int]:
        members = self.groups[group].members.items()
        return [who for who, one in members if one.role == ADMINISTRATOR]

    def would_lose_the_last(self, group: int, who: int) -> bool:
        return self.groups[group].parent is None and self.administrators(group) == [who]

    def cannot_take_out(self, who: int, group: int) -> bool:
        parent = self.groups[group].parent
        if parent is None and self.groups[group].owner != who:
            return True
        if parent is not None and "group.update" not in self.permissions(who, parent):
            return True
        return not self.permissions(who, group) >= ADMINISTRATION

    def has_below(self, group: int) -> bool:
        return any(each.parent == group for each in self.groups.values())

    # --- what each operation is refused with ---

    def move(self, who: int, group: int, parent: int | None) -> Refusal:
        if refusal := self.need(who, "group.update", group):
            return refusal
        if parent == self.groups[group].parent:
            return None
        if parent is not None:
            if refusal := self.need(who, "group.create", parent):
                return refusal
            if group in self.path(parent):
                return BadInput
        if self.cannot_take_out(who, group):
            return NotAllowed
        return Conflict if parent is None and not self.administrators(group) else None

    def invite(self, who: int, whom: int, group: int, role: str) -> Refusal:
        if refusal := self.need(who, "member.write", group):
            return refusal
        if not self.sees_role(who, role):
            return NotFound
        if not self.may_grant(who, group, role):
            return NotAllowed
        member = self.groups[group].members.get(whom)
        return Conflict if member is not None and member.role != role else None

    def set_role(self, who: int, whom: int, group: int, role: str) -> Refusal:
        if refusal := self.need(who, "member.write", group):
            return refusal
        member = self.groups[group].members.get(whom)
        if member is None or not self.sees_role(who, role):
            return NotFound
        if not self.may_grant(who, group, role) or not self.may_grant(who, group, member.role):
            return NotAllowed
        if member.role != role and self.would_lose_the_last(group, whom):
            return Conflict
        return None

    def remove(self, who: int, whom: int, group: int) -> Refusal:
        if who != whom and (refusal := self.need(who, "member.write", group)):
            return refusal
        member = self.groups[group].members.get(whom)
        if member is None:
            return NotFound
        if who != whom and not self.may_grant(who, group, member.role):
            return NotAllowed
        return Conflict if self.would_lose_the_last(group, whom) else None

    def create_role(self, who: int, wanted: frozenset[str]) -> Refusal:
        homes = [
            self.permissions(who, number)
            for number, group in self.groups.items()
            if who in group.members
        ]
        is_fine = any("role.write" in held and wanted <= held for held in homes)
        return None if is_fine else NotAllowed

    def update_role(self, who: int, role: str, group: int, wanted: frozenset[str]) -> Refusal:
        if refusal := self.need(who, "role.write", group):
            return refusal
        if not self.sees_role(who, role):
            return NotFound
        using = self.users_of(role)
        if role in BUILT_IN or (not using and self.roles[role].creator != who):
            return NotAllowed
        if not all(group in self.path(each) for each in using):
            return NotAllowed
        added = wanted - self.roles[role].permissions
        return None if added <= self.permissions(who, group) else NotAllowed

    def delete(self, who: int, group: int) -> Refusal:
        if refusal := self.need(who, "group.update", group):
            return refusal
        if self.cannot_take_out(who, group):
            return NotAllowed
        return Conflict if self.has_below(group) else None


class Company(RuleBasedStateMachine):
    """All operations on groups, members and roles, by anybody, in any order."""

    database: ClassVar[Database]
    runner: ClassVar[asyncio.Runner]
    numbers: ClassVar[Iterator[int]]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.ids: dict[int, str] = {}  # of groups
        self.group_numbers = itertools.count()
        self.people: list[Actor] = []
        self.emails: list[str] = []

    def write(self, work: Callable[[Tx], T]) -> T:
        return self.runner.run(self.database.write(work))

    def attempt(self, expected: Refusal, work: Callable[[Tx], T]) -> T | None:
        """Do it; it must be refused exactly as expected."""
        try:
            result = self.write(work)
        except LongwireError as error:
            assert type(error) is expected, f"{error!r} instead of {expected}"
            return None
        assert expected is None, f"was not refused with {expected}"
        return result

    @initialize()
    def make_people(self) -> None:
        run = next(self.numbers)
        self.emails = [f"p{each}.{run}@example.com" for each in PEOPLE]

        def work(tx: Tx) -> list[Actor]:
            made = [users.register(tx, SYSTEM, each, first_name="P") for each in self.emails]
            return [Actor("user", user.id) for user in made]

        self.people = self.write(work)
        # A company with a branch that has its own Administrator, and a role of its own.
        self.create_group(0, None)
        self.create_group(0, 0)
        self.do_invite(0, 1, 1, ADMINISTRATOR)
        role = self.do_create_role(0, SMALL_SETS[-1])
        assert role is not None
        self.do_invite(0, 2, 0, role)
        self.do_invite(0, 3, 1, role)

    # --- operations ---

    def create_group(self, who: int, parent: int | None) -> None:
        refusal = None if parent is None else self.model.need(who, "group.create", parent)
        made = self.attempt(
            refusal,
            lambda tx: groups.create(
                tx,
                self.people[who],
                None if parent is None else self.ids[parent],
                name=None,
                description=None,
                tags=(),
            ),
        )
        if made is not None:
            number = next(self.group_numbers)
            self.ids[number] = made.group.id
            administrator = ExpectedMember(ADMINISTRATOR, is_accepted=True)
            self.model.groups[number] = ExpectedGroup(who, parent, {who: administrator})

    @precondition(lambda self: len(self.model.groups) < GROUPS_MAX)
    @rule(who=st.sampled_from(PEOPLE), data=st.data())
    def create(self, who: int, data: st.DataObject) -> None:
        self.create_group(who, data.draw(st.sampled_from([None, *self.model.groups])))

    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        group = self.draw_group(data)
        who = self.draw_actor(data, group)
        parent = data.draw(st.sampled_from([None, *self.model.groups]))
        update = GroupUpdate(parent_id="" if parent is None else self.ids[parent])
        moved = self.attempt(
            self.model.move(who, group, parent),
            lambda tx: groups.update(tx, self.people[who], self.ids[group], update),
        )
        if moved is not None:
            self.model.groups[group].parent = parent

    @rule(whom=st.sampled_from(PEOPLE), data=st.data())
    def invite(self, whom: int, data: st.DataObject) -> None:
        group, role = self.draw_group(data), self.draw_role(data)
        self.do_invite(self.draw_actor(data, group), whom, group, role)

    def do_invite(self, who: int, whom: int, group: int, role: str) -> None:
        invited = self.attempt(
            self.model.invite(who, whom, group, role),
            lambda tx: groups.invite(
                tx, self.people[who], self.emails[whom].upper(), self.ids[group], role
            ),
        )
        if invited is not None:
            assert invited.user_id == self.people[whom].id
            added = ExpectedMember(role, is_accepted=False)
            self.model.groups[group].members.setdefault(whom, added)

    @rule(who=st.sampled_from(PEOPLE), data=st.data())
    def accept(self, who: int, data: st.DataObject) -> None:
        group = self.draw_group(data)
        self.write(lambda tx: groups.accept_invitations(tx, self.people[who], [self.ids[group]]))
        if who in self.model.groups[group].members:
            self.model.groups[group].members[who].is_accepted = True

    @rule(whom=st.sampled_from(PEOPLE), data=st.data())
    def set_role(self, whom: int, data: st.DataObject) -> None:
        group, role = self.draw_group(data), self.draw_role(data)
        who = self.draw_actor(data, group)
        changed = self.attempt(
            self.model.set_role(who, whom, group, role),
            lambda tx: groups.set_role(
                tx, self.people[who], self.people[whom].id, self.ids[group], role
            ),
        )
        if changed is not None:
            self.model.groups[group].members[whom].role = role

    @rule(whom=st.sampled_from(PEOPLE), data=st.data())
    def remove(self, whom: int, data: st.DataObject) -> None:
        group = self.draw_group(data)
        who = self.draw_actor(data, group)
        removed = self.attempt(
            self.model.remove(who, whom, group),
            lambda tx: groups.remove_member(
                tx, self.people[who], self.ids[group], self.people[whom].id
            ),
        )
        if removed is not None:
            del self.model.groups[group].members[whom]

    @rule(who=st.sampled_from(PEOPLE), wanted=st.sampled_from(SMALL_SETS))
    def create_role(self, who: int, wanted: tuple[str, ...]) -> None:
        self.do_create_role(who, wanted)

    def do_create_role(self, who: int, wanted: tuple[str, ...]) -> str | None:
        made = self.attempt(
            self.model.create_role(who, frozenset(wanted)),
            lambda tx: create_role(
                context_of(tx, self.people[who]),
                RoleInput(name="role", description="", permissions=list(wanted)),
            ),
        )
        if made is None:
            return None
        self.model.roles[made.id] = ExpectedRole(frozenset(wanted), who)
        return made.id

    @rule(wanted=st.sampled_from(SMALL_SETS), data=st.data())
    def update_role(self, wanted: tuple[str, ...], data: st.DataObject) -> None:
        group, role = self.draw_group(data), self.draw_role(data)
        who = self.draw_actor(data, group)
        changed = self.attempt(
            self.model.update_role(who, role, group, frozenset(wanted)),
            lambda tx: update_role(
                context_of(tx, self.people[who]),
                RoleChange(role_id=role, group_id=self.ids[group], permissions=list(wanted)),
            ),
        )
        if changed is not None:
            self.model.roles[role].permissions = frozenset(wanted)

    @precondition(lambda self: len(self.model.groups) > 1)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        group = self.draw_group(data)
        who = self.draw_actor(data, group)
        deleted = self.attempt(
            self.model.delete(who, group),
            lambda tx: group_deletions.delete(
                tx, self.people[who], self.ids[group], is_recursive=False, grace_hours=1
            ),
        )
        if deleted is not None:
            used = {one.role for one in self.model.groups.pop(group).members.values()}
            for role in used - BUILT_IN.keys():
                if not self.model.users_of(role):
                    del self.model.roles[role]

    def draw_group(self, data: st.DataObject) -> int:
        return data.draw(st.sampled_from(sorted(self.model.groups)))

    def draw_actor(self, data: st.DataObject, group: int) -> int:
        """Mostly somebody with permissions in the group."""
        able = [who for who in PEOPLE if self.model.permissions(who, group)]
        return data.draw(st.sampled_from([*able * 3, *PEOPLE]))

    def draw_role(self, data: st.DataObject) -> str:
        """Built-in ones first, so that a failing example becomes simple."""
        custom = list(self.model.roles.keys() - BUILT_IN.keys())
        order = {role: place for place, role in enumerate(self.model.roles)}
        ordered = sorted(custom, key=order.__getitem__)
        return data.draw(st.sampled_from([ADMINISTRATOR, *BUILT_IN, *ordered * 3]))

    # --- what must be true after each ---

    @invariant()
    def everybody_may_do_what_the_model_says(self) -> None:
        def work(tx: Tx) -> None:
            for who, actor in enumerate(self.people):
                for number in self.model.groups:
                    held = access.get_permissions(tx, actor, self.ids[number])
                    assert held == self.model.permissions(who, number), (who, number)
                belongs = {
                    self.ids[number]
                    for number in self.model.groups
                    if any(
                        who in self.model.groups[each].members for each in self.model.path(number)
                    )
                }
                page = groups.list_for_user(tx, actor, None, None, PageRequest(100))
                assert {view.group.id for view in page.items} == belongs

        self.runner.run(self.database.read(work))

    @invariant()
    def others_are_seen_as_far_as_they_have_accepted(self) -> None:
        def work(tx: Tx) -> None:
            for number, group in self.model.groups.items():
                for who, actor in enumerate(self.people):
                    if "member.read" in self.model.permissions(who, number):
                        self.check_members(tx, actor, number, group)

        self.runner.run(self.database.read(work))

    def check_members(self, tx: Tx, actor: Actor, number: int, group: ExpectedGroup) -> None:
        page = groups.list_members(tx, actor, self.ids[number], PageRequest(100))
        seen = {each.user.id: (each.user.name, each.user.email) for each in page.items}
        expected: dict[str, tuple[str | None, str]] = {}
        for whom, member in group.members.items():
            email = self.emails[whom]
            is_shown = member.is_accepted or self.people[whom] == actor
            expected[self.people[whom].id] = ("P", email) if is_shown else (None, email.upper())
        assert seen == expected

    @invariant()
    def every_root_has_an_administrator(self) -> None:
        for number, group in self.model.groups.items():
            assert group.parent is not None or self.model.administrators(number)


@pytest.mark.parametrize(
    "engine, examples, steps", [("sqlite", 8, 40), ("postgresql", 3, 30)], indirect=["engine"]
)
def test_any_history_gives_everybody_what_the_model_says(
    settings: Settings, examples: int, steps: int
) -> None:
    run(settings, examples, steps)


@pytest.mark.soak
@pytest.mark.parametrize(
    "engine, examples, steps",
    [("sqlite", 1_000, 100), ("postgresql", 100, 60)],
    indirect=["engine"],
)
def test_any_long_history_gives_everybody_what_the_model_says(
    settings: Settings, examples: int, steps: int
) -> None:
    run(settings, examples, steps)


def run(settings: Settings, examples: int, steps: int) -> None:
    database, save_key = build_database(settings, Clock())
    prepare(database, settings, save_key)
    database.start()
    with asyncio.Runner() as runner:
        numbers = itertools.count()
        run_on_database(Company, database, runner, examples=examples, steps=steps, numbers=numbers)
    database.close()
