"""Another secret key for the same database: nothing stops working, whenever it is interrupted."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from longwire.api.identity import clients
from longwire.cli import keys as rotation
from longwire.delivery import channels
from longwire.delivery.mail import invitations
from longwire.fleet import downlink_links, registrations
from longwire.identity import groups, passwords, totp, users
from longwire.model import ChannelPurpose
from longwire.process import startup
from longwire.process.startup import StartupError
from longwire.seal import Keyring, new_key
from longwire.store import resealing, schema
from longwire.store.database import Tx
from longwire.store.delivery import exchanges
from longwire.store.fleet import unknown_devices
from longwire.store.jobs import job_results
from longwire.store.pacing import write_and_pause
from longwire.store.records import receptions
from longwire.store.records.arrival_numbers import first_seq
from longwire.store.reports import reports
from tests.process import longwire
from tests.world import Person, World, ok


class Company:
    """Somebody with every kind of secret that an operation creates."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ada = world.person("ada")
        self.group = self.ada.group()
        self.device = self.ada.device(self.group)
        self.client = self.ada.app_client(self.group)
        self.connector = self.ada.connector(
            self.group, "https://example.com", params={"bearer": "hunter2"}
        )
        ok(self.ada.put("/user/vendorToken", {"token": "her phone"}))
        self.shown = self.look()

    def look(self) -> dict[str, Any]:
        """What the service shows of its secrets; it needs all of the keys."""
        ada = Person(
            self.world,
            self.world.token(self.ada.client_id, self.ada.client_secret),
            self.ada.id,
            (self.ada.client_id, self.ada.client_secret),
        )
        assert self.world.token(self.client.client_id, self.client.client_secret)
        connector = ok(ada.get("/connector", connectorId=self.connector, groupId=self.group))
        rename = {"groupId": self.group, "name": "app", "newName": "app"}
        return {
            "group": ok(ada.get("/group", groupId=self.group))[0]["token"],
            "me": ok(ada.get("/user/me"))["devices"],
            "params": connector["params"],
            "client": ok(ada.put("/appClient", rename))["secret"],
        }


def write_keys(world: World, *keys: bytes) -> None:
    (world.settings.data / "secret.key").write_text("\n".join(key.hex() for key in keys))


def find_sealed_by_others(world: World, key: bytes) -> list[str]:
    """The columns with a value that this key alone does not open."""
    keyring = Keyring(key)

    def work(tx: Tx) -> list[str]:
        found = []
        for column in resealing.iterate_columns(resealing.list_mail_queues(tx)):
            for _, value, purpose in resealing.list_values(tx, column):
                if not keyring.is_current(value, purpose):
                    found.append(column.name)
        return found

    return world.read(work)


def command(world: World, *flags: str) -> Any:
    where = ("--data", str(world.settings.data), "--database", world.settings.database)
    return longwire("rotate-key", *flags, *where, "--json", cwd=world.settings.data)


