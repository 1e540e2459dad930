"""Writes the dashboards: `python deploy/grafana/build.py`. What is committed is what this writes.

Two of them. "longwire: what is stuck" is for whoever was woken up: is it up, what does not move,
since when, for whom. "longwire: traffic" is for the morning after: how much, how fast, how large.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "dashboards"
SOURCE = {"type": "prometheus", "uid": "${source}"}
RED, YELLOW, GREEN = "red", "orange", "green"


def target(expr: str, legend: str = "", **more: Any) -> dict[str, Any]:
    return {"expr": expr, "legendFormat": legend or "__auto", "datasource": SOURCE, **more}


def steps(*levels: tuple[float | None, str]) -> dict[str, Any]:
    return {"mode": "absolute", "steps": [{"value": at, "color": color} for at, color in levels]}


def stat(
    title: str,
    expr: str,
    levels: dict[str, Any],
    *,
    unit: str = "short",
    about: str = "",
    **more: Any,
) -> dict[str, Any]:
    """One number, in the colour of how bad it is."""
    return {
        "type": "stat",
        "title": title,
        "description": about,
        "targets": [target(expr, instant=True)],
        "fieldConfig": {
            "defaults": {"unit": unit, "thresholds": levels, "noValue": "-", **more},
            "overrides": [],
        },
        "options": {"colorMode": "background", "reduceOptions": {"calcs": ["lastNotNull"]}},
    }


def graph(
    title: str, *targets: dict[str, Any], unit: str = "short", about: str = "", stack: bool = False
) -> dict[str, Any]:
    custom = {"fillOpacity": 10, "showPoints": "never"}
    custom |= {"stacking": {"mode": "normal"}} if stack else {}
    return {
        "type": "timeseries",
        "title": title,
        "description": about,
        "targets": list(targets),
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {"tooltip": {"mode": "multi", "sort": "desc"}},
    }


def table(
    title: str, columns: dict[str, tuple[str, str]], *, sort: str, about: str = ""
) -> dict[str, Any]:
    """Rows by their labels; each column is a query: title, (expression, unit)."""
    targets, overrides, names = [], [], {}
    for letter, (name, (expr, unit)) in zip("ABCDEF", columns.items(), strict=False):
        targets.append(target(expr, refId=letter, instant=True, format="table"))
        names[f"Value #{letter}"] = name
        overrides.append(
            {
                "matcher": {"id": "byName", "options": name},
                "properties": [{"id": "unit", "value": unit}],
            }
        )
    return {
        "type": "table",
        "title": title,
        "description": about,
        "targets": targets,
        "fieldConfig": {"defaults": {"noValue": "-"}, "overrides": overrides},
        "options": {"sortBy": [{"displayName": sort, "desc": True}]},
        "transformations": [
            {"id": "merge", "options": {}},
            {
                "id": "organize",
                "options": {"excludeByName": {"Time": True}, "renameByName": names},
            },
        ],
    }


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "title": "", "options": {"mode": "markdown", "content": content}}


def row(title: str) -> dict[str, Any]:
    return {"type": "row", "title": title, "collapsed": False, "panels": []}


def lay_out(*lines: tuple[int, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Lines of panels: a height, and the panels that share the width of 24."""
    panels, y = [], 0
    for height, line in lines:
        width = 24 // len(line)
        for index, panel in enumerate(line):
            place = {"x": index * width, "y": y, "w": width, "h": height}
            fields = {} if panel["type"] in ("row", "text") else {"datasource": SOURCE}
            panels.append({"id": len(panels) + 1, "gridPos": place, **fields, **panel})
        y += height
    return panels


