"""One tenant who changes who may do what, over and over: each change evicts cached permissions."""

import itertools
import threading

from tests.abuse.victim import Scene
from tests.world import ok


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
