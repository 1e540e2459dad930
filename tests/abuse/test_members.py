"""One tenant who changes who may do what, over and over: each change evicts cached permissions."""

import itertools
import threading

import pytest

from tests.abuse.victim import Scene
from tests.world import ok


@pytest.mark.engine_free
def test_invitations_and_roles_changed_in_a_loop_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    group, other = mallory.group(), mallory.group()
    roles = itertools.cycle([mallory.role("device.read"), mallory.role("record.read")])

    def invite(stop: threading.Event) -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            email = f"invited{number % 50}@example.com"
            role = next(roles)
            invited = mallory.put(
                "/group/invite", {"email": email, "groupId": group, "roleId": role}
            )
            if invited.status_code == 200:
                mallory.delete("/group/user", groupId=group, userId=ok(invited)["userId"])

    def move(stop: threading.Event) -> None:
        child = mallory.group(parent=group)
        for parent in itertools.cycle([other, group]):
            if stop.is_set():
                return
            mallory.put("/group", {"groupId": child, "parent": parent})

    scene.assert_victim_unharmed(invite, move)


def test_groups_and_app_clients_created_and_deleted_in_a_loop_slow_nobody(scene: Scene) -> None:
    mallory = scene.mallory
    home = mallory.group()

    def create_and_delete_groups(stop: threading.Event) -> None:
        group = mallory.group(parent=home)
        ok(mallory.delete("/group", groupId=group))

    def create_and_delete_clients(stop: threading.Event) -> None:
        client = mallory.app_client(home, f"app {next(names)}")
        ok(client.get("/group", groupId=home))
        ok(mallory.delete("/appClient", name=home, appClientId=client.id))
        assert client.get("/group", groupId=home).status_code == 401

    names = itertools.count()
    scene.assert_victim_unharmed(
        create_and_delete_groups, create_and_delete_clients, create_and_delete_clients
    )
