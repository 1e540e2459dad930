"""Reports: sent once for each period, with their creator's permissions, and never in silence."""

import asyncio
import csv
import io
import json
import re
import zipfile
import zlib
from datetime import date, time
from typing import Any

import pytest

from longwire.api.records.csv_cells import encode_csv, format_cells, unescape_cell
from longwire.api.reports import report_content
from longwire.clock import SECOND
from longwire.dates import format_date, parse_date
from longwire.errors import Unavailable
from longwire.reports import runner, sending
from longwire.reports.charts import draw_chart
from longwire.reports.periods import ReportSchedule
from longwire.reports.spreadsheets import CELL_CHARACTERS_MAX, CUT, build_spreadsheet
from tests.delivery.receiver import Receiver
from tests.notifications.standins import MailServer
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

Json = dict[str, Any]
DAILY = {"every": "day", "at": "06:00", "timezone": "Europe/Paris"}


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(runner, "POLL_INTERVAL_S", 0.1)


def create(person: Person, group: str, to: Json, **fields: Any) -> Json:
    body = {"groupId": group, "name": "Cold rooms", "content": "devices", **DAILY, "to": to}
    return dict(ok(person.post("/report", {**body, **fields})))


def get(person: Person, group: str, report: Json) -> Json:
    items = ok(person.get("/group/reports", groupId=group))["items"]
    return next(each for each in items if each["id"] == report["id"])


def wait_for_run(person: Person, group: str, report: Json, *states: str, after: str = "") -> Json:
    """The last run, once it has one of these states, and is another one than before."""

    def has_ended() -> bool:
        run = get(person, group, report).get("lastRun", {})
        return run.get("state") in states and run["at"] > after

    try:
        eventually(has_ended)
    except AssertionError as error:
        raise AssertionError(get(person, group, report)) from error
    return dict(get(person, group, report)["lastRun"])


def let_pass_until(world: World, moment: str, *, seconds: float = 1) -> None:
    left_s = (parse_date(moment) - world.clock.now()) / SECOND
    world.clock.let_pass(seconds=left_s + seconds)


def renew(person: Person) -> None:
    """Access tokens expire with the clock."""
    person.token = person.world.token(person.client_id, person.client_secret)


def mail_to(*addresses: str) -> Json:
    return {"type": "email", "params": {"to": list(addresses)}}


def test_a_report_is_mailed_once_for_each_day_also_after_a_restart(make_world):
    with MailServer() as server:
        world = make_world(**server.settings())
        ada = world.person("ada")
        group = ada.group("Cold & dry <rooms>")
        ada.device(group, name="=cmd|' /C calc'!A0")
        report = create(ada, group, mail_to("ada@example.com"))
        assert "lastRun" not in get(ada, group, report)
        let_pass_until(world, report["nextAt"])
        renew(ada)
        run = wait_for_run(ada, group, report, "sent")
        assert (run["rows"], run["recipients"], run["missed"], run["isTest"]) == (1, 1, 0, False)
        world.restart()
        ada = ada.at(world)
        # For three days nobody was there: it is late, and sent once.
        following = get(ada, group, report)["nextAt"]
        world.stop()
        let_pass_until(world, following, seconds=2 * 86_400 + 60)
        world.start()
        renew(ada)
        late = wait_for_run(ada, group, report, "sent", after=run["at"])
        assert late["missed"] == 2
        assert late["beginDate"] > run["endDate"]
    first, second = server.mails
    mail = first.message
    assert re.fullmatch("Cold rooms: [0-9]+ [A-Z][a-z]+ 20[0-9][0-9]", str(mail["Subject"]))
    text = mail.get_body(("plain",)).get_content()
    page = mail.get_body(("html",)).get_content()
    assert "1 row of the group Cold & dry <rooms>." in text
    assert "Cold &amp; dry &lt;rooms&gt;" in page
    (attached,) = mail.iter_attachments()
    assert attached.get_filename().endswith(".csv")
    (row,) = csv.DictReader(io.StringIO(attached.get_content()))
    assert row["name"].startswith("'=cmd")
    assert "2 earlier ones were due" in second.message.get_body(("plain",)).get_content()


