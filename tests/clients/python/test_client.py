"""The Python client: nouns, pages, tokens, retries and errors."""

import asyncio
import inspect
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from longwire_client import AsyncClient, Client, IgnoredMembers, errors
from longwire_client import models as m
from longwire_client.calls import Call
from tests.clients.python.conftest import SOON, Proxy, problem
from tests.delivery.receiver import HANG_UP, StubResponse
from tests.world import Person, World

pytestmark = pytest.mark.engine_free

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def add_device(client: Client, group_id: str, original_id: str = "A1") -> m.Device:
    return client.devices.create(
        group_id, name="Cold room", type="temperature", original_id=original_id, network="mqtt"
    )


def report(client: Client, device_id: str, minute: int = 0) -> m.DeviceData:
    return client.data.store(
        device_id,
        timestamp=NOON + timedelta(minutes=minute),
        data={"celsius": minute},
        configuration={},
        raw="0a",
        device_type="temperature",
    )


def test_a_device_and_its_records(client: Client) -> None:
    group = client.groups.create("Dairy", tags=["cold"])
    assert client.groups.get(group.id) == client.groups.list().all()[0]
    device = add_device(client, group.id)
    assert (device.name, device.group_id) == ("Cold room", group.id)
    changed = client.devices.update(
        device.device_id, group_id=group.id, configuration={"lowCelsius": 3}
    )
    assert changed.configuration == '{"lowCelsius":3}'
    stored = [report(client, device.device_id, minute) for minute in range(5)]
    assert stored[0].timestamp == NOON
    assert stored[1].data == '{"celsius":1}'

    # The items of all pages, or the pages.
    listed = client.devices.data(device.device_id, page_size=2)
    assert list(listed) == stored
    assert [len(page.items) for page in listed.pages()] == [2, 2, 1]
    latest = client.devices.data(
        device.device_id, begin_date=NOON + timedelta(minutes=3), ascending=False
    )
    assert [each.data for each in latest] == ['{"celsius":4}', '{"celsius":3}']
    arrived = client.records.arrivals(group.id).first_page().items
    assert [each.record for each in arrived] == stored[::-1]
    assert client.data.delete(device.device_id, timestamp=NOON).value is True
    assert b"".join(client.records.export(device_id=device.device_id)).count(b"\n") == 4

    imported = client.devices.import_csv(
        group.id, text="originalId\nB1\nB2\n", type="generic", network="mqtt"
    )
    assert len(imported.items) == 2
    found = client.devices.list(group.id, q="B")
    assert found.first_page().total == 2
    assert client.devices.delete(device.device_id, group_id=group.id).device_id == device.device_id


def test_the_same_with_asyncio(world: World, ada: Person) -> None:
    async def story() -> None:
        credentials = {"client_id": ada.client_id, "client_secret": ada.client_secret}
        async with AsyncClient(world.url, **credentials) as client:
            group = await client.groups.create("Dairy")
            made = await client.devices.create_many(
                group.id, original_ids=["A1", "A2", "A3"], type="generic", network="mqtt"
            )
            assert len(made.items) == 3
            names = [each.name async for each in client.devices.list(group.id, page_size=2)]
            assert names == ["A1", "A2", "A3"]
            tasks = [client.groups.get(group.id) for _ in range(5)]
            assert {each.name for each in await asyncio.gather(*tasks)} == {"Dairy"}
            lines = [chunk async for chunk in client.devices.export(group.id)]
            assert b"".join(lines).count(b"\n") == 3
            with pytest.raises(errors.NotFound):
                await client.devices.get("dev_unknown")

    asyncio.run(story())


def test_errors_say_what_is_wrong(client: Client) -> None:
    with pytest.raises(errors.BadInput) as invalid:
        client.connectors.create("1", params={"url": "nowhere"}, type="http", name="")
    assert {each.field for each in invalid.value.faults} >= {"name"}
    assert invalid.value.request_id and invalid.value.code == "bad_input"
    assert not invalid.value.is_temporary and not invalid.value.may_have_happened
    group = client.groups.create("Dairy")
    client.groups.update(group.id, name="Farm")
    with pytest.raises(errors.ChangedMeanwhile):
        client.groups.update(group.id, name="Shop", if_updated_at=group.updated_at)
    with pytest.raises(ValueError, match="time zone"):
        client.devices.data("dev_1", begin_date=datetime(2026, 3, 1)).all()  # noqa: DTZ001


