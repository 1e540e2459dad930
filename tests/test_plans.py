"""The check of query plans finds full scans."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.conftest import PostgresServer
from tests.plans import postgres_scans, sqlite_scans
from tests.world import not_on_citus


@pytest.mark.parametrize(
    "sql",
    [
        "select body from record_data where device_number = :number and ts = :since",
        "select r.seq from record_data r join device_stay s using (device_number, stay)"
        " where r.device_number = :number and r.ts = :since",
        "delete from delivery where channel_number = :number and device_id = :device_id",
    ],
)
def test_reading_all_records_of_a_device_or_all_deliveries_of_a_channel_is_detected(
    sql: str, sqlite_template: Path
) -> None:
    with closing(sqlite3.connect(sqlite_template / "longwire.db")) as connection:
        assert sqlite_scans(connection, sql)


@not_on_citus("plans are those of the extension")
@pytest.mark.slow
@pytest.mark.parametrize(
    "sql, is_scan",
    [
        ("select count(*) from delivery", True),
        ("select d.seq from delivery as d where d.device_id = :device_id", True),
        ("select seq from delivery where channel_number = :number and seq = :seq", False),
        ("select body from record_data where ts > :since", True),
        ("select body from record_data where device_number = :number and stay = 0", False),
        ("delete from arrival where device_number = :number", True),
        ("select seq from arrival where group_id = :group_id and seq > :seq", False),
        ("select count(*) from device", False),
    ],
)
def test_a_scan_of_a_large_table_is_detected(
    sql: str,
    is_scan: bool,
    sqlite_template: Path,
    postgres: PostgresServer,
    postgres_template: tuple[Path, str],
) -> None:
    with closing(sqlite3.connect(sqlite_template / "longwire.db")) as connection:
        assert bool(sqlite_scans(connection, sql)) == is_scan
    driver_sql = sql
    for name in ("number", "seq", "since", "device_id", "group_id"):
        driver_sql = driver_sql.replace(f":{name}", f"%({name})s")
    with psycopg.connect(postgres.url(postgres_template[1])) as server:
        assert bool(postgres_scans(server, driver_sql)) == is_scan
