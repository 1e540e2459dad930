"""What networks call: a callback beside a plain record, and what a codec costs on top."""

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
ROUNDS = 3  # one in turn with the other, because the disk is not always the same
FIRST_ID = 0x1000000  # as long as most of the vendor's
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
    # Each on a database of its own: the first records of a device cost less than the later ones.
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
        bare = called(service, fleet(service)[1], seconds, first=3_000_000)
    findings.add(measured("POST /network/vendor/data", bare, ceiling=plain, ratio_min=RATIO_MIN))
    with running() as service:
        _, token = fleet(service)
        fields = "temperature::int:16 humidity::uint:8 battery::uint:16"
        decode_with(service, "--decoder", "bits", "--decoder-source", fields)
        bits = called(service, token, seconds, first=6_000_000)
        findings.add(measured("the same with a bit format", bits, ceiling=plain))
        quiet, codec = [], []
        for number in range(ROUNDS):
            # Another decoder makes the service forget what it knew of devices; then all speak once.
            first = 9_000_000 * (2 * number + 1)
            decode_with(service, "--decoder", "bits", "--decoder-source", fields)
            called(service, token, seconds, first=first)
            quiet.append(paced(service, token, seconds, first=first + 3_000_000))
            decode_with(service, "--decoder", "javascript", "--decoder-source", CODEC)
            full = called(service, token, seconds, first=first + 6_000_000)
            codec.append(paced(service, token, seconds, first=first + 9_000_000))
        bare_ms = statistics.median(each.p50_ms for each in quiet)
        findings.add(
            Row(f"a callback with a bit format, {RATE} a second", rate=RATE, p50_ms=bare_ms)
        )
        findings.add(on_top(bare_ms, statistics.median(each.p50_ms for each in codec)))
        findings.add(measured("as many as can be with a codec in JavaScript", full, ceiling=plain))


def on_top(bare_ms: float, codec_ms: float) -> Row:
    """How much longer a callback takes when a codec reads it, in a service that is not busy."""
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
    made = service.call("POST", "/group", {"name": "fleet"})
    group = made["id"]
    ids = [f"{FIRST_ID + each:X}" for each in range(DEVICES)]
    wish = {"originalDevicesIds": ids, "groupId": group, "type": TYPE, "network": "vendor"}
    devices = service.call("POST", "/devices", wish)["items"]
    return [each["deviceId"] for each in devices], made["token"]


def called(service: Service, token: str, seconds: float, first: int) -> Result:
    return run(
        service.host,
        service.port,
        Callbacks(token, first),
        connections=CONNECTIONS,
        seconds=seconds,
    )


def paced(service: Service, token: str, seconds: float, first: int) -> Result:
    return run(
        service.host,
        service.port,
        Callbacks(token, first),
        connections=8,
        seconds=seconds,
        rate=RATE,
    )


class Callbacks:
    """The n-th callback of the vendor's network; the messages of a device are numbered."""

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


def decode_with(service: Service, *decoder: str) -> None:
    """As the operator does it beside a running service, which hears of it within two seconds."""
    command = [sys.executable, "-m", "longwire", "device-type", "set-decoder", TYPE]
    subprocess.run(
        [*command, "--data", str(service.data), *decoder], check=True, stdout=subprocess.DEVNULL
    )
    time.sleep(2)
