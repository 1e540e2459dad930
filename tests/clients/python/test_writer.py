"""The batching writer and its spool: nothing is lost, nothing is out of order, nothing blocks."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from longwire_client import AsyncClient, Client, Spool, errors
from longwire_client import models as m
from longwire_client.spool import SpoolError
from longwire_client.writer import NotDelivered, QueueFull, RecordInput, WriterClosed
from tests.clients.python.conftest import SOON, Proxy, problem
from tests.delivery.receiver import Received, StubResponse
from tests.waiting import eventually
from tests.world import Person, World

pytestmark = [pytest.mark.engine_free, pytest.mark.slow]

START = 1_772_366_400


def reading(device: str, number: int) -> m.DeviceDataInput:
    return m.DeviceDataInput(
        device_id=device,
        timestamp=START + number,
        data={"number": number},
        configuration="{}",
        raw="",
        device_type="generic",
    )


def numbers(person: Person, device: str) -> list[int]:
    """What is stored, in the order in which it arrived."""
    return [int(each["data"][10:-1]) for each in person.records(device)]


@pytest.fixture
def device(ada: Person) -> str:
    return ada.device(ada.group())


def test_records_go_out_in_full_batches_or_after_a_moment(
    connect: Callable[..., Client], proxy: Proxy, ada: Person, device: str
) -> None:
    with connect(proxy.base).writer(batch_records=10, linger_s=60) as writer:
        receipts = [writer.write(reading(device, number)) for number in range(25)]
        assert all(each.wait(60) for each in receipts[:20])
        assert not receipts[20].is_done  # waits for others
        writer.write(m.DeviceEventInput(device_id=device, timestamp=START, type="opened"))
        assert writer.flush()
        assert writer.status.stored == 26
    with pytest.raises(WriterClosed):
        writer.write(reading(device, 26))
    sizes = [each.body.count(b'"deviceId"') for each in proxy.requests if b"items" in each.body]
    assert sizes == [10, 10, 5, 1]
    assert numbers(ada, device) == list(range(25))
    with connect(proxy.base).writer(linger_s=0.01) as writer:
        assert writer.write(reading(device, 1)).wait(60)
        assert (writer.status.stored, writer.status.duplicates) == (0, 1)


def test_what_the_service_refuses_is_kept_with_the_fault(
    client: Client, ada: Person, world: World, device: str, tmp_path: Path
) -> None:
    foreign = world.person("eve")
    hidden = foreign.device(foreign.group("other"))
    readable = foreign.group("readable")
    foreign.invite(ada, readable, foreign.role("record.read", "device.read"))
    forbidden = foreign.device(readable)
    records: list[RecordInput] = [reading(device, number) for number in range(8)]
    records[2] = m.DeviceDataInput(**{**fields(records[2]), "timestamp": "yesterday"})
    records[4] = reading(hidden, 4)
    records[6] = reading(forbidden, 6)
    rejected = list[int]()
    spool = Spool(tmp_path / "spool.db")
    with client.writer(
        spool=spool, on_rejected=lambda each, _: rejected.append(each.seq)
    ) as writer:
        receipts = writer.write_many(records)
        assert writer.flush(60)
        status = writer.status
    assert (status.stored, status.rejected, status.waiting) == (5, 3, 0)
    assert numbers(ada, device) == [0, 1, 3, 5, 7]
    assert [each.error is None for each in receipts] == [n not in (2, 4, 6) for n in range(8)]
    invalid = receipts[2].error
    assert isinstance(invalid, errors.BadInput)
    assert [each.field for each in invalid.faults] == ["timestamp"]
    assert isinstance(receipts[4].error, errors.NotFound)
    assert isinstance(receipts[6].error, errors.NotAllowed)
    assert sorted(rejected) == [3, 5, 7]
    assert [each.code for each in spool.rejected()] == ["bad_input", "not_found", "not_allowed"]
    spool.close()

    # They are still there in the next process, and can be sent again when the cause is gone.
    spool = Spool(tmp_path / "spool.db")
    assert spool.delete_rejected(3) == 1
    assert spool.retry_rejected(7) == 1
    assert [each.seq for each in spool.rejected()] == [5]
    spool.close()


def fields(record: RecordInput) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def test_what_somebody_else_put_into_a_spool_stops_and_rejects_no_other_record(
    client: Client, ada: Person, device: str, tmp_path: Path
) -> None:
    path = tmp_path / "spool.db"
    Spool(path).close()
    good = [msgspec.json.encode(reading(device, number)) for number in range(3)]
    bodies = [("data", b"{},{}"), ("data", good[0]), ("../group", b"{}"), ("data", "text")]
    bodies += [("data", good[1]), ("data", b"[" * 100_000), ("data", good[2])]
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany("INSERT INTO waiting (kind, body) VALUES (?, ?)", bodies)
    spool = Spool(path)
    with client.writer(spool=spool, linger_s=0.01) as writer:
        assert writer.flush(60), writer.status
        assert (writer.status.stored, writer.status.rejected) == (3, 4)
    assert numbers(ada, device) == [0, 1, 2]
    found = {each.seq: each.code for each in spool.rejected()}
    assert found == {1: "damaged", 3: "damaged", 4: "damaged", 6: "bad_input"}
    spool.close()
    with pytest.raises(SpoolError):
        Spool(path / "below a file")


def test_a_gateway_that_is_offline_loses_nothing(
    connect: Callable[..., Client], proxy: Proxy, ada: Person, device: str, tmp_path: Path
) -> None:
    failures = list[errors.LongwireError]()
    client = connect(proxy.base)
    options = {"spool": tmp_path / "spool.db", "batch_records": 7, "on_failure": failures.append}
    proxy.down()
    with client.writer(**options) as writer:
        writer.write_many(reading(device, number) for number in range(20))
        eventually(lambda: len(failures) >= 2)
        assert isinstance(writer.status.failure, errors.ConnectionFailed)
        writer.close(timeout_s=0)  # nothing is raised: they are on the disk
    with pytest.raises(NotDelivered), client.writer() as hopeless:
        hopeless.write(reading(device, 99))
        hopeless.close(timeout_s=0)

    # The next process goes on. Responses get lost on the way, and services fail; no matter.
    proxy.up()
    proxy.respond_with(
        proxy.forward,  # the token
        proxy.lose,
        problem(503, "outcome_unknown"),
        StubResponse(404, {}, b"no such site"),  # of a proxy: no reason to give a record up
        problem(500, "internal"),
        proxy.forward,
    )
    with client.writer(**options) as writer:
        writer.write(reading(device, 20))
        assert writer.flush(60)
        assert writer.status.rejected == 0
    assert numbers(ada, device) == list(range(21))


KILLED = """
import sys
from longwire_client import Client
from longwire_client import models as m