@pytest.mark.slow
def test_a_client_may_be_shared_by_threads(client: Client) -> None:
    group = client.groups.create("Dairy")
    device = add_device(client, group.id)
    with ThreadPoolExecutor(32) as pool:
        stored = list(pool.map(partial(report, client, device.device_id), range(200)))
    assert len({each.timestamp for each in stored}) == 200
    assert len(client.devices.data(device.device_id).all()) == 200


# --- tokens ---


def test_a_token_that_has_expired_is_renewed(world: World, client: Client, proxy: Proxy) -> None:
    client.groups.create("before")
    world.clock.let_pass(seconds=3_700)
    client.groups.create("after")
    assert {each.name for each in client.groups.list()} == {"before", "after"}


def test_a_token_may_come_from_elsewhere(
    world: World, ada: Person, connect: Callable[..., Client]
) -> None:
    fixed = connect(token=ada.token)
    tokens = [ada.token, world.token(ada.client_id, ada.client_secret)]
    following = connect(token=lambda: tokens[0])
    for client in (fixed, following):
        assert client.users.me().id == ada.id
    world.clock.let_pass(seconds=3_700)
    tokens[0] = world.token(ada.client_id, ada.client_secret)
    assert following.users.me().id == ada.id
    with pytest.raises(errors.NotAuthenticated):
        fixed.users.me()


def test_the_token_of_a_group_is_for_its_networks(
    client: Client, connect: Callable[..., Client]
) -> None:
    group = client.groups.create("Dairy")
    device = client.devices.create(
        group.id, name="Node", type="generic", original_id="1A2B", network="vendor"
    )
    network = connect(token=client.groups.get(group.id).token)
    network.networks.vendor_data({"device": "1A2B", "time": 1_772_366_400, "data": "00"})
    assert [each.raw for each in client.devices.data(device.device_id)] == ["00"]
    with pytest.raises(errors.NotAuthenticated):
        network.groups.list().first_page()


def test_wrong_credentials_are_refused_once(proxy: Proxy, ada: Person) -> None:
    options = {"client_id": ada.client_id, "client_secret": "no", "retries": SOON}
    with Client(proxy.base, **options) as client, pytest.raises(errors.NotAuthenticated) as refused:
        client.groups.list().first_page()
    assert refused.value.code == "invalid_client"
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("url", ["localhost:8080", "127.0.0.1:8080", "ftp://example.com", ""])
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="begins with http"):
        Client(url, token="x")
    with pytest.raises(ValueError, match="begins with http"):
        Client("http://localhost:8080", token="x", auth_url=url or "x")


# --- retries ---


def test_what_was_not_carried_out_is_sent_again(
    connect: Callable[..., Client], proxy: Proxy
) -> None:
    client = connect(proxy.base)
    proxy.respond_with(
        proxy.forward,  # the token
        problem(503, "unavailable", **{"Retry-After": "0"}),
        problem(429, "too_many_requests", **{"Retry-After": "0.01"}),
        proxy.forward,
    )
    group = client.groups.create("Dairy")
    assert [each.id for each in client.groups.list()] == [group.id]
    assert len(proxy.paths("POST /group")) == 3
    # Whoever is asked to wait for long gets to know.
    for until in ("3600", "Fri, 31 Dec 9999 23:59:59 GMT"):
        proxy.respond_with(problem(429, "too_many_requests", **{"Retry-After": until}))
        with pytest.raises(errors.TooManyRequests) as limited:
            client.groups.create("Farm")
        assert (limited.value.retry_after_s or 0) >= 3_600


@pytest.mark.parametrize("way", ["lost", "unknown", "proxy"])
def test_what_may_have_been_carried_out_is_repeated_only_if_that_is_harmless(
    connect: Callable[..., Client], proxy: Proxy, way: str
) -> None:
    client = connect(proxy.base)
    device = add_device(client, client.groups.create("Dairy").id)

    def fail(request: Any) -> StubResponse:
        proxy.forward(request)
        answers = {"lost": HANG_UP, "proxy": StubResponse(502, {}, b"<html>Bad gateway</html>")}
        return answers.get(way) or problem(503, "outcome_unknown")

    proxy.respond_with(fail, proxy.forward)
    report(client, device.device_id)
    assert len(client.devices.data(device.device_id).all()) == 1  # stored twice, kept once
    assert len(proxy.paths("POST /device/data")) == 2

    proxy.respond_with(fail, proxy.forward)
    with pytest.raises(errors.LongwireError) as unknown:
        client.groups.create("Farm")
    assert unknown.value.may_have_happened and unknown.value.is_temporary
    assert sorted(each.name or "" for each in client.groups.list()) == ["Dairy", "Farm"]


