"""Groups take turns in the engine's transactions."""

from longwire.delivery.channel_turns import ChannelTurns


def test_a_few_channels_are_all_served() -> None:
    assert ChannelTurns(3).choose({1: "a", 2: "a", 3: "b"}) == {1, 2, 3}


def test_a_group_with_many_channels_is_not_in_the_way_of_another() -> None:
    turns = ChannelTurns(4)
    many = dict.fromkeys(range(100), "many")
    for _ in range(30):
        chosen = turns.choose(many | {500: "one", 600: "two", 601: "two"})
        assert len(chosen) == 4
        assert 500 in chosen and chosen & {600, 601}


def test_many_large_groups_are_not_in_the_way_of_a_small_one() -> None:
    turns = ChannelTurns(8)
    large = {number: f"group {number % 8}" for number in range(1_600)}
    waited = longest = 0
    for _ in range(100):
        waited = 0 if 5_000 in turns.choose(large | {5_000: "small"}) else waited + 1
        longest = max(longest, waited)
    assert longest == 1


def test_every_channel_gets_its_turn() -> None:
    turns = ChannelTurns(4)
    wanting = {number: f"group {number % 3}" for number in range(50)}
    served: set[int] = set()
    for _ in range(17):  # of three groups, one has two of the four
        served |= turns.choose(wanting)
    assert served == set(wanting)


def test_more_groups_than_fit_are_served_in_turn() -> None:
    turns = ChannelTurns(4)
    wanting = {number: f"group {number}" for number in range(12)}
    chosen = [turns.choose(wanting) for _ in range(3)]
    assert set().union(*chosen) == set(wanting)
