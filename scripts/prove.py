"""Kill the service with `kill -9` again and again, while clients write and a receiver listens.

`make prove` runs it for some minutes on a folder of its own, and prints what was acknowledged,
stored, delivered and repeated. It needs nothing but the installed service. The exit code is 1 if
anything that was acknowledged is not stored or not delivered, or is stored twice.
"""

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SENDERS = 4
DEVICES = 4
BATCH = 20
REQUEST_S = 20.0
READY_S = 60.0
SETTLED_S = 300.0
PAGE = 1_000
RETRIES = {"retryDelay": 1, "maxRetry": 100}
_WORD = re.compile(r"word-[0-9]+-[0-9]+")
GONE = (OSError, http.client.HTTPException)


@dataclass(slots=True)
class Ledger:
    """What was sent, and what became of it, by the word of each record."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    sent: dict[str, str] = field(default_factory=dict)  # to its device
    acknowledged: set[str] = field(default_factory=set)
    message_ids: dict[str, str] = field(default_factory=dict)
    arrived: Counter[str] = field(default_factory=Counter)  # by message id
    wrong: list[str] = field(default_factory=list)
    kills: int = 0


class Receiver(BaseHTTPRequestHandler):
    """Notes each message, and answers 200."""

    protocol_version = "HTTP/1.1"
    ledger: Ledger

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        message_id = self.headers.get("webhook-id", "")
        with self.ledger.lock:
            self.ledger.arrived[message_id] += 1
            for word in set(_WORD.findall(body.decode())):
                before = self.ledger.message_ids.setdefault(word, message_id)
                if before != message_id:
                    self.ledger.wrong.append(f"{word} has two message ids")
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Listener(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection of a service that was killed."""


class Api:
    """The service over HTTP, for one thread."""

    def __init__(self, port: int, token: str = "") -> None:
        self._port = port
        self._token = token
        self._connection: http.client.HTTPConnection | None = None

    def request(self, method: str, path: str, body: Any = None, **params: Any) -> tuple[int, Any]:
        content = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        return self._exchange(method, path, params, content, headers)

    def sign_in(self, client_id: str, secret: str) -> str:
        headers = {
            "authorization": "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode(),
            "content-type": "application/x-www-form-urlencoded",
        }
        content = b"grant_type=client_credentials"
        status, body = self._exchange("POST", "/oauth2/token", {}, content, headers)
        if status != 200:
            raise SystemExit(f"no token: {status} {body}")
        self._token = str(body["access_token"])
        return self._token

    def _exchange(
        self,
        method: str,
        path: str,
        params: dict[str, Any],
        content: bytes | None,
        headers: dict[str, str],
    ) -> tuple[int, Any]:
        target = f"{path}?{urllib.parse.urlencode(params)}" if params else path
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                "127.0.0.1", self._port, timeout=REQUEST_S
            )
        try:
            self._connection.request(method, target, content, headers)
            response = self._connection.getresponse()
            text = response.read()
        except GONE:
            self._connection.close()
            self._connection = None
            raise
        return response.status, json.loads(text) if text else None