def test_what_fails_is_said_and_goes_on_when_it_is_corrected(make_world, monkeypatch):
    with MailServer() as server, Receiver() as receiver:
        world = make_world(**server.settings())
        ada, bob = world.person("ada"), world.person("bob")
        group = ada.group()
        ada.invite(bob, group, "viewer")
        eventually(lambda: len(server.mails) == 1)
        server.replies["RCPT"] = ["550 no"]
        report = create(ada, group, mail_to("ada@example.com"), format="xlsx")
        body = {"groupId": group, "reportId": report["id"]}
        ok(ada.post("/report/send", body))
        failed = wait_for_run(ada, group, report, "failed")
        assert (failed["failed"], failed["isTest"]) == (1, True)
        assert failed["error"] == "the mail server did not accept the address (550)"
        # An internal error, and a file that is too large, are said, too.
        monkeypatch.setattr(runner, "FILE_BYTES_MAX", 10)
        ok(ada.post("/report/send", body))
        large = wait_for_run(ada, group, report, "failed", after=failed["at"])
        assert "MiB" in large["error"]
        monkeypatch.undo()
        # Somebody who may not read devices any more: stopped, until somebody else takes it over.
        webhook = {"type": "webhook", "params": {"url": receiver.url, "bearer": "key"}}
        ok(ada.put("/report", {**body, "to": webhook, "format": "csv"}))
        shown = get(bob, group, report)["to"]["params"]
        assert shown["bearer"] == "********" and receiver.url not in shown["url"]
        assert get(ada, group, report)["to"]["params"]["bearer"] == "key"
        assert refused(bob.put("/report", body), 403)
        role = ada.role("notification.read", "notification.write", "device.read")
        ok(ada.put("/group/user", {"groupId": group, "userId": bob.id, "roleId": role}))
        ok(bob.put("/report", {**body, "name": "Of Bob"}))
        less = ada.role("notification.read", "notification.write", name="less")
        ok(ada.put("/group/user", {"groupId": group, "userId": bob.id, "roleId": less}))
        ok(ada.post("/report/send", body))
        stopped = wait_for_run(ada, group, report, "stopped")
        assert "may not read this any more" in stopped["error"]
        assert not get(ada, group, report)["enabled"] and not receiver.bodies
        assert refused(ada.post("/report/send", body), 409)
        assert refused(bob.put("/report", {**body, "enabled": True}), 403)
        ok(ada.put("/report", {**body, "enabled": True}))
        ok(ada.post("/report/send", body))
        wait_for_run(ada, group, report, "sent")
        (posted,) = [json.loads(each) for each in receiver.bodies]
        assert (posted["type"], posted["reportId"], posted["rows"]) == ("report", report["id"], 0)
        assert posted["file"]
        ok(ada.delete("/report", **body))
        assert ok(ada.get("/group/reports", groupId=group))["items"] == []