@pytest.mark.engine_free
@pytest.mark.slow
def test_a_key_is_rotated_while_the_service_works_and_the_old_one_is_forgotten(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    company = Company(world)
    old = bytes.fromhex((world.settings.data / "secret.key").read_text())
    added = command(world, "--add")
    assert added.returncode == 0, added
    new = bytes.fromhex((world.settings.data / "secret.key").read_text().split()[0])
    assert json.loads(added.stdout)["keyFingerprint"] == Keyring(new).fingerprint
    assert new.hex() not in added.stdout + added.stderr
    world.restart()
    assert company.look() == company.shown
    assert "older key is still needed" in command(world, "--drop-old").stderr

    # Interrupted after some columns: both keys are needed, and with both everything works.
    for column in resealing.SEALED[:2]:
        assert world._run(rotation._reseal_column(world.database, column)) > 0
    assert company.look() == company.shown
    write_keys(world, new)
    world.stop()
    with pytest.raises(StartupError, match="another secret key"):
        world.start()
    world.database.close()
    write_keys(world, new, old)
    world.start()
    assert company.look() == company.shown

    monkeypatch.setattr(resealing, "ROWS_PER_STEP", 1)
    done = command(world)
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["resealed"] > 0
    assert find_sealed_by_others(world, new) == []
    assert json.loads(command(world).stdout)["resealed"] == 0, "again, without harm"
    # A process that was forgotten seals with the old key: without that, this would be lost.
    forgotten = Keyring(old).seal("her phone", f"push_token|{company.ada.id}")
    world.write(lambda tx: tx.execute(sa.update(schema.push_token).values(sealed_token=forgotten)))
    assert "Some process has sealed" in command(world, "--drop-old").stderr
    assert command(world, "--drop-old").returncode == 0
    assert (world.settings.data / "secret.key").read_text() == f"{new.hex()}\n"
    world.restart()
    assert company.look() == company.shown
    assert set(find_sealed_by_others(world, old)) >= {
        "device_group.sealed_token",
        "app_client.sealed_secret",
        "channel.sealed_params",
        "push_token.sealed_token",
    }


def test_steps_of_one_row_reach_every_row(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = world.person("ada")
    for number in range(5):
        ada.app_client(ada.group(f"group {number}"))
    world.stop()
    old = bytes.fromhex((world.settings.data / "secret.key").read_text())
    new = new_key()
    write_keys(world, new, old)
    world.start()
    monkeypatch.setattr(resealing, "ROWS_PER_STEP", 2)
    assert world._run(rotation.reseal_all(world.database)) >= 10
    assert find_sealed_by_others(world, new) == []


def test_large_values_are_sealed_again_a_few_at_a_time_with_pauses(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = int(world.person("ada").group())
    body = b"x" * 1_000

    def receive(tx: Tx) -> None:
        message = receptions.Reception(tx.now, "", "", "", body, len(body))
        for seq in range(first_seq(tx.now), first_seq(tx.now) + 5):
            receptions.insert(tx, 1, {group: [(seq, seq, message)]})

    world.write(receive)
    world.stop()
    old = bytes.fromhex((world.settings.data / "secret.key").read_text())
    new = new_key()
    write_keys(world, new, old)
    world.start()
    monkeypatch.setattr(resealing, "BYTES_PER_STEP", 2 * (len(body) + 200))
    resealed: list[int] = []

    async def recording(*args: Any) -> resealing.ResealingStep:
        step: resealing.ResealingStep = await write_and_pause(*args)
        resealed.append(step.resealed)
        return step

    monkeypatch.setattr(rotation, "write_and_pause", recording)
    [column] = (each for each in resealing.SEALED if each.name == "reception.sealed")
    assert world._run(rotation._reseal_column(world.database, column)) == 5
    assert resealed == [2, 2, 1]
    world._run(rotation.reseal_all(world.database))
    assert find_sealed_by_others(world, new) == []


def test_a_value_that_no_key_opens_stops_the_rotation(world: World) -> None:
    world.person("ada").group()
    columns = schema.group.c
    world.write(lambda tx: tx.execute(sa.update(schema.group).values(sealed_token="A" * 60)))
    with pytest.raises(rotation.RotationError, match=columns.sealed_token.name):
        world._run(rotation.reseal_all(world.database))


def test_every_sealed_column_is_resealed_for_the_purpose_that_its_owner_seals_it_for() -> None:
    assert {each.name for each in resealing.SEALED} == {
        f"{table.name}.{column.name}"
        for table in schema.metadata.tables.values()
        for column in table.columns
        if column.name.startswith("sealed")
        or f"{table.name}.{column.name}" in ("job_chunk.content", "report_chunk.content")
    }
    given = {
        "t.id": "x",
        "t.user_id": "x",
        "d.id": "x",
        "t.job_id": "x",
        "t.number": 9,
        "t.run_id": "x",
    }
    given |= {"t.group_id": 7, "t.first_seq": 8, "t.network": "n", "t.original_key": "k"}
    given |= {"t.purpose": ChannelPurpose.CONNECTOR, "t.channel_number": 6}
    channel: Any = SimpleNamespace(purpose=ChannelPurpose.CONNECTOR, id="x")
    assert [each.purpose(*(given[name] for name in each.named)) for each in resealing.SEALED] == [
        groups._seal_purpose("x"),
        clients.seal_purpose("x"),
        passwords._seal_purpose("x"),
        totp._seal_purpose("x"),
        users.seal_purpose("x"),
        channels._seal_purpose(channel),
        registrations._pac_purpose("x"),
        downlink_links._key_purpose("x"),
        receptions._purpose(7, 8),
        unknown_devices.get_purpose(7, "n", "k"),
        exchanges.get_purpose(6, "x"),
        job_results.FILES._purpose("x", 9),
        reports.FILES._purpose("x", 9),
    ]
    assert resealing._mail_queue(1).purpose() == invitations.SEAL_PURPOSE


@pytest.mark.slow
def test_a_service_that_does_not_know_the_new_key_is_not_locked_out(tmp_path: Path) -> None:
    """`rotate-key` refuses while a service runs that was started before the key was added."""
    data = tmp_path / "data"
    assert longwire("migrate", "--data", str(data), cwd=tmp_path).returncode == 0
    import fcntl  # noqa: PLC0415 (stands for the service)

    with (data / "serve.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert longwire("rotate-key", "--add", "--data", str(data), cwd=tmp_path).returncode == 0
        refused = longwire("rotate-key", "--data", str(data), cwd=tmp_path)
        assert refused.returncode == 2 and "restart it" in refused.stderr
    assert longwire("rotate-key", "--data", str(data), cwd=tmp_path).returncode == 0


def test_no_key_is_lost_when_keys_are_added_and_dropped_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = world.settings
    [old] = startup.load_keys(settings)[0]
    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda _: rotation._add_key(settings), range(8)))
    keys, _ = startup.load_keys(settings)
    assert len(set(added)) == 8
    assert set(Keyring(*keys).fingerprints) == {*added, Keyring(old).fingerprint}

    # Whoever drops the older keys has checked the newest one, not one that was added since.
    write_keys(world, old)

    async def add_meanwhile(database: object) -> None:
        rotation._add_key(settings)

    monkeypatch.setattr(rotation, "_require_unneeded", add_meanwhile)
    with pytest.raises(rotation.RotationError, match="meanwhile"):
        rotation._drop_old_keys(settings, world.database)
    assert startup.load_keys(settings)[0][1:] == [old]


def test_several_keys_open_and_the_newest_seals() -> None:
    old, new = new_key(), new_key()
    before, both = Keyring(old), Keyring(new, old)
    sealed, blob = before.seal("text", "p"), before.seal_bytes(b"bytes", "p")
    assert both.unseal(sealed, "p") == "text" and both.unseal_bytes(blob, "p") == b"bytes"
    assert not both.is_current(sealed, "p") and not both.is_current(blob, "p")
    assert both.is_current(both.seal("text", "p"), "p")
    both.use_digest_key_of(before.fingerprint)
    assert both.digest("secret") == before.digest("secret")
    alone = Keyring(new)
    alone.use_digest_key(both.seal_digest_key())
    assert alone.digest("secret") == before.digest("secret")