class Service:
    """`longwire serve`, killed and started again on the same folder."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.port = _find_free_port()
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "longwire", "serve", "--data", str(self.data)]
        command += ["--port", str(self.port), "--egress-allow", "127.0.0.0/8"]
        command += ["--token-lifetime-s", "86400"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LONGWIRE_")}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if Api(self.port).request("GET", "/health/ready")[0] == 200:
                    return
            except GONE:
                pass
            time.sleep(0.05)
        text = self._log.read_text(errors="replace")[-3_000:]
        raise SystemExit(f"the service did not start:\n{text}")

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()


def _find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def set_up(api: Api, receiver_port: int) -> tuple[str, list[str]]:
    """A group with devices and a connector; its id, and theirs."""

    def create(path: str, body: Any) -> Any:
        status, created = api.request("POST", path, body)
        if status != 200:
            raise SystemExit(f"{path}: {status} {created}")
        return created

    group = str(create("/group", {"name": "proof"})["id"])
    body = {"groupId": group, "type": "generic", "network": "mqtt"}
    body["originalDevicesIds"] = [f"proof {number}" for number in range(DEVICES)]  # type: ignore[assignment]
    devices = [each["deviceId"] for each in create("/devices", body)["items"]]
    params = json.dumps({"url": f"http://127.0.0.1:{receiver_port}/"})
    connector = {"groupId": group, "type": "http", "params": params, "retryPolicy": RETRIES}
    create("/connector", connector)
    return group, devices


def send(
    number: int, port: int, token: str, devices: list[str], ledger: Ledger, over: threading.Event
) -> None:
    """Send records, one or many at a time, and repeat what was not acknowledged."""
    chance = random.Random(number)
    api, count = Api(port, token), 0
    while not over.is_set():
        device = chance.choice(devices)
        size = chance.choice((1, 1, BATCH))
        words = [f"word-{number}-{count + each}" for each in range(size)]
        count += size
        bodies = [
            {
                "deviceId": device,
                "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "data": word,
                "configuration": "{}",
                "__raw": "00",
                "deviceType": "generic",
            }
            for word in words
        ]
        with ledger.lock:
            ledger.sent.update(dict.fromkeys(words, device))
        while not _store(api, bodies, words, ledger):
            time.sleep(0.1)


def _store(api: Api, bodies: list[dict[str, str]], words: list[str], ledger: Ledger) -> bool:
    """Whether the records are acknowledged, or refused for good."""
    try:
        if len(bodies) == 1:
            status, answer = api.request("POST", "/device/data", bodies[0])
        else:
            status, answer = api.request("POST", "/device/data/batch", {"items": bodies})
    except GONE:
        return False
    if status == 503:
        return False
    with ledger.lock:
        if status == 200:
            ledger.acknowledged.update(words)
        else:
            ledger.wrong.append(f"{status} {answer}")
    return True


def list_stored(api: Api, devices: list[str]) -> Counter[str]:
    """How often each word is stored."""
    found: Counter[str] = Counter()
    for device in devices:
        params: dict[str, Any] = {"deviceId": device, "limit": PAGE}
        while True:
            status, page = api.request("GET", "/device/data", **params)
            if status != 200:
                raise SystemExit(f"records cannot be listed: {status} {page}")
            found.update(each["data"] for each in page["items"])
            if "nextToken" not in page:
                break
            params["nextToken"] = page["nextToken"]
    return found


def wait_for_deliveries(ledger: Ledger, wanted: set[str]) -> set[str]:
    """What has not arrived at the receiver when nothing more can be expected."""
    deadline = time.monotonic() + SETTLED_S
    while True:
        with ledger.lock:
            missing = wanted - set(ledger.message_ids)
        if not missing or time.monotonic() > deadline:
            return missing
        time.sleep(0.5)


def run(folder: Path, minutes: float, seed: int) -> int:
    chance, ledger = random.Random(seed), Ledger()
    handler = type("Handler", (Receiver,), {"ledger": ledger})
    receiver = Listener(("127.0.0.1", 0), handler)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    service = Service(folder)
    try:
        service.start()
        operator = json.loads((service.data / "operator.json").read_text())
        api = Api(service.port)
        token = api.sign_in(operator["clientId"], operator["clientSecret"])
        _, devices = set_up(api, receiver.server_address[1])
        over = threading.Event()
        arguments = (service.port, token, devices, ledger, over)
        senders = [
            threading.Thread(target=send, args=(number, *arguments)) for number in range(SENDERS)
        ]
        for each in senders:
            each.start()
        try:
            _kill_in_a_loop(service, ledger, chance, time.monotonic() + minutes * 60)
        finally:
            over.set()
            for each in senders:
                each.join()
        return report(ledger, list_stored(Api(service.port, token), devices))
    finally:
        service.kill()
        receiver.shutdown()


def _kill_in_a_loop(
    service: Service, ledger: Ledger, chance: random.Random, ends_at: float
) -> None:
    while time.monotonic() < ends_at:
        time.sleep(chance.uniform(0.2, 3.0))
        service.kill()
        ledger.kills += 1
        service.start()
        print(
            f"\r{ledger.kills} kills, {len(ledger.acknowledged)} acknowledged ", end="", flush=True
        )
    print()


def report(ledger: Ledger, stored: Counter[str]) -> int:
    undelivered = wait_for_deliveries(ledger, set(stored))
    lost = ledger.acknowledged - set(stored)
    twice = [word for word, number in stored.items() if number > 1]
    unknown = set(stored) - set(ledger.sent)
    repeated = sum(number - 1 for number in ledger.arrived.values())
    for name, number in (
        ("killed by SIGKILL", ledger.kills),
        ("records sent", len(ledger.sent)),
        ("acknowledged", len(ledger.acknowledged)),
        ("stored", len(stored)),
        ("delivered", len(set(ledger.message_ids) & set(stored))),
        ("delivered again, under the same message id", repeated),
        ("acknowledged and not stored", len(lost)),
        ("stored and not delivered", len(undelivered)),
        ("stored twice", len(twice)),
        ("stored, but never sent", len(unknown)),
        ("errors", len(ledger.wrong)),
    ):
        print(f"{number:10}  {name}")
    for text in ledger.wrong[:5]:
        print(text)
    return 1 if lost or undelivered or twice or unknown or ledger.wrong else 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="prove", description=__doc__)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=None, help="of the times between two kills")
    options = parser.parse_args()
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    print(f"seed {seed}, {options.minutes:g} minutes", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="longwire-prove-"))
    try:
        code = run(folder, options.minutes, seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("Nothing was lost." if code == 0 else "THE PROOF HAS FAILED.")
    sys.exit(code)


if __name__ == "__main__":
    main()
