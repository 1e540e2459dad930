"""Every screen of the console, with what `longwire demo` has, for what holds for all of them."""

from collections.abc import Callable
from typing import Any

# One that fails now and then, and takes what others take too.
CONNECTOR = "port-authority"

# Asks the API: a path and its parameters; answers with the body.
Get = Callable[[str, dict[str, str]], Any]


def list_screens(get: Get, group: str) -> dict[str, str]:
    """Names and paths below /console of all screens, with objects of that company."""

    def first(path: str, **parameters: str) -> dict[str, Any]:
        item: dict[str, Any] = get(path, {"groupId": group, **parameters})["items"][0]
        return item

    device = first("/devices", subgroups="true", type="cold-room")["deviceId"]
    message = first("/connector/messages", connectorId=CONNECTOR, kind="event")["id"]
    record = first("/group/records", subgroups="true", kinds="data")["id"]
    notification = first("/notification/notifications")["id"]
    # The first one was sent.
    report = first("/group/reports")["id"]
    # The last one is a rota.
    contact_point = get("/group/contactPoints", {"groupId": group})["items"][-1]["id"]
    job = first("/jobs")["jobId"]
    here = f"/g/{group}"
    return {
        "overview": f"{here}/overview",
        "alarms": f"{here}/alarms",
        "live": f"{here}/live",
        "devices": f"{here}/devices",
        "import": f"{here}/devices/import",
        "map": f"{here}/map",
        "explore": f"{here}/explore",
        "connectors": f"{here}/connectors",
        "new-connector": f"{here}/connectors/new",
        "connector": f"{here}/connectors/{CONNECTOR}",
        "messages": f"{here}/messages",
        "notifications": f"{here}/notifications",
        "new-notification": f"{here}/notifications/new",
        "notification": f"{here}/notifications/{notification}",
        "reports": f"{here}/reports",
        "new-report": f"{here}/reports/new",
        "report": f"{here}/reports/{report}",
        "contact-points": f"{here}/contact-points",
        "new-contact-point": f"{here}/contact-points/new?type=rota",
        "contact-point": f"{here}/contact-points/{contact_point}",
        "shared-views": f"{here}/shared-views",
        "settings": f"{here}/settings",
        "people": f"{here}/people",
        "clients": f"{here}/clients",
        "audit": f"{here}/audit",
        "jobs": f"{here}/jobs",
        "job": f"{here}/jobs/{job}",
        "drift": f"{here}/drift",
        "unknown-devices": f"{here}/unknown-devices",
        "device": f"/d/{device}",
        "trace": f"/r/{record}",
        "message-trace": f"/m/{message}",
        "device-chart": f"/d/{device}?tab=chart",
        "device-map": f"/d/{device}?tab=map",
        "device-configuration": f"/d/{device}?tab=configuration",
        "device-downlinks": f"/d/{device}?tab=downlinks",
        "device-changes": f"/d/{device}?tab=changes",
        "groups": "/groups",
        "roles": "/roles",
        "types": "/types",
        "type": "/types/cold-room",
        "account": "/account",
        "platform": "/platform",
    }