url, token, spool, device = sys.argv[1:]
client = Client(url, token=token)
writer = client.writer(spool=spool)
number = 0
while True:
    writer.write(
        m.DeviceDataInput(
            device_id=device,
            timestamp=1_772_366_400 + number,
            data={"number": number},
            configuration="{}",
            raw="",
            device_type="generic",
        )
    )
    number += 1
    print(number, flush=True)
"""


@pytest.mark.parametrize("is_online", [False, True])
def test_a_process_that_is_killed_loses_nothing(
    client: Client, world: World, ada: Person, device: str, tmp_path: Path, is_online: bool
) -> None:
    spool = tmp_path / "spool.db"
    url = world.url if is_online else "http://127.0.0.1:9"
    command = [sys.executable, "-c", KILLED, url, str(ada.token), spool, device]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines: Iterator[str] = iter(process.stdout)
        written = [int(next(lines)) for _ in range(30)]
        eventually(lambda: not is_online or len(ada.records(device)) > 0)
        with pytest.raises(SpoolError):
            Spool(spool)  # one process at a time
        process.kill()
        written += [int(line) for line in lines if line.endswith("\n")]
    with client.writer(spool=spool) as writer:
        assert writer.flush(60)
    stored = numbers(ada, device)
    assert stored == list(range(len(stored)))
    assert len(stored) >= written[-1]


def test_whoever_writes_too_fast_waits(
    connect: Callable[..., Client], proxy: Proxy, device: str, tmp_path: Path
) -> None:
    proxy.down()
    client = connect(proxy.base)
    for options in (
        {"queue_records": 5},
        {"spool": Spool(tmp_path / "a.db", records_max=5)},
        {"spool": Spool(tmp_path / "b.db", bytes_max=700)},
    ):
        writer = client.writer(**options)
        with pytest.raises(QueueFull):
            for number in range(20):
                writer.write(reading(device, number), timeout_s=0)
        assert 0 < writer.status.waiting <= 5
        proxy.up()
        writer.write_many([reading(device, number) for number in range(20)], timeout_s=60)
        assert writer.flush(60)
        proxy.down()
        writer.close()


def test_a_record_that_makes_the_service_fail_does_not_stop_the_others(
    connect: Callable[..., Client], proxy: Proxy, ada: Person, device: str
) -> None:
    def fail_for_three(request: Received) -> StubResponse:
        poisoned = rb"{\"number\":3}" in request.body
        return problem(500, "internal") if poisoned else proxy.forward(request)

    proxy.respond_with(fail_for_three)
    with connect(proxy.base, retries=SOON).writer() as writer:
        receipts = writer.write_many([reading(device, number) for number in range(6)])
        assert writer.flush(60)
    assert numbers(ada, device) == [0, 1, 2, 4, 5]
    assert isinstance(receipts[3].error, errors.ServerFailed)


def test_the_same_writer_with_asyncio(
    world: World, ada: Person, device: str, tmp_path: Path
) -> None:
    async def story() -> None:
        credentials = {"client_id": ada.client_id, "client_secret": ada.client_secret}
        async with AsyncClient(world.url, **credentials) as client:
            async with client.writer(spool=tmp_path / "spool.db") as durable:
                await durable.write_many([reading(device, number) for number in range(10)])
            async with client.writer(queue_records=4, linger_s=0) as writer:
                for number in range(10, 20):
                    receipt = await writer.write(reading(device, number))
                assert await writer.wait(receipt, 60)
                assert writer.status.stored == 10

    asyncio.run(story())
    assert numbers(ada, device) == list(range(20))
