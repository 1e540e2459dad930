"""Writes the dashboard of values: `python deploy/grafana/values/build.py`.

What is committed is what this writes. Its queries are those of the plugin
yesoreyeram-infinity-datasource: a path, parameters, and the columns of the rows that come back.
"""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "dashboard.json"
SOURCE = {"type": "yesoreyeram-infinity-datasource", "uid": "longwire-values"}
RANGE = {"beginDate": "${__from:date:iso}", "endDate": "${__to:date:iso}"}
OF_GROUP = {"groupId": "$group", "subgroups": "true", "measurement": "$measurement"}
SERIES = {**OF_GROUP, **RANGE, "calendarSpan": "$span", "timezone": "$zone", "format": "table"}


def query(path: str, parameters: dict[str, str], columns: dict[str, str], **more: Any) -> Any:
    return {
        "refId": "A",
        "datasource": SOURCE,
        "type": "json",
        "parser": "backend",
        "source": "url",
        "url": path,
        "url_options": {
            "method": "GET",
            "params": [{"key": key, "value": value} for key, value in parameters.items()],
        },
        "root_selector": "",
        "columns": [
            {"selector": selector, "text": selector, "type": kind}
            for selector, kind in columns.items()
        ],
        **more,
    }


def panel(kind: str, title: str, target: Any, place: tuple[int, int, int], **more: Any) -> Any:
    x, y, width = place
    return {
        "id": 1 + x + y,
        "type": kind,
        "title": title,
        "datasource": SOURCE,
        "gridPos": {"x": x, "y": y, "w": width, "h": 10},
        "targets": [target],
        **more,
    }


def bars() -> Any:
    custom = {"drawStyle": "bars", "fillOpacity": 60, "lineWidth": 0, "barAlignment": 1}
    return {"defaults": {"custom": custom}, "overrides": []}


def textbox(name: str, label: str, value: str) -> Any:
    current = {"text": value, "value": value}
    return {"type": "textbox", "name": name, "label": label, "query": value, "current": current}


def choice(name: str, label: str, values: list[str], chosen: str) -> Any:
    options = [{"text": each, "value": each, "selected": each == chosen} for each in values]
    current = {"text": chosen, "value": chosen}
    common = {"type": "custom", "name": name, "label": label, "query": ",".join(values)}
    return {**common, "options": options, "current": current}


DASHBOARD = {
    "uid": "longwire-values",
    "title": "longwire: values",
    "tags": ["longwire"],
    "schemaVersion": 39,
    "editable": True,
    "time": {"from": "now-30d", "to": "now"},
    "timezone": "browser",
    "templating": {
        "list": [
            textbox("group", "Group", ""),
            textbox("measurement", "Measurement", "litres"),
            choice("span", "Span", ["hour", "day", "week", "month", "year"], "day"),
            textbox("zone", "Time zone", "UTC"),
        ]
    },
    "panels": [
        panel(
            "timeseries",
            "$measurement of the group",
            query(
                "/group/series",
                SERIES,
                {"timestamp": "timestamp", "value": "number"},
                format="timeseries",
            ),
            (0, 0, 24),
            fieldConfig=bars(),
        ),
        panel(
            "timeseries",
            "$measurement of each device",
            query(
                "/group/series",
                {**SERIES, "combine": "none"},
                {"timestamp": "timestamp", "deviceName": "string", "value": "number"},
                format="timeseries",
            ),
            (0, 10, 12),
        ),
        panel(
            "table",
            "Now",
            query(
                "/devices",
                {
                    **{"groupId": "$group", "subgroups": "true", "values": "$measurement"},
                    **{"order": "value:$measurement", "descending": "true", "limit": "100"},
                },
                {
                    "name": "string",
                    "values.$measurement.value": "number",
                    "values.$measurement.timestamp": "timestamp",
                },
                format="table",
                root_selector="items",
            ),
            (12, 10, 12),
        ),
    ],
}


def render() -> str:
    return json.dumps(DASHBOARD, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(render())
