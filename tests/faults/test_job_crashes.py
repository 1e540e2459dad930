"""SIGKILL in the middle of a job: the next process goes on, and nothing is done twice."""

import json
from collections import Counter
from typing import Any

import pytest

from tests.faults.ledger import Start
from tests.process import Service
from tests.waiting import eventually
from tests.world import ok, record_of

DEVICES = 1_000
RECORDS = 4_000  # of a kilobyte, so that a file of them takes some steps


def request(service: Service, method: str, path: str, **kwargs: Any) -> Any:
    return ok(service.http.request(method, path, headers=service.bearer, **kwargs))


def report(service: Service, device: str) -> None:
    text = "x" * 1_000
    for start in range(1, RECORDS + 1, 1_000):
        items = [
            record_of(device, timestamp=str(each), data=text)
            for each in range(start, start + 1_000)
        ]
        request(service, "POST", "/device/data/batch", json={"items": items})


def transfers_of(service: Service, group: str) -> Counter[str]:
    """How often each device was transferred, by the audit log of a group."""
    params = {"groupId": group, "limit": "1000"}
    found: Counter[str] = Counter()
    while True:
        page = request(service, "GET", "/group/audit", params=params)
        found.update(
            each["objectId"] for each in page["items"] if each["action"] == "device.transfer"
        )
        if "nextToken" not in page:
            return found
        params["nextToken"] = page["nextToken"]


@pytest.mark.ordinary_variant("postgresql")
def test_a_killed_job_goes_on_after_its_last_step(serve: Start) -> None:
    service = serve()
    home, target = (
        request(service, "POST", "/group", json={"name": name})["id"] for name in ("home", "target")
    )
    body = {
        "groupId": home,
        "type": "generic",
        "network": "mqtt",
        "originalDevicesIds": [f"device {number}" for number in range(DEVICES)],
    }
    devices = request(service, "POST", "/devices", json=body)["items"]
    report(service, devices[0]["deviceId"])
    exporting = {
        "kind": "export",
        "groupId": home,
        "parameters": {"content": "records", "deviceId": devices[0]["deviceId"]},
    }
    started = request(
        service,
        "POST",
        "/job",
        json={
            "kind": "transfer",
            "groupId": home,
            "filter": {},
            "parameters": {"toGroupId": target},
        },
    )
    params = {"groupId": home, "jobId": started["job"]["jobId"]}

    def job(job_id: str = params["jobId"]) -> dict[str, Any]:
        return dict(request(service, "GET", "/job", params={**params, "jobId": job_id}))

    eventually(lambda: job()["done"] > 0)
    exported = request(service, "POST", "/job", json=exporting)["job"]["jobId"]
    eventually(lambda: job(exported)["done"] > 0)
    service.kill()
    service = serve()
    print(f"killed after {job()['done']} of {DEVICES}, {job(exported)['done']} of {RECORDS}")
    eventually(lambda: "endedAt" in job())
    done = job()
    assert (done["state"], done["done"], done["changed"]) == ("succeeded", DEVICES, DEVICES)
    groups = request(service, "GET", "/group", params={"groupId": target})
    assert groups[0]["numberOfDevices"] == DEVICES
    assert set(transfers_of(service, target).values()) == {1}
    eventually(lambda: "endedAt" in job(exported))
    file = service.http.get(
        "/job/result", params={**params, "jobId": exported}, headers=service.bearer
    )
    written = [json.loads(line)["timestamp"] for line in file.text.splitlines()]
    assert len(set(written)) == len(written) == RECORDS, "each row once"
    assert service.stop() == 0
