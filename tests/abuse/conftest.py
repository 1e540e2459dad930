"""Fixtures: a service, somebody honest and somebody who is not."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from longwire.clock import Clock
from longwire.identity import tokens
from longwire.model import SYSTEM
from longwire.settings import Settings
from longwire.startup import build_database, prepare
from longwire.store.database import Tx
from tests.abuse.victim import BRIEF, MINUTE, AttackLength, Scene, SharedService, Victim
from tests.delivery.receiver import Receiver
from tests.process import Service

# Every attack gets an account of its own.
ATTACKERS_MAX = 40


@pytest.fixture(scope="module")
def service_flags() -> tuple[str, ...]:
    """Further flags of the service; a file with attacks that need some has a fixture of its own."""
    return ()


@pytest.fixture(scope="module")
def shared_service(
    sqlite_template: Path,
    tmp_path_factory: pytest.TempPathFactory,
    service_flags: tuple[str, ...],
) -> Iterator[SharedService]:
    """One service for the attacks of a file."""
    data = tmp_path_factory.mktemp("abuse") / "data"
    shutil.copytree(sqlite_template, data)
    accounts = _create_accounts(data)
    flags = ("--egress-allow", "127.0.0.0/8,::1/128", "--log-level", "error", *service_flags)
    process = Service(data, *flags)
    try:
        yield SharedService(process.started(), accounts)
    finally:
        process.clean_up()


def _create_accounts(data: Path) -> dict[str, tuple[str, str, str]]:
    settings = Settings(data=data)
    database, save_key = build_database(settings, Clock())
    prepare(database, settings, save_key)

    def work(tx: Tx) -> dict[str, tuple[str, str, str]]:
        accounts: dict[str, tuple[str, str, str]] = {}
        for number in range(ATTACKERS_MAX):
            for name in (f"victim{number}", f"mallory{number}"):
                created = tokens.issue_credential(tx, SYSTEM, f"{name}@example.com")
                credential = created.credential
                accounts[name] = (credential.user_id, credential.client_id, created.secret)
        return accounts

    try:
        return database.upgrade(work)
    finally:
        database.close()


@pytest.fixture(
    params=[
        pytest.param(BRIEF, id="brief"),
        pytest.param(MINUTE, id="minute", marks=pytest.mark.soak),
    ]
)
def length(request: pytest.FixtureRequest) -> AttackLength:
    chosen: AttackLength = request.param
    return chosen


@pytest.fixture
def scene(shared_service: SharedService, length: AttackLength) -> Iterator[Scene]:
    """A victim with a receiver, and an attacker with an ordinary account."""
    number = next(shared_service.numbers)
    with Receiver() as receiver:
        victim = Victim(shared_service.person(f"victim{number}"), receiver)
        yield Scene(shared_service, victim, shared_service.person(f"mallory{number}"), length)
