"""Owners and their groups take turns in the engine's transactions."""

from longwire.delivery.engine.turns import ChannelTurns
from longwire.work.turns import CallerKey


def of(owner: str, group: str | None = None) -> CallerKey:
    return CallerKey(owner, group or owner)


def test_a_few_channels_are_all_served() -> None:
    assert ChannelTurns(3).choose({1: of("a"), 2: of("a"), 3: of("b")}) == {1, 2, 3}


def test_a_group_with_many_channels_is_not_in_the_way_of_another() -> None:
    turns = ChannelTurns(4)
    many = dict.fromkeys(range(100), of("many"))
    for _ in range(30):
        chosen = turns.choose(many | {500: of("one"), 600: of("two"), 601: of("two")})
        assert len(chosen) == 4
        assert 500 in chosen and chosen & {600, 601}


def test_many_large_groups_are_not_in_the_way_of_a_small_one() -> None:
    turns = ChannelTurns(8)
    large = {number: of(f"group {number % 8}") for number in range(1_600)}
    waited = longest = 0
    for _ in range(100):
        waited = 0 if 5_000 in turns.choose(large | {5_000: of("small")}) else waited + 1
        longest = max(longest, waited)
    assert longest == 1


def test_every_channel_gets_its_turn() -> None:
    turns = ChannelTurns(4)
    wanting = {number: of(f"group {number % 3}") for number in range(50)}
    served: set[int] = set()
    for _ in range(17):  # of three groups, one has two of the four
        served |= turns.choose(wanting)
    assert served == set(wanting)


def test_more_groups_than_fit_are_served_in_turn() -> None:
    turns = ChannelTurns(4)
    wanting = {number: of(f"group {number}") for number in range(12)}
    chosen = [turns.choose(wanting) for _ in range(3)]
    assert set().union(*chosen) == set(wanting)


def test_an_owner_with_many_groups_is_not_in_the_way_of_another() -> None:
    turns = ChannelTurns(4)
    many = {number: of("many", f"group {number}") for number in range(100)}
    served: set[int] = set()
    for _ in range(60):
        chosen = turns.choose(many | {500: of("one"), 600: of("two")})
        assert {500, 600} <= chosen
        served |= chosen
    assert served >= set(many), "its groups take turns"
