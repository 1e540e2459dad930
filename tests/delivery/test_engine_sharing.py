"""What is scarce is shared: attempts in flight, and the CPU time of templates."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from longwire.delivery.cel import stored
from longwire.delivery.cel.expressions import Expression
from longwire.delivery.cel.lexer import invalid_at
from longwire.delivery.engine import building, worker
from tests.delivery.receiver import HANG, Receiver
from tests.delivery.test_engine import Line
from tests.waiting import PATIENCE_S, eventually
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def params(receiver: Receiver, template: str) -> str:
    return json.dumps({"url": receiver.url, "template": template})


@pytest.mark.slow
@pytest.mark.usefixtures("patient_sender")
def test_many_slow_destinations_of_a_group_leave_slots_for_others(
    make_world: Callable[..., World],
) -> None:
    world = make_world(attempts_in_flight_max=8)
    with Receiver(HANG) as slow, Receiver() as receiver:
        mallory, ada = world.person("mallory"), world.person()
        attacker, victim = Line(mallory, slow.url), Line(ada, receiver.url)
        for _ in range(9):
            mallory.connector(attacker.group, slow.url)
        attacker.reports(5)
        slow.wait_for(4)
        victim.reports(50)
        receiver.wait_for(50)
        victim.settles(succeed=50)
        # Half of the slots, however many want one.
        assert len(slow.requests) == 4


@pytest.mark.slow
def test_a_template_that_uses_up_its_groups_budget_is_evaluated_later(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "INLINE_CHARACTERS_MAX", 0)
    world = make_world(compute_ms_per_group_per_s=50, compute_burst_s=0.02)
    with Receiver() as receiver, Receiver() as other:
        costly = Line(world.person("mallory"), receiver.url)
        costly.change(format="custom", params=params(receiver, "[message.data, message.data]"))
        honest = Line(world.person(), other.url)
        honest.change(format="custom", params=params(other, "message.deviceId"))
        for _ in range(20):
            costly.says(json.dumps(list(range(5_000))))
        eventually(lambda: (costly.error or "").startswith("template_too_expensive: "))
        honest.says("1")
        honest.settles(succeed=1)
        assert honest.error is None
        # Nothing fails meanwhile, and nothing is left out.
        costly.settles(succeed=20)
        assert {event["attempts"] for event in costly.events()} == {1}


def test_a_long_template_is_compiled_where_nobody_waits_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a transaction nor on the event loop."""
    threads: list[str] = []

    class Watched(Expression):
        def __init__(self, source: str, **options: Any) -> None:
            threads.append(threading.current_thread().name)
            super().__init__(source, **options)

    with Receiver() as receiver:
        line = Line(world.person(), receiver.url)
        template = f"[{', '.join(['message.deviceId'] * 100)}]"
        line.change(format="custom", params=params(receiver, template))
        monkeypatch.setattr(stored, "Expression", Watched)
        for _ in range(3):
            line.says("1")
        line.settles(succeed=3)
    assert [name.rstrip("_0123456789") for name in threads] == ["compute"]


def test_a_template_that_a_new_rule_refuses_keeps_its_messages(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody saves it again, and they are sent."""

    def refuse(source: str, **options: Any) -> Expression:
        raise invalid_at(source, 0, "a new rule")

    with Receiver() as receiver:
        line = Line(world.person(), receiver.url)
        line.change(format="custom", params=params(receiver, "message.deviceId"))
        with monkeypatch.context() as patched:
            patched.setattr(stored, "Expression", refuse)
            line.says("1")
            eventually(lambda: "not valid any more" in (line.error or ""))
        line.change(format="custom", params=params(receiver, "message.deviceType"))
        world.clock.let_pass(seconds=1_800)  # to the retry
        line.settles(succeed=1)
    assert len(receiver.requests) == 1


@pytest.mark.slow
def test_a_preview_takes_no_longer_than_its_groups_budget(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = world.app.computing.previews
    monkeypatch.setattr(budgets, "_burst_us", 1_000.0)
    monkeypatch.setattr(budgets, "_us_per_moment", 1e-3)
    with Receiver() as receiver:
        costly = Line(world.person("mallory"), receiver.url, enabled=False)
        costly.change(format="custom", params=params(receiver, "[message.data, message.data]"))
        for _ in range(20):
            costly.says(json.dumps(list(range(5_000))))
        refused = costly.person.post("/connector/preview", {**costly.name, "limit": 20})
        assert refused.status_code == 429
        assert refused.headers["Retry-After"] == "10"
        honest = Line(world.person(), receiver.url)
        honest.says("1")
        previewed = ok(honest.person.post("/connector/preview", honest.name))["items"]
        assert len(previewed) == 1


def test_what_was_built_in_time_is_sent_before_the_lease_ends(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "INLINE_CHARACTERS_MAX", 0)
    monkeypatch.setattr(building, "BUILD_SLICE_S", 0)
    monkeypatch.setattr(building, "BUILD_LEASE_LEFT_MIN_S", worker.LEASE_S)
    world = make_world()
    with Receiver() as receiver:
        line = Line(world.person("ada"), receiver.url, enabled=False)
        line.change(
            format="custom",
            params=json.dumps({"url": receiver.url, "template": "message.data", "batch": 5}),
        )
        line.change(enabled=True)
        line.reports(5)
        line.settles(succeed=5)
        assert {event["attempts"] for event in line.events()} == {1}


def test_no_more_than_a_slice_is_built_on_the_event_loop(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    slices: list[int] = []
    build_slice = building._build_slice

    def counted(worker: Any, batch: Any, results: list[Any], *limits: Any) -> None:
        before = len(results)
        build_slice(worker, batch, results, *limits)
        slices.append(len(results) - before)

    monkeypatch.setattr(building, "INLINE_SLICE_S", 0)
    # However slow the machine is.
    monkeypatch.setattr(building, "INLINE_MESSAGE_S", PATIENCE_S)
    monkeypatch.setattr(building, "_build_slice", counted)
    world = make_world()
    with Receiver() as receiver:
        line = Line(world.person("ada"), receiver.url)
        line.change(
            format="custom",
            params=json.dumps({"url": receiver.url, "template": "message.data", "batch": 5}),
        )
        line.reports(20)
        line.settles(succeed=20)
    assert slices == [1] * 20