@pytest.mark.engine_free
def test_a_large_file_is_behind_a_link_whose_secret_opens_nothing_else(make_world, monkeypatch):
    monkeypatch.setattr(sending, "ATTACHED_BYTES_MAX", 10)
    with MailServer() as server:
        settings = server.settings(public_url="https://longwire.example.com")
        world = make_world(**settings)
        ada = world.person("ada")
        group = ada.group()
        device = ada.device(group, name="Freezer")
        ada.reports(device, data='{"temperature": -18.5}')
        report = create(ada, group, mail_to("ada@example.com"))
        body = {"groupId": group, "reportId": report["id"]}
        ok(ada.post("/report/send", body))
        wait_for_run(ada, group, report, "sent")
        text = server.mails[0].message.get_body(("plain",)).get_content()
        assert not list(server.mails[0].message.iter_attachments())
        (link,) = [each for each in text.split() if each.startswith("https://")]
        address, _, secret = link.partition("#")
        assert address == "https://longwire.example.com/console/report"
        stranger = Person(world, secret, "", ("", ""))
        found = stranger.get("/report/file")
        assert found.status_code == 200 and "Freezer" in found.text, (secret, found.text)
        assert found.headers["content-disposition"].startswith('attachment; filename="devices-')
        opened = ok(stranger.get("/report/link"))
        assert (opened["name"], opened["rows"]) == ("Cold rooms", 1)
        assert found.headers["content-disposition"].endswith(f'"{opened["fileName"]}"')
        for path in ("/groups", "/group/reports", "/devices/export"):
            assert refused(stranger.get(path, groupId=group), 401)
        for other in (secret[:-1] + "x", secret[:-1], secret + "x", "lwr_", "lwr_x_y", "é"):
            wrong = Person(world, other, "", ("", ""))
            if other.isascii():
                assert refused(wrong.get("/report/file"), 401)
                assert refused(wrong.get("/report/link"), 401)
        assert refused(ada.get("/report/file"), 401)
        ok(ada.delete("/report", **body))
        assert refused(stranger.get("/report/file"), 401)
        again = create(ada, group, mail_to("ada@example.com"))
        ok(ada.post("/report/send", {**body, "reportId": again["id"]}))
        wait_for_run(ada, group, again, "sent")
        text = server.mails[1].message.get_body(("plain",)).get_content()
        (secret,) = [each.partition("#")[2] for each in text.split() if "#lwr_" in each]
        stranger = Person(world, secret, "", ("", ""))
        assert stranger.get("/report/file").status_code == 200
        world.clock.let_pass(days=8)
        assert refused(stranger.get("/report/file"), 401)


def send(person: Person, group: str, report: Json, *states: str) -> Json:
    """Send it by hand; what became of it."""
    before = get(person, group, report).get("lastRun", {}).get("at", "")
    ok(person.post("/report/send", {"groupId": group, "reportId": report["id"]}))
    return wait_for_run(person, group, report, *(states or ("sent", "failed")), after=before)


def test_nobody_waits_for_the_report_of_another_one(make_world, monkeypatch):
    """Whether what it reads is unavailable, or takes too long; both are said, and retried."""
    unavailable: set[str] = set()
    endless: set[str] = set()
    read = report_content.read_with_archive

    async def read_some(database: Any, work: Any) -> Any:
        if work.args[0].id in unavailable:
            raise Unavailable("Archived records cannot be read now; try again later.")
        if work.args[0].id in endless:
            await asyncio.Event().wait()
        return await read(database, work)

    monkeypatch.setattr(report_content, "read_with_archive", read_some)
    with Receiver() as receiver:
        world = make_world()
        webhook = {"type": "webhook", "params": {"url": receiver.url}}
        # The one whose turn is first fails.
        first, second = sorted([world.person("ada"), world.person("bob")], key=lambda one: one.id)
        groups = first.group(), second.group()
        failing, other = create(first, groups[0], webhook), create(second, groups[1], webhook)
        unavailable.add(failing["id"])
        run = send(first, groups[0], failing, "failed")
        assert run["error"] == (
            "Archived records cannot be read now; try again later. It is tried again."
        )
        assert send(second, groups[1], other)["state"] == "sent"
        monkeypatch.setattr(runner, "RETRY_AFTER", runner.RETRY_AFTER[:2])
        world.clock.let_pass(seconds=61)
        again = wait_for_run(first, groups[0], failing, "failed", after=run["at"])
        assert again["error"].endswith("It is tried again.")
        world.clock.let_pass(seconds=121)
        last = wait_for_run(first, groups[0], failing, "failed", after=again["at"])
        assert last["error"] == "Archived records cannot be read now; try again later."
        unavailable.clear()
        assert send(first, groups[0], failing)["state"] == "sent"
        monkeypatch.setattr(runner, "MAKING_S_MAX", 0.05)
        endless.add(failing["id"])
        assert send(first, groups[0], failing)["error"].startswith("It took more than 0.05 seconds")
        monkeypatch.undo()
        assert len(receiver.bodies) == 2