def test_a_service_that_is_away_is_waited_for(
    connect: Callable[..., Client], proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect(proxy.base)
    client.groups.create("Dairy")
    proxy.down()
    delays: list[float] = []

    def sleep(delay_s: float) -> None:
        delays.append(delay_s)
        if len(delays) == 3:
            proxy.up()

    monkeypatch.setattr("longwire_client._sync.transport.sleep", sleep)
    client.groups.create("Farm")
    assert len(delays) == 3
    monkeypatch.setattr("longwire_client._sync.transport.sleep", delays.append)
    proxy.down()
    with pytest.raises(errors.ConnectionFailed):
        client.groups.create("Shop")
    assert len(delays) == 3 + SOON.attempts - 1


# --- every response can be read ---


@pytest.mark.slow
def test_every_get_of_the_surface_is_understood(world: World, client: Client, ada: Person) -> None:
    group = client.groups.create("Dairy")
    device = add_device(client, group.id)
    for kind in ("data", "event", "geoloc", "telemetry"):
        ada.reports(device.device_id, kind)
    connector = client.connectors.create(
        group.id, params={"url": "http://127.0.0.1:1/"}, type="http", enabled=False
    )
    notification = client.notifications.create(
        group.id, name="alarm", params={"url": "http://127.0.0.1:1/"}, type="webhook"
    )
    job = client.jobs.start(
        "tag",
        group_id=group.id,
        device_ids=[device.device_id],
        parameters=m.JobParameters(add_tags=["a"]),
    )
    known = {
        "group_id": group.id,
        "user_id": ada.id,
        "device_id": device.device_id,
        "connector_id": connector.id,
        "notification_id": notification.id,
        "job_id": job.job.job_id if job.job else "",
        "permission": "device.read",
        "path": "/data/celsius",
        "begin_date": NOON - timedelta(days=1),
        "end_date": NOON + timedelta(days=1),
    }
    by_noun = {"device_types": "generic", "connectors": "http", "notifications": "webhook"}
    called = list[str]()
    for noun, method in methods_of(client):
        parameters = inspect.signature(method).parameters
        needed = [name for name, each in parameters.items() if each.default is each.empty]
        values = {**known, "type": by_noun.get(noun)}
        name = f"{noun}.{method.__name__}"
        if not all(each in values for each in needed) or name in NOT_HERE:
            continue
        arguments = {each: values[each] for each in needed}
        if name == "records.series":
            arguments |= {"device_id": [device.device_id], "path": known["path"]}
        if name == "records.export":
            arguments["device_id"] = device.device_id
        if name == "records.trace":
            arguments["record_id"] = client.records.arrivals(group.id).first_page().items[0].id
        result = method(**arguments)
        assert result is not None
        if hasattr(result, "__iter__"):
            list(itertools.islice(result, 3))
        called.append(name)
    assert len(called) > 50, called


# Their objects are not in this world, or they take the secret of a link.
NOT_HERE = {"jobs.result", "reports.download", "reports.link"}
NOT_HERE |= {f"shares.{name}" for name in ("devices", "positions", "series", "view")}


def methods_of(client: Client) -> list[tuple[str, Callable[..., Any]]]:
    """The methods of all nouns that only read."""
    found = []
    for noun, value in vars(client).items():
        for name, method in inspect.getmembers(value, inspect.ismethod):
            operation = (method.__doc__ or "").strip().rpartition("\n\n")[2].lstrip()
            if not name.startswith("_") and operation.startswith("`GET /"):
                found.append((noun, method))
    return found


def test_what_the_service_has_ignored_is_a_warning() -> None:
    call = Call("POST", "/group", dict)
    with pytest.warns(IgnoredMembers, match="POST /group: the service ignored colour"):
        assert call.parse(200, {"longwire-ignored": "colour"}, b"{}") == {}
