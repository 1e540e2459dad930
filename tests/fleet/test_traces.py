"""The trace of a record: reception, decoding, connectors and notifications."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from longwire.clock import HOUR
from longwire.fleet import device_types
from longwire.model import SYSTEM
from longwire.process import maintenance
from longwire.process.maintenance import TraceRetention
from longwire.store.database import Tx
from longwire.store.records import receptions
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

EUI = "0102030405060708"
GIB = 2**30


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8, trace_body_bytes_max=600)


def network(person: Person, group: str, body: Any, **params: str) -> str:
    """Send a ChirpStack event; the id of the request."""
    token = ok(person.get("/group", groupId=group))[0]["token"]
    response = person.world.http.post(
        "/network/chirpstack", params={"token": token, "event": "up", **params}, json=body
    )
    ok(response)
    return response.headers["x-request-id"]


def up(number: int = 7, **fields: Any) -> dict[str, Any]:
    return {
        "deviceInfo": {"devEui": EUI},
        "time": f"2026-03-01T12:00:{number:02d}Z",
        "fCnt": number,
        "fPort": 1,
        "data": "AWcA1w==",
        **fields,
    }


def newest(person: Person, group: str, **params: Any) -> dict[str, Any]:
    return dict(ok(person.get("/group/records", groupId=group, **params))["items"][0])


def trace(person: Person, **params: str) -> dict[str, Any]:
    return dict(ok(person.get("/record/trace", **params)))


def test_a_record_is_traced_from_its_network_to_everyone_it_reached(world: World) -> None:
    world.write(lambda tx: device_types.set_decoder(tx, SYSTEM, "generic", "cayenneLpp", ""))
    ada = world.person("ada")
    root = ada.group("root")
    group = ada.group("below", parent=root)
    ada.device(group, network="chirpstack", originalId=EUI, name="buoy")
    with Receiver() as receiver:
        sending = ada.connector(group, receiver.url, name="lake")
        from_above = ada.connector(root, receiver.url, params={"subgroups": True})
        reasons = {
            ada.connector(group, receiver.url, messageFilter="false"): "filter_false",
            ada.connector(
                group, receiver.url, messageFilter="message.deviceName > 1.0"
            ): "filter_failed",
            ada.connector(group, receiver.url, deviceTypes=["tracker"]): "device_type",
            ada.connector(group, receiver.url, enabled=False): "disabled",
        }
        request_id = network(ada, group, up())
        record = newest(ada, group, kinds="data")
        reasons[ada.connector(group, receiver.url)] = "created_later"
        eventually(lambda: len(receiver.requests) >= 2)
        eventually(lambda: _settled(trace(ada, recordId=record["id"]), sending))
        found = trace(ada, recordId=record["id"])
    assert found["arrival"] == record
    reception = found["reception"]
    assert json.loads(reception["body"]) == up()
    assert (reception["requestId"], reception["query"]) == (request_id, "event=up")
    assert reception["receivedAt"] <= record["arrivedAt"]
    assert found["decoding"] == {"decoder": "cayenneLpp", "names": ["temperature_1"]}
    by_id = {each["connectorId"]: each for each in found["connectors"]}
    assert by_id.keys() == {sending, from_above, *reasons}
    message = by_id[sending]["message"]
    assert [each["outcome"] for each in message["attempts"]] == ["delivered"]
    assert {key: by_id[key]["notTaken"] for key in reasons} == reasons
    assert all(by_id[key]["asOf"] == "now" for key in reasons)
    # A receiver's log leads to the same.
    assert trace(ada, messageId=message["event"]["id"])["arrival"] == record
    both = {"recordId": record["id"], "messageId": message["event"]["id"], "groupId": group}
    assert trace(ada, **both)["arrival"] == record

    # Somebody below sees no connector from above, and who may not read connectors sees none.
    below, reader, eve = world.person("bob"), world.person("rea"), world.person("eve")
    ada.invite(below, group, "viewer")
    ada.invite(reader, group, ada.role("record.read"))
    partial = trace(below, recordId=record["id"])
    assert {each["connectorId"] for each in partial["connectors"]} == {sending, *reasons}
    # What reached others is counted.
    assert "hiddenConnectors" not in found
    assert partial["hiddenConnectors"] == 1
    nothing = trace(reader, recordId=record["id"])
    assert (nothing["connectors"], nothing["hiddenConnectors"]) == ([], 2)
    eve.group()
    hidden = refused(eve.get("/record/trace", recordId=record["id"]), 404)
    unknown = refused(eve.get("/record/trace", recordId="rec_1"), 404)
    assert hidden["errors"] == unknown["errors"]
    hidden = refused(eve.get("/record/trace", messageId=message["event"]["id"]), 404)
    unknown = refused(eve.get("/record/trace", messageId="msg_1_1"), 404)
    assert hidden["errors"] == unknown["errors"]
    refused(ada.get("/record/trace"), 400, "recordId")
    refused(ada.get("/record/trace", recordId="garbage"), 404, "recordId")


def _settled(found: dict[str, Any], connector: str) -> bool:
    states = {
        each["connectorId"]: each["message"]["state"]
        for each in found["connectors"]
        if "message" in each
    }
    return states.get(connector) == "succeeded"


def test_a_notification_leads_back_to_its_record(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        notification = ada.notification(group, receiver.url, reason="opened")
        ada.reports(device, "event", type="opened")
        record = newest(ada, group)
        receiver.wait_for(1)
        eventually(
            lambda: (
                [
                    each["state"]
                    for found in trace(ada, recordId=record["id"])["notifications"]
                    for each in found["deliveries"]
                ]
                == ["succeeded"]
            )
        )
    found = trace(ada, recordId=record["id"])
    assert "reception" not in found  # the body was the record itself
    assert record["source"] == "api"
    (traced,) = found["notifications"]
    assert traced["notificationId"] == notification
    (delivery,) = traced["deliveries"]
    assert [each["status"] for each in delivery["attempts"]] == [200]
    assert trace(ada, messageId=delivery["id"])["arrival"] == record
    reader = world.person("rea")
    ada.invite(reader, group, ada.role("record.read"))
    assert trace(reader, recordId=record["id"])["notifications"] == []


def test_receptions_are_sealed_bounded_and_deleted_in_time(world: World) -> None:
    ada = world.person("ada")
    small, large = ada.group("small"), ada.group("large")
    ada.device(large, network="chirpstack", originalId=EUI)
    ada.device(small, network="chirpstack", originalId=EUI[::-1])
    mine = up(deviceInfo={"devEui": EUI[::-1]})
    network(ada, small, mine, **{"%74oken": "no"})
    for number in range(6):
        network(ada, large, up(number, object={"canary": "secret"}))
    network(ada, large, up(9, object={"text": "x" * 1_000}))
    too_large = trace(ada, recordId=newest(ada, large, kinds="data")["id"])
    assert "body" not in too_large["reception"]
    assert too_large["reception"]["size"] > 1_000
    rows = world.everything()
    assert len(rows["reception"]) == 8
    assert b"secret" not in b"".join(bytes(row[-1]) for row in rows["reception"])
    token = ok(ada.get("/group", groupId=small))[0]["token"]
    kept = trace(ada, recordId=newest(ada, small, kinds="data")["id"])["reception"]
    assert json.loads(kept["body"]) == mine
    assert token not in json.dumps(kept)

    def clean(hours: int, size: int) -> None:
        work = maintenance.delete_old_receptions(world.database, TraceRetention(hours, size))
        asyncio.run_coroutine_threadsafe(work, world._loop).result(60)

    def sizes() -> dict[str, int]:
        found = {small: 0, large: 0}
        for group, _, size in world.list_rows("reception_size"):
            found[str(group)] += size
        return found

    before = sizes()
    clean(72, GIB)
    assert sizes() == before
    # The largest group loses its oldest first, and the other nothing.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(receptions, "PRUNE_ROWS_MAX", 1)
        clean(72, sum(before.values()) - 1)
    after = sizes()
    assert after[small] == before[small]
    assert 0 < after[large] < before[large]
    oldest = ok(ada.get("/group/records", groupId=large, kinds="data", ascending="true"))["items"]
    assert "reception" not in trace(ada, recordId=oldest[0]["id"])
    assert "reception" in trace(ada, recordId=oldest[-1]["id"])
    world.clock.let_pass(days=3.1)
    clean(72, GIB)
    assert world.list_rows("reception") == []
    assert sizes() == {small: 0, large: 0}
    assert "reception" not in trace(ada, recordId=oldest[-1]["id"])


def test_large_receptions_are_deleted_a_few_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    ada.device(group, network="chirpstack", originalId=EUI)

    def receive(*numbers: int) -> None:
        for number in numbers:
            network(ada, group, up(number))

    def count() -> int:
        return len(world.list_rows("reception"))

    def prune(tx: Tx) -> int | None:
        return receptions.prune(tx, after_group=0, before=tx.now + HOUR)

    receive(*range(10, 15))
    size = max(len(row[-1]) for row in world.list_rows("reception"))
    monkeypatch.setattr(receptions, "PRUNE_BYTES_MAX", 2 * size)
    for left in (3, 1):
        assert world.write(prune) == 0, "there is more of this group"
        assert count() == left
    assert world.write(prune) == int(group)
    receive(20, 21, 22)
    world.write(lambda tx: receptions.prune_excess(tx, 1))
    assert count() == 1
    monkeypatch.setattr(receptions, "PRUNE_BYTES_MAX", 1)
    receive(30, 31)

    def delete(tx: Tx) -> int:
        return receptions.delete_some_of_group(tx, int(group))

    assert [world.write(delete) for _ in range(4)] == [1, 1, 1, 0]
    assert count() == 0


@pytest.mark.engine_free
def test_the_operator_says_how_long_receptions_are_kept(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "CLEANUP_INTERVAL_S", 0.05)
    world = make_world(trace_keep_hours=2, token_lifetime_s=10**8)
    ada = world.person("ada")
    group = ada.group()
    ada.device(group, network="chirpstack", originalId=EUI)
    network(ada, group, up())
    assert "body" in trace(ada, recordId=newest(ada, group, kinds="data")["id"])["reception"]
    world.clock.let_pass(seconds=3 * 3_600)
    eventually(lambda: world.list_rows("reception") == [])


@pytest.mark.engine_free
def test_the_operator_says_how_large_all_receptions_may_be(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "CLEANUP_INTERVAL_S", 0.05)
    world = make_world(trace_bytes_max=1)
    ada = world.person("ada")
    group = ada.group()
    ada.device(group, network="chirpstack", originalId=EUI)
    network(ada, group, up())
    eventually(lambda: world.list_rows("reception") == [])
    assert "reception" not in trace(ada, recordId=newest(ada, group, kinds="data")["id"])


@pytest.mark.engine_free
def test_without_hours_no_reception_is_kept(make_world: Callable[..., World]) -> None:
    world = make_world(trace_keep_hours=0)
    ada = world.person("ada")
    group = ada.group()
    ada.device(group, network="chirpstack", originalId=EUI)
    network(ada, group, up())
    assert world.list_rows("reception") == []
    assert "reception" not in trace(ada, recordId=newest(ada, group, kinds="data")["id"])