def dashboard(uid: str, title: str, span: str, panels: list[dict[str, Any]]) -> dict[str, Any]:
    source = {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "uid": uid,
        "title": title,
        "tags": ["longwire"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": f"now-{span}", "to": "now"},
        "timezone": "browser",
        "links": [
            {"type": "dashboards", "tags": ["longwire"], "title": "longwire", "asDropdown": True}
        ],
        "templating": {"list": [source]},
        "panels": panels,
    }


NAMED = 'longwire_connector_failures{connector!="other"}'
ATTEMPTS = "longwire_delivery_attempts_total"

STUCK = lay_out(
    (
        4,
        [
            stat(
                "Ready",
                "min(longwire_healthy)",
                steps((None, RED), (1, GREEN)),
                mappings=[
                    {"type": "value", "options": {"0": {"text": "no"}, "1": {"text": "yes"}}}
                ],
                about="GET /health/ready of each process says why not.",
            ),
            stat("Processes", "count(longwire_healthy)", steps((None, GREEN))),
            stat(
                "Oldest message waits for",
                "max(longwire_delivery_oldest_seconds)",
                steps((None, GREEN), (300, YELLOW), (3600, RED)),
                unit="s",
                about="Neither delivered nor failed. The table below says whose it is.",
            ),
            stat(
                "Dead letters",
                'max(longwire_deliveries{state="failed"})',
                steps((None, GREEN), (1, YELLOW), (1000, RED)),
                about="Given up, kept to be resent until they expire.",
            ),
            stat(
                "Last record stored",
                "time() - max(max_over_time(timestamp("
                "changes(longwire_records_stored_total[1m]) > 0)[6h:1m]))",
                steps((None, GREEN), (900, YELLOW), (3600, RED)),
                unit="s",
                about="How long ago, in the last six hours.",
            ),
            stat(
                "Server errors a second",
                "sum(rate(longwire_server_errors_total[5m]))",
                steps((None, GREEN), (0.01, YELLOW), (0.1, RED)),
                unit="reqps",
            ),
            stat(
                "Tasks that fail",
                "sum(longwire_background_tasks_failing)",
                steps((None, GREEN), (1, RED)),
            ),
            stat(
                "Disk left",
                "min(longwire_disk_free_bytes)",
                steps((None, RED), (2e9, YELLOW), (1e10, GREEN)),
                unit="bytes",
                about="Of the embedded database; PostgreSQL watches its own.",
            ),
        ],
    ),
    (
        8,
        [
            table(
                "Alerts that fire",
                {
                    "for": (
                        "time() - max by (alertname, severity, instance, connector, network, task)"
                        ' (ALERTS_FOR_STATE and ignoring(alertstate) ALERTS{alertstate="firing"})',
                        "s",
                    ),
                },
                sort="for",
                about="Of deploy/prometheus/rules.yml; `action` of each says what to do first.",
            ),
            table(
                "Connectors that have trouble",
                {
                    "failures in a row": (f"max by (connector, type) ({NAMED})", "short"),
                    "failing for": (
                        "time() - min by (connector, type)"
                        f" (min_over_time(timestamp({NAMED} > 0)[24h:1m]))",
                        "s",
                    ),
                    "waiting": (
                        'max by (connector, type) (longwire_connector_queued{connector!="other"})',
                        "short",
                    ),
                    "dead letters": (
                        "max by (connector, type) (longwire_connector_dead_letters"
                        '{connector!="other"})',
                        "short",
                    ),
                },
                sort="failures in a row",
                about="Needs the setting metrics_token. `failing for` looks back a day.",
            ),
        ],
    ),
    (
        3,
        [
            text(
                "**For whom:** `longwire connectors` shows the group, the name and the error of a"
                " connector, `longwire deliveries` its messages. **Why:** the connector's page in"
                " the console has every attempt. A receiver that is down keeps only its own"
                " messages waiting; if many types fail at once, look at DNS, at `egress_allow` and"
                " at this machine's network."
            )
        ],
    ),
    (1, [row("Out: what waits")]),
    (
        8,
        [
            graph(
                "Messages by state",
                target("max by (state) (longwire_deliveries)", "{{state}}"),
                about="Processes that share a database report the same numbers.",
            ),
            graph(
                "Waiting, by connector",
                target(
                    "topk(10, max by (connector, type) (longwire_connector_queued))",
                    "{{type}} {{connector}}",
                ),
            ),
            graph(
                "Attempts that fail, by type",
                target(
                    f'sum by (type, outcome) (rate({ATTEMPTS}{{outcome!="delivered"}}[5m])) > 0',
                    "{{type}} {{outcome}}",
                ),
                unit="reqps",
            ),
        ],
    ),
    (1, [row("In: what is lost or refused")]),
    (
        8,
        [
            graph(
                "Records stored",
                target("sum by (kind) (rate(longwire_records_stored_total[5m]))", "{{kind}}"),
                unit="reqps",
                stack=True,
            ),
            graph(
                "Messages of networks rejected, and lost",
                target(
                    "sum by (network) (rate(longwire_network_messages_rejected_total[5m])) > 0",
                    "{{network}}",
                ),
                target(
                    'sum by (outcome) (rate(longwire_mqtt_messages_total{outcome!="stored"}[5m]))',
                    "MQTT {{outcome}}",
                ),
                unit="reqps",
            ),
            graph(
                "Payloads that were not decoded",
                target(
                    "sum by (type) (rate(longwire_network_decode_failures_total[5m]))", "{{type}}"
                ),
                unit="reqps",
                about="The records are stored; redecode them after the decoder is mended.",
            ),
        ],
    ),
    (1, [row("Inside: what is full")]),
    (
        8,
        [
            graph(
                "Queues",
                target("sum by (queue) (longwire_database_queued)", "database {{queue}}"),
                target("sum(longwire_ingest_queued_records)", "records"),
                about="At 5,000 waiting transactions requests are refused with 503.",
            ),
            graph(
                "Responses with server errors",
                target("sum by (status) (rate(longwire_server_errors_total[5m]))", "{{status}}"),
                target("sum(rate(longwire_connections_rejected_total[5m]))", "connections refused"),
                unit="reqps",
            ),
            graph(
                "Background tasks that failed",
                target(
                    "sum by (task) (increase(longwire_background_task_failures_total[15m])) > 0",
                    "{{task}}",
                ),
            ),
        ],
    ),
)

REQUESTS = "longwire_request_seconds"
QUANTILE = "histogram_quantile({q}, sum by (le{by}) (rate({name}_bucket[5m])))"

TRAFFIC = lay_out(
    (1, [row("Requests")]),
    (
        8,
        [
            graph(
                "Requests, by status",
                target(f"sum by (status) (rate({REQUESTS}_count[5m]))", "{{status}}"),
                unit="reqps",
                stack=True,
            ),
            graph(
                "Duration of requests",
                target(QUANTILE.format(q=0.5, by="", name=REQUESTS), "median"),
                target(QUANTILE.format(q=0.99, by="", name=REQUESTS), "99 %"),
                unit="s",
            ),
            graph(
                "Slowest paths, 99 %",
                target(
                    f"topk(8, {QUANTILE.format(q=0.99, by=', method, path', name=REQUESTS)})",
                    "{{method}} {{path}}",
                ),
                unit="s",
            ),
        ],
    ),
    (1, [row("Delivery")]),
    (
        8,
        [
            graph(
                "Attempts, by outcome",
                target(f"sum by (outcome) (rate({ATTEMPTS}[5m]))", "{{outcome}}"),
                unit="reqps",
                stack=True,
            ),
            graph(
                "Attempts, by type",
                target(f"sum by (type) (rate({ATTEMPTS}[5m])) > 0", "{{type}}"),
                unit="reqps",
                stack=True,
            ),
            graph(
                "Duration of attempts, 95 %",
                target(
                    QUANTILE.format(q=0.95, by=", type", name="longwire_delivery_attempt_seconds"),
                    "{{type}}",
                ),
                unit="s",
            ),
        ],
    ),
    (1, [row("Who listens, and who sends")]),
    (
        8,
        [
            graph("Clients that follow live", target("sum(longwire_live_listeners)", "listeners")),
            graph(
                "Messages of the MQTT broker",
                target("sum by (outcome) (rate(longwire_mqtt_messages_total[5m]))", "{{outcome}}"),
                target("max(longwire_mqtt_connected)", "connected"),
            ),
        ],
    ),
    (1, [row("Processes")]),
    (
        8,
        [
            graph(
                "Processor",
                target('rate(process_cpu_seconds_total{job="longwire"}[5m])', "{{instance}}"),
                unit="percentunit",
            ),
            graph(
                "Memory",
                target('process_resident_memory_bytes{job="longwire"}', "{{instance}}"),
                unit="bytes",
            ),
            graph(
                "Descriptors",
                target('process_open_fds{job="longwire"}', "{{instance}}"),
                target('min(process_max_fds{job="longwire"})', "limit"),
            ),
        ],
    ),
    (
        8,
        [
            graph(
                "Size of the database",
                target("max(longwire_database_bytes)", "database"),
                target("min(longwire_disk_free_bytes)", "disk left"),
                unit="bytes",
            ),
            table(
                "Versions",
                {
                    "running for": (
                        "time() - max by (instance, version, python, database)"
                        " (process_start_time_seconds * on (instance) group_right ()"
                        " longwire_build_info)",
                        "s",
                    ),
                },
                sort="running for",
            ),
        ],
    ),
)

DASHBOARDS = {
    "stuck.json": dashboard("longwire-stuck", "longwire: what is stuck", "6h", STUCK),
    "traffic.json": dashboard("longwire-traffic", "longwire: traffic", "24h", TRAFFIC),
}


def render(name: str) -> str:
    return json.dumps(DASHBOARDS[name], indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in DASHBOARDS:
        (FOLDER / name).write_text(render(name))
