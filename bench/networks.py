"""Network callbacks compared with plain records, and the cost of a codec."""

import statistics
import subprocess
import sys
import time

from bench.ingest import CONNECTIONS, DEVICES, Records
from bench.load import Result, framed, head, run
from bench.service import Service, running
from bench.table import Findings, Row, measured

RATIO_MIN = 0.8
CODEC_US_MAX = 200.0
RATE = 200
ROUNDS = 3  # alternating, because the speed of the disk varies
FIRST_ID = 0x1000000  # as long as most ids of the vendor
TYPE = "tracker"
CODEC = """
function decodeUplink(input) {
  var bytes = input.bytes;
  return {
    data: {
      temperature: ((bytes[0] << 8) | bytes[1]) / 100,
      humidity: bytes[2] / 2,
      battery: ((bytes[3] << 8) | bytes[4]) / 1000,
      moved: (bytes[5] & 1) === 1,
    },
  };
}
"""


def measure(findings: Findings, seconds: float) -> None:
    # Each on its own database: the first records of a device cost less than later ones.
    with running() as service:
        devices, _ = fleet(service)
        plain = run(
            service.host,
            service.port,
            Records(service, devices),
            connections=CONNECTIONS,
            seconds=seconds,
        )
    findings.add(measured("POST /device/data, to compare", plain))
    with running() as service:
        bare = run_closed_loop(service, fleet(service)[1], seconds, first=3_000_000)
    findings.add(measured("POST /network/vendor/data", bare, ceiling=plain, ratio_min=RATIO_MIN))
    with running() as service:
        _, token = fleet(service)
        fields = "temperature::int:16 humidity::uint:8 battery::uint:16"
        set_decoder(service, "--decoder", "bits", "--decoder-source", fields)
        bits = run_closed_loop(service, token, seconds, first=6_000_000)
        findings.add(measured("the same with a bit format", bits, ceiling=plain))
        quiet, codec = [], []
        for number in range(ROUNDS):
            # Another decoder invalidates the device cache; one run fills it again.
            first = 9_000_000 * (2 * number + 1)
            set_decoder(service, "--decoder", "bits", "--decoder-source", fields)
            run_closed_loop(service, token, seconds, first=first)
            quiet.append(run_open_loop(service, token, seconds, first=first + 3_000_000))
            set_decoder(service, "--decoder", "javascript", "--decoder-source", CODEC)
            full = run_closed_loop(service, token, seconds, first=first + 6_000_000)
            codec.append(run_open_loop(service, token, seconds, first=first + 9_000_000))
        bare_ms = statistics.median(each.p50_ms for each in quiet)
        findings.add(
            Row(f"a callback with a bit format, {RATE} a second", rate=RATE, p50_ms=bare_ms)
        )
        findings.add(codec_row(bare_ms, statistics.median(each.p50_ms for each in codec)))
        findings.add(measured("maximum with a codec in JavaScript", full, ceiling=plain))


def codec_row(bare_ms: float, codec_ms: float) -> Row:
    """The extra latency of a callback with a codec, in a service that is not busy."""
    more_us = (codec_ms - bare_ms) * 1_000
    return Row(
        f"the same with a codec in JavaScript, {RATE} a second",
        rate=RATE,
        p50_ms=codec_ms,
        note=f"{more_us:.0f} µs on top",
        aim=f"< {CODEC_US_MAX:.0f} µs on top",
        met=more_us < CODEC_US_MAX,
    )


def fleet(service: Service) -> tuple[list[str], str]:
    """Devices, and the token of their group."""
    group_ = service.call("POST", "/group", {"name": "fleet"})
    group = group_["id"]
    ids = [f"{FIRST_ID + each:X}" for each in range(DEVICES)]
    request_body = {"originalDevicesIds": ids, "groupId": group, "type": TYPE, "network": "vendor"}
    devices = service.call("POST", "/devices", request_body)["items"]
    return [each["deviceId"] for each in devices], group_["token"]


def run_closed_loop(service: Service, token: str, seconds: float, first: int) -> Result:
    return run(
        service.host,
        service.port,
        Callbacks(token, first),
        connections=CONNECTIONS,
        seconds=seconds,
    )


def run_open_loop(service: Service, token: str, seconds: float, first: int) -> Result:
    return run(
        service.host,
        service.port,
        Callbacks(token, first),
        connections=8,
        seconds=seconds,
        rate=RATE,
    )


class Callbacks:
    """The n-th callback of the vendor's network, with increasing sequence numbers per device."""

    def __init__(self, token: str, first: int) -> None:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._head = head("POST", "/network/vendor/data", headers=headers)
        self._first = first

    def __call__(self, number: int) -> bytes:
        rounds, device = divmod(self._first + number, DEVICES)
        return framed(
            self._head,
            b'{"device":"%X","time":%d,"data":"0a1b2c3d4e5f","seqNumber":%d,"ack":false}'
            % (FIRST_ID + device, 1_700_000_000 + rounds, 1_000 + rounds % 3_000),
        )


def set_decoder(service: Service, *decoder: str) -> None:
    """Set the decoder by the CLI; the running service sees the change within two seconds."""
    command = [sys.executable, "-m", "longwire", "device-type", "set-decoder", TYPE]
    subprocess.run(
        [*command, "--data", str(service.data), *decoder], check=True, stdout=subprocess.DEVNULL
    )
    time.sleep(2)
