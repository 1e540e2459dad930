"""Machines on a network of their own: network namespaces, whose links can be cut.

A machine has two links: to the servers of the database, and to the clients and receivers, which are
on this machine.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

import pytest

from tests.system_user import SYSTEM_USER

# Of this process among those that may run at the same time.
NUMBER = os.getpid() % 250 + 1


def run_ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@cache
def why_not() -> str | None:
    """Why there can be no namespaces here."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not all(map(shutil.which, ("ip", "nsenter"))):
        return "ip or nsenter is not installed"
    probe = f"lwprobe{NUMBER}"
    try:
        run_ip("netns", "add", probe)
        run_ip("-n", probe, "link", "add", "name", "probe", "type", "bridge")
    except subprocess.CalledProcessError as error:
        return f"no network namespaces: {error.stderr.decode().strip()}"
    finally:
        subprocess.run(["ip", "netns", "del", probe], check=False, capture_output=True)
    return None


@dataclass(frozen=True, slots=True)
class Machine:
    namespace: str
    link: str  # to the servers, at this end
    data_host: str
    front_host: str

    @property
    def under(self) -> tuple[str, ...]:
        """What runs a command there."""
        return "nsenter", f"--net=/run/netns/{self.namespace}", "--"

    @property
    def under_server_user(self) -> tuple[str, ...]:
        """The same as the user that servers run as."""
        user = f"--reuid={SYSTEM_USER}", f"--regid={SYSTEM_USER}", "--init-groups"
        return *self.under, "setpriv", *user


class Network:
    """A bridge of servers and nodes, and one of nodes and clients."""

    def __init__(self) -> None:
        if reason := why_not():
            pytest.skip(reason)
        self._machines: list[Machine] = []
        self._bridges = f"lwdata{NUMBER}", f"lwfront{NUMBER}"
        self._subnets = f"10.213.{NUMBER}", f"10.214.{NUMBER}"
        for bridge, subnet in zip(self._bridges, self._subnets, strict=True):
            run_ip("link", "add", "name", bridge, "type", "bridge")
            run_ip("addr", "add", f"{subnet}.254/24", "dev", bridge)
            run_ip("link", "set", bridge, "up")

    @property
    def clients_host(self) -> str:
        """Where nodes reach the receivers."""
        return f"{self._subnets[1]}.254"

    def add_machine(self) -> Machine:
        number = len(self._machines) + 1
        namespace = f"lw{NUMBER}-{number}"
        links = f"lwd{NUMBER}-{number}", f"lwf{NUMBER}-{number}"
        hosts = [f"{subnet}.{number}" for subnet in self._subnets]
        run_ip("netns", "add", namespace)
        self._machines.append(Machine(namespace, links[0], *hosts))
        run_ip("-n", namespace, "link", "set", "lo", "up")
        for end, link, bridge, host in zip(
            ("data", "front"), links, self._bridges, hosts, strict=True
        ):
            peer = ("peer", "name", end, "netns", namespace)
            run_ip("link", "add", link, "type", "veth", *peer)
            run_ip("link", "set", link, "master", bridge, "up")
            run_ip("-n", namespace, "addr", "add", f"{host}/24", "dev", end)
            run_ip("-n", namespace, "link", "set", end, "up")
        return self._machines[-1]

    def cut(self, machine: Machine) -> None:
        """Nothing arrives on the other side any more, and nobody learns of it."""
        run_ip("link", "set", machine.link, "nomaster")

    def heal(self, machine: Machine) -> None:
        run_ip("link", "set", machine.link, "master", self._bridges[0])

    def end(self) -> None:
        for machine in self._machines:
            run_ip("netns", "del", machine.namespace)
        for bridge in self._bridges:
            run_ip("link", "del", bridge)
