"""`doctor`: what is wrong with this installation, and what to do."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import click

from longwire.cli.base import setting_flags
from longwire.doctor import database, machine, surroundings
from longwire.doctor.findings import Area, Check, Finding, Severity, is_healthy, run_checks
from longwire.process import logs, startup
from longwire.settings import Settings
from longwire.settings.declaration import SettingsError
from longwire_cli.terminal import json_flag

EXIT_PROBLEM = 3
SIGNS = {Severity.OK: "ok", Severity.WARNING: "warning", Severity.PROBLEM: "PROBLEM"}


@click.command("doctor")
@click.option("--deep", is_flag=True, help="also read the whole file of the embedded database")
@setting_flags(is_lazy=True)
@json_flag
def doctor_command(load: Callable[[], Settings], deep: bool, as_json: bool) -> None:
    """Check settings, machine, database and surroundings, and say what to do.

    Changes nothing and sends nothing, and works while the service runs and while it does not. Give
    it the settings of the service. Exits with 3 if there is a problem.
    """
    logs.configure_logging("critical", "auto")
    try:
        chosen = load()
    except SettingsError as error:
        area = Area("settings")
        found = [area.problem(line, "see `longwire config`") for line in str(error).splitlines()]
    else:
        found = run_checks(list_checks(chosen, is_deep=deep))
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found]))
    else:
        for each in found:
            _print(each)
    sys.exit(0 if is_healthy(found) else EXIT_PROBLEM)


def list_checks(chosen: Settings, *, is_deep: bool) -> list[Check]:
    settings_area, service, disk = Area("settings"), Area("service"), Area("disk")
    limits, memory, clock = Area("descriptors"), Area("memory"), Area("clock")
    files, certificate, stored = Area("files"), Area("certificate"), Area("database")
    egress, mail = Area("egress"), Area("mail")
    return [
        (settings_area, partial(_check_settings, settings_area, chosen)),
        (service, partial(machine.check_port, service, chosen)),
        (limits, partial(machine.check_descriptors, limits, chosen)),
        (memory, partial(machine.check_memory, memory, chosen)),
        (clock, partial(machine.check_clock, clock)),
        (disk, partial(machine.check_disk, disk, chosen)),
        (files, partial(machine.check_files, files, chosen)),
        (certificate, partial(machine.check_certificate, certificate, chosen)),
        (stored, partial(database.check_database, stored, chosen, is_deep=is_deep)),
        (egress, partial(surroundings.check_egress, egress, chosen)),
        (mail, partial(surroundings.check_mail, mail, chosen)),
    ]


def _check_settings(area: Area, chosen: Settings) -> list[Finding]:
    found = [area.ok("all settings are valid")]
    plain_http = startup.describe_plain_http(chosen)
    if plain_http is not None:
        what, _, advice = plain_http.partition(": ")
        found.append(area.warning(what, advice))
    if chosen.cors_origins and "*" in chosen.cors_origins:
        found.append(area.warning("cors_origins allows every page", "name the origins you need"))
    return found


def _print(finding: Finding) -> None:
    advice = f" -> {finding.advice}" if finding.advice else ""
    colour = {Severity.OK: "green", Severity.WARNING: "yellow", Severity.PROBLEM: "red"}
    sign = click.style(f"{SIGNS[finding.severity]:8}", fg=colour[finding.severity])
    click.echo(f"{sign} {finding.area:12} {finding.text}{advice}")
