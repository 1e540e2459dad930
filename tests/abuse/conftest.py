"""Fixtures: a service, somebody honest and somebody who is not."""

import shutil
from collections.abc import Iterator

import pytest

from longwire.clock import Clock
from longwire.identity import tokens
from longwire.model import SYSTEM
from longwire.process.startup import build_database, prepare
from longwire.settings import Settings
from longwire.store.database import Tx
from tests.abuse.victim import BRIEF, MINUTE, Account, AttackLength, Scene, SharedService
from tests.conftest import PostgresServer
from tests.process import Service

# Every attack gets an account of its own.
ATTACKERS_MAX = 40


@pytest.fixture(scope="module")
def service_flags() -> tuple[str, ...]:
    """Further flags of the service; a file with attacks that need some has a fixture of its own."""
    return ()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def attacked_settings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """Settings with a prepared database."""
    data = tmp_path_factory.mktemp("abuse") / "data"
    if request.param == "sqlite":
        shutil.copytree(request.getfixturevalue("sqlite_template"), data)
        yield Settings(data=data)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    template, template_name = request.getfixturevalue("postgres_template")
    shutil.copytree(template, data)
    name = server.create(template_name)
    yield Settings(data=data, database=server.url(name))
    server.drop(name)


@pytest.fixture(scope="module")
def shared_service(
    attacked_settings: Settings, service_flags: tuple[str, ...]
) -> Iterator[SharedService]:
    """One service for the attacks of a file."""
    accounts = create_accounts(attacked_settings)
    flags = ["--egress-allow", "127.0.0.0/8,::1/128", "--log-level", "error", *service_flags]
    if attacked_settings.database:
        flags += ["--database", attacked_settings.database]
    process = Service(attacked_settings.data, *flags)
    try:
        yield SharedService(process.started(), accounts)
    finally:
        process.clean_up()


def create_accounts(settings: Settings) -> dict[str, Account]:
    """Accounts of victims and attackers, by name."""
    database, save_key = build_database(settings, Clock())
    prepare(database, settings, save_key)

    def work(tx: Tx) -> dict[str, Account]:
        accounts: dict[str, Account] = {}
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
def scene(shared_service: SharedService, length: AttackLength) -> Scene:
    """Somebody honest, and an attacker with an ordinary account."""
    number = next(shared_service.attackers)
    mallory = shared_service.person(f"mallory{number}")
    return Scene(shared_service, f"victim{number}", mallory, length)