@pytest.mark.engine_free
def test_what_is_gone_is_named_and_the_report_goes_on(make_world, monkeypatch):
    def fail(*given: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(report_content, "draw_chart", fail)
    with MailServer() as server:
        ada = make_world(**server.settings()).person("ada")
        group = ada.group()
        device = ada.device(group)
        to = mail_to("ada@example.com")
        chosen = {"deviceId": device, "dates": "timestamp"}
        report = create(ada, group, to, content="records", parameters=chosen)
        assert send(ada, group, report)["state"] == "sent"
        ok(ada.delete("/device", deviceId=device, groupId=group))
        run = send(ada, group, report)
        assert run["error"].startswith("deviceId is not a known device"), run
        assert get(ada, group, report)["enabled"]
        # A picture that cannot be drawn is left out.
        chosen = {"measurement": "temperature"}
        series = create(ada, group, to, content="series", parameters=chosen)
        assert send(ada, group, series)["state"] == "sent"


@pytest.mark.engine_free
def test_files_are_kept_as_long_as_somebody_needs_them_and_no_more_than_fit(
    make_world, monkeypatch
):
    with MailServer() as server:
        world = make_world(**server.settings(public_url="https://longwire.example.com"))
        ada = world.person("ada")
        group = ada.group()
        ada.device(group, name="Freezer")
        report = create(ada, group, mail_to("ada@example.com"))
        size = send(ada, group, report)["bytes"]
        # What is attached is not kept behind.
        monkeypatch.setattr(runner, "KEPT_BYTES_PER_OWNER_MAX", size + 10)
        monkeypatch.setattr(sending, "ATTACHED_BYTES_MAX", 10)
        other = create(ada, group, mail_to("ada@example.com"))
        assert send(ada, group, other)["state"] == "sent"
        assert "are kept for links" in send(ada, group, report)["error"]
        # A later test takes the place of an earlier one.
        monkeypatch.setattr(runner, "KEPT_BYTES_PER_OWNER_MAX", 2 * size + 10)
        assert send(ada, group, other)["state"] == "sent"
        assert send(ada, group, report)["state"] == "sent"
        texts = [each.message.get_body(("plain",)).get_content() for each in server.mails]
        links = [word for text in texts for word in text.split() if "#lwr_" in word]
        found = [Person(world, each.partition("#")[2], "", ("", "")) for each in links]
        statuses = [each.get("/report/file").status_code for each in found]
        assert statuses == [401, 200, 200]
        # Whoever takes it over might not be allowed to read what the other one was.
        ok(ada.put("/report", {"groupId": group, "reportId": other["id"], "name": "Named"}))
        assert found[1].get("/report/file").status_code == 200
        changed = {"groupId": group, "reportId": other["id"], "content": "alarms"}
        ok(ada.put("/report", changed))
        assert refused(found[1].get("/report/file"), 401)


def test_nobody_gets_the_file_of_another_one_by_changing_the_report(make_world):
    with Receiver(500) as receiver, Receiver() as own:
        world = make_world()
        ada, bob = world.person("ada"), world.person("bob")
        group = ada.group()
        device = ada.device(group)
        ada.reports(device, data='{"secret": 1}')
        webhook = {"type": "webhook", "params": {"url": receiver.url}}
        report = create(ada, group, webhook, content="records")
        body = {"groupId": group, "reportId": report["id"]}
        ok(ada.post("/report/send", body))
        eventually(lambda: "500" in get(ada, group, report).get("lastRun", {}).get("error", ""))
        role = ada.role("notification.read", "notification.write", "device.read")
        ada.invite(bob, group, role)
        mine = {"type": "webhook", "params": {"url": own.url}}
        assert refused(bob.put("/report", {**body, "to": mine}), 403)
        ok(bob.put("/report", {**body, "to": mine, "content": "devices"}))
        world.clock.let_pass(seconds=7_200)
        renew(ada)
        failed = wait_for_run(ada, group, report, "failed")
        assert "was updated after it was made" in failed["error"]
        assert own.bodies == []


@pytest.mark.engine_free
@pytest.mark.parametrize("content", ["records", "series", "alarms"])
def test_each_content_is_about_the_last_day(make_world, content):
    parameters = {
        "records": {"kind": "data", "values": "temperature"},
        "series": {"measurement": "temperature", "combine": "none"},
        "alarms": {},
    }[content]
    with MailServer() as server:
        world = make_world(**server.settings())
        ada = world.person("ada")
        group = ada.group()
        device = ada.device(group, name="Freezer")
        ada.reports(device, data='{"temperature": -18.5}', timestamp=format_date(world.clock.now()))
        report = create(
            ada,
            group,
            mail_to("ada@example.com"),
            content=content,
            parameters=parameters,
            format="xlsx",
            timezone="UTC",
            at="00:00",  # of the next day, and so about this one, at whatever hour this runs
        )
        let_pass_until(world, report["nextAt"])
        renew(ada)
        run = wait_for_run(ada, group, report, "sent", "failed", "stopped")
        assert run["state"] == "sent", run
        assert run["rows"] == (0 if content == "alarms" else 1)
    mail = server.mails[0].message
    parts = list(mail.walk())
    pictures = [each.get_content() for each in parts if each.get_content_type() == "image/png"]
    assert len(pictures) == (content == "series")
    (attached,) = mail.iter_attachments()
    with zipfile.ZipFile(io.BytesIO(attached.get_content())) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert ("<v>-18.5</v>" in sheet) == (content != "alarms")


INVALID = [
    ({"every": "year"}, "every"),
    ({"at": "24:00"}, "at"),
    ({"timezone": "Europe/Nowhere"}, "timezone"),
    ({"parameters": {"format": "csv"}}, "parameters.format"),
    ({"content": "series"}, "parameters.measurement"),
    ({"content": "records", "parameters": {"dates": "timestamp"}}, "parameters.dates"),
    ({"content": "series", "parameters": {"measurement": 1}}, "parameters.measurement"),
    ({"to": {"type": "pigeon", "params": {}}}, "to.type"),
    ({"to": mail_to("ada")}, "to.params.to[0]"),
    ({"to": {"type": "webhook", "params": {"url": "ftp://a"}}}, "to.params.url"),
    ({"name": ""}, "name"),
]


@pytest.mark.engine_free
def test_every_wrong_field_is_named_and_others_have_no_access(make_world):
    with MailServer() as server:
        world = make_world(reports_per_group_max=1, **server.settings())
        ada, eve = world.person("ada"), world.person("eve")
        group = ada.group()
        valid = {
            **{"groupId": group, "name": "Cold rooms", "content": "devices", **DAILY},
            "to": mail_to("ada@example.com"),
        }
        for wrong, field in INVALID:
            problem = refused(ada.post("/report", {**valid, **wrong}), 400)
            assert [each["field"] for each in problem["errors"]] == [field], problem
        report = ok(ada.post("/report", valid))
        assert refused(ada.post("/report", valid), 409)["code"] == "limit_reached"
        body = {"groupId": group, "reportId": report["id"]}
        for response in (
            eve.get("/group/reports", groupId=group),
            eve.post("/report", valid),
            eve.put("/report", body),
            eve.post("/report/send", body),
            eve.delete("/report", **body),
        ):
            assert refused(response, 404)


PARIS, CAIRO = "Europe/Paris", "Africa/Cairo"
DUE = [
    # every, at, zone, after, due
    ("day", "06:00", PARIS, "2026-01-05T04:59:59Z", "2026-01-05T05:00:00Z"),
    ("day", "06:00", PARIS, "2026-01-05T05:00:00Z", "2026-01-06T05:00:00Z"),
    # Two o'clock is three: 02:30 is left out.
    ("day", "02:30", PARIS, "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"),
    # Three o'clock is two: 02:30 is shown twice, and meant the first time.
    ("day", "02:30", PARIS, "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
    ("day", "02:30", PARIS, "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
    # Midnight is left out.
    ("day", "00:00", CAIRO, "2026-04-23T12:00:00Z", "2026-04-23T22:00:00Z"),
    ("week", "06:00", "UTC", "2026-11-19T12:00:00Z", "2026-11-23T06:00:00Z"),
    ("month", "06:00", "UTC", "2026-11-19T12:00:00Z", "2026-12-01T06:00:00Z"),
    ("month", "06:00", "UTC", "2026-12-01T06:00:00Z", "2027-01-01T06:00:00Z"),
    ("day", "23:59", "Pacific/Kiritimati", "2026-11-19T09:59:00Z", "2026-11-20T09:59:00Z"),
]


@pytest.mark.parametrize("every, at, zone, after, due", DUE)
def test_when_a_report_is_due(every, at, zone, after, due):
    schedule = ReportSchedule(every, time.fromisoformat(at), zone)
    assert schedule.next_due(parse_date(after)) == parse_date(due)


def test_only_the_last_period_is_sent_when_several_were_missed():
    daily = ReportSchedule("day", time(6), PARIS)
    due = parse_date("2026-03-28T05:00:00Z")
    assert daily.period_due(due, due) == ((date(2026, 3, 27), date(2026, 3, 28)), 0)
    late = parse_date("2026-03-31T03:59:59Z")
    assert daily.period_due(due, late) == ((date(2026, 3, 29), date(2026, 3, 30)), 2)
    monthly = ReportSchedule("month", time(6), PARIS)
    assert monthly.last_period(late) == (date(2026, 2, 1), date(2026, 3, 1))
    # A day of 23 hours.
    begin, end = (daily.to_moment(date(2026, 3, day)) for day in (29, 30))
    assert end - begin == 23 * 3_600 * SECOND


def test_nothing_in_a_spreadsheet_is_a_formula_and_dates_are_dates():
    rows = [
        ["id", "timestamp", "name", "value"],
        format_cells(["007", "2026-03-01T12:00:00.000Z", "=1+1", -18.5]),
        format_cells(["12345678901234567", None, "@SUM(A1)", 21.333333333333332]),
        format_cells(["a", "soon", "https://example.com", "1e5"]),
    ]
    zone = ReportSchedule("day", time(6), PARIS).zone
    content = build_spreadsheet(encode_csv(rows), zone, unescape_cell)
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        names = book.namelist()
    assert "<f>" not in sheet and "hyperlink" not in sheet
    assert ">=1+1<" in sheet and ">@SUM(A1)<" in sheet and ">007<" in sheet and ">1e5<" in sheet
    assert "<v>-18.5</v>" in sheet and "<v>21.33333333333333" in sheet
    # The serial number of a day, and one o'clock in Paris.
    assert "<v>46082.54166666" in sheet
    assert not [each for each in names if "externalLink" in each]


def test_a_long_text_is_cut_in_a_spreadsheet_which_says_so():
    zone = ReportSchedule("day", time(6), PARIS).zone
    kept, cut, emoji = "a" * CELL_CHARACTERS_MAX, "b" * 200_000, "\U0001f9ca" * 20_000
    content = build_spreadsheet(encode_csv([["data"], [kept], [cut], [emoji]]), zone, unescape_cell)
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    _, *texts = [each.partition("</t>")[0] for each in sheet.split('xml:space="preserve">')[1:]]
    assert texts[0] == kept
    for text in texts[1:]:
        assert text.endswith(CUT)
        assert len(text.encode("utf-16-le")) // 2 in (CELL_CHARACTERS_MAX - 1, CELL_CHARACTERS_MAX)


CHARTS = [
    *([1.0], [0.0, 0.0], [-5e9, 5e9], [1e-9, 2e-9], [float("inf"), 3], [1e308, -1e308, 3]),
    # As good as constant: the means of one reading differ by rounding.
    *([20.1, 20.1 + 4e-15], [-20.1, -20.1 - 4e-15], [5e-324] * 2, [0.0, 5e-324]),
    *([1e15, 1e15 + 0.125], [1e300, 1e300], [1e-300, 1e-300], [1e9, 1e9 + 1], [1e9, 1e9 + 2]),
]


@pytest.mark.parametrize("values", CHARTS)
def test_a_chart_is_drawn_of_any_numbers(values):
    end = parse_date("2026-03-02")
    begin = parse_date("2026-03-01")
    points = [(begin + index * 3_600 * SECOND, each) for index, each in enumerate(values)]
    zone = ReportSchedule("day", time(6), PARIS).zone
    picture = draw_chart([points], begin, end, zone)
    assert picture is not None and picture.startswith(b"\x89PNG")
    start = picture.index(b"IDAT") + 4
    rows = zlib.decompressobj().decompress(picture[start:])
    assert len(rows) == 600 * (1 + 3 * 1440)
    assert draw_chart([[]], begin, end, zone) is None
