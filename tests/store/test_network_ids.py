"""The step that writes networks and original ids of stored devices as they are looked for."""

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

from longwire.store.database import Tx
from longwire.store.migrations.versions import v0003_network_ids
from longwire.store.statement import Statement
from tests.world import World, ok

EUI = "70b3d57ed005abcd"


def test_stored_devices_get_the_ids_that_they_are_looked_for_by(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(v0003_network_ids, "ROWS_AT_ONCE", 2)
    ada = world.person("ada")
    group = ada.group("home")
    stored = {
        # As it is stored: network and original id; and as it is afterwards.
        "label": ("chirpstack", "70-B3-D5-7E-D0-05-AB-CD", "chirpstack", EUI),
        "capital": ("ChirpStack", "70B3D57ED005ABCE", "chirpstack", "70b3d57ed005abce"),
        "stack": ("The Things Stack", f"eui-{EUI}", "ttn", EUI.upper()),
        "meter": ("ttn", "meter-7", "ttn", "meter-7"),
        "fine": ("loriot", EUI.upper(), "loriot", EUI.upper()),
        "taken": ("loriot", f"0x{EUI}", "loriot", f"0x{EUI}"),
        "twice": ("LORIOT", EUI, "LORIOT", EUI),
        "long": ("thingpark", f"{EUI}12", "thingpark", f"{EUI}12"),
        "vendor": ("Vendor", "00:1f:d4", "vendor", "001FD4"),
        "pump": ("MQTT", " pump-7", "mqtt", "pump-7"),
        "other": ("My network", "70-B3", "My network", "70-B3"),
    }
    ids = {name: ada.device(group, name=name) for name in stored}

    def as_before(tx: Tx) -> None:
        for name, (network, original_id, _, _) in stored.items():
            values = {"n": network, "o": original_id, "k": original_id.casefold()}
            tx.run(
                Statement(
                    "update device set network = :n, original_id = :o, original_key = :k"
                    " where id = :id"
                ),
                **values,
                id=ids[name],
            )

    def run_step(tx: Tx) -> None:
        with Operations.context(MigrationContext.configure(tx.connection)):
            v0003_network_ids.upgrade()

    world.write(as_before)
    world.database.upgrade(run_step)
    for name, (_, _, network, original_id) in stored.items():
        shown = ok(ada.get("/device", deviceId=ids[name]))
        assert (shown["network"], shown["originalId"]) == (network, original_id), name
    token = ok(ada.get("/group", groupId=group))[0]["token"]
    body = {"deviceInfo": {"devEui": EUI}, "fCnt": 1, "data": "AAE="}
    headers = {"Authorization": f"Bearer {token}"}
    ok(world.http.post("/network/chirpstack", json=body, headers=headers, params={"event": "up"}))
    assert len(ada.records(ids["label"])) == 1
    found = ok(ada.get("/devices", groupId=group, q="001fd4"))["items"]
    assert [each["deviceId"] for each in found] == [ids["vendor"]]
