"""Tokens and groups: requests compared with a bare response of the same server."""

import base64
import json
from dataclasses import replace

import httpx

from bench.ceiling import serving
from bench.load import Result, request, run
from bench.service import Service, running
from bench.table import Findings, Row, measured, rss_mb
from longwire.web.errors import encode_problem
from longwire.web.server import build_server
from longwire.web.wire_limits import WireLimits

CONNECTIONS = 32
GROUPS = 1_000
MEMORY_MB_MAX = 150.0
PASSWORD = "correct horse battery"
PASSWORD_MS = (50, 150)
OWN_PAGE = {"X-Longwire-Console": "1"}


def service_server(app):
    """The server class of the service around a bare app."""
    return build_server(
        app, host="127.0.0.1", port=0, limits=WireLimits(), encode_error=encode_problem
    )


def measure(findings: Findings, seconds: float) -> None:
    with serving("fixed_response", build_server=service_server) as bare:
        ceiling = run(bare.host, bare.port, [request("GET", "/")], seconds=seconds)
    findings.add(measured("ceiling: bare ASGI response", ceiling))
    with running() as service:
        _operations(findings, service, ceiling, seconds)
        _sign_ins(findings, service, seconds)
        memory = rss_mb(service.pid)
        findings.add(
            Row(
                "resident memory after the run",
                note=f"{memory:.0f} MB",
                aim=f"< {MEMORY_MB_MAX:.0f} MB",
                met=memory < MEMORY_MB_MAX,
            )
        )


def _operations(findings: Findings, service: Service, ceiling: Result, seconds: float) -> None:
    root = service.call("POST", "/group", {"name": "fleet"})["id"]
    for number in range(GROUPS - 1):
        service.call("POST", "/group", {"name": f"group {number}"}, parentId=root)

    def load(name: str, raw: bytes, connections: int = CONNECTIONS, **aims: float) -> None:
        result = run(service.host, service.port, [raw], connections=connections, seconds=seconds)
        findings.add(measured(name, result, ceiling=ceiling, **aims))

    load("POST /oauth2/token", _token_request(service))
    load("GET /user/me", service.request("GET", "/user/me"))
    load("GET /group", service.request("GET", f"/group?groupId={root}"), ratio_min=0.15)
    load("PUT /group", service.request("PUT", "/group", {"groupId": root, "name": "fleet"}))
    page = service.request("GET", "/user/groups?limit=100")
    load("GET /user/groups, 100 of 1,000", page)
    load("the same, one client at a time", page, connections=1, p99_ms_max=20.0)


def _sign_ins(findings: Findings, service: Service, seconds: float) -> None:
    """A password is checked off the event loop, two at a time: others hardly notice."""
    sign_in = {"clientId": service.client_id, "clientSecret": service.client_secret}
    with httpx.Client(base_url=service.http.base_url, headers=OWN_PAGE) as browser:
        email = browser.post("/session", json=sign_in).raise_for_status().json()["user"]["email"]
        browser.put("/user/password", json={"new": PASSWORD}).raise_for_status()
        cookie = f"longwire={browser.cookies['longwire']}"
    me = request("GET", "/user/me", headers={"Cookie": cookie})
    result = run(service.host, service.port, [me], connections=CONNECTIONS, seconds=seconds)
    findings.add(measured("GET /user/me with a cookie", result))
    body = json.dumps({"email": email, "password": PASSWORD}).encode()
    headers = {**OWN_PAGE, "Content-Type": "application/json"}
    raw = request("POST", "/session", headers=headers, body=body)
    result = run(service.host, service.port, [raw], connections=1, seconds=seconds)
    low, high = PASSWORD_MS
    findings.add(
        replace(
            measured("POST /session with a password, one at a time", result),
            aim=f"{low} to {high} ms",
            met=low <= result.p50_ms <= high,
        )
    )


def _token_request(service: Service) -> bytes:
    basic = base64.b64encode(f"{service.client_id}:{service.client_secret}".encode()).decode()
    return request(
        "POST",
        "/oauth2/token?grant_type=client_credentials",
        headers={
            "Authorization": f"Basic {basic}",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
