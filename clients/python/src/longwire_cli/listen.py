"""`listen`: what a connector sends, to a program on this machine.

The live stream has what arrives, and a preview what the connector makes of it; both only read.
The connector itself and its receiver do not notice.
"""

import base64
import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

import click
import httpx

from longwire_cli.connection import connected
from longwire_cli.errors import CommandError
from longwire_cli.terminal import printable
from longwire_client import Client, Webhook, events
from longwire_client import models as m

MASK = "********"
# The service shows so many records at once.
PREVIEW_MAX = 100
# For more devices in one event, one preview of the latest records has to do.
DEVICES_MAX = 20
TIMEOUT_S = 15.0
SENT_IDS_MAX = 10_000
_OWN_HEADERS = {"webhook-signature", "webhook-timestamp", "content-length", "host"}


@click.command("listen")
@click.option("--group", "group_id", required=True, help="the connector's group")
@click.option("--connector", "connector_id", required=True, help="an http connector")
@click.option("--port", type=click.IntRange(1, 65_535), default=3_000, show_default=True)
@click.option("--path", default="/", show_default=True, help="of the URL on this machine")
@click.option("--limit", type=click.IntRange(min=1), default=None, help="end after so many")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object a line")
@connected
def listen_command(
    client: Client,
    group_id: str,
    connector_id: str,
    port: int,
    path: str,
    limit: int | None,
    as_json: bool,
) -> None:
    """Send what a connector sends to a program on this machine as well, until interrupted.

    New records go to http://127.0.0.1:PORT as the connector would send them: filtered, formatted
    and signed. They are sent once each, whatever the response is, and the connector's own receiver
    gets its messages as ever. The connector may be disabled.
    """
    connector = client.connectors.get(connector_id, group_id=group_id)
    if connector.type != "http":
        raise CommandError(f"{connector_id} is a connector of the type {connector.type}, not http.")
    with closing(Local(connector, f"http://127.0.0.1:{port}/{path.removeprefix('/')}")) as local:
        click.echo(local.introduction, err=True)
        for number, outcome in enumerate(local.follow(client), 1):
            click.echo(json.dumps(outcome) if as_json else format_outcome(outcome))
            if number == limit:
                return


def find_requests(
    client: Client, connector: m.Connector, arrivals: Sequence[m.Arrival]
) -> Iterator[m.PreviewItem]:
    """What the connector would send for these records, oldest first."""
    wanted = {(each.record.device_id, each.kind, each.record.timestamp) for each in arrivals}
    devices = sorted({device_id for device_id, _, _ in wanted})
    found: list[m.PreviewItem] = []
    for device_id in devices if len(devices) <= DEVICES_MAX else [None]:
        times = [at for device, _, at in wanted if device_id in (None, device)]
        preview = client.connectors.preview(
            connector.group_id,
            connector_id=connector.id,
            device_id=device_id,
            begin_date=min(times),
            end_date=max(times) + timedelta(milliseconds=1),
            limit=PREVIEW_MAX,
        )
        found += preview.items
    for item in reversed(found):
        if item.matches and (item.device_id, item.kind, item.timestamp) in wanted:
            yield item


class Local:
    """The program on this machine."""

    def __init__(self, connector: m.Connector, url: str) -> None:
        self.params: Mapping[str, Any] = json.loads(connector.params)
        self.url = url
        self._connector = connector
        self._secrets = self._choose_secrets()
        self._webhook = Webhook(*self._secrets) if self._secrets else None
        # Not by way of a proxy that the environment names: nothing is to leave this machine.
        self._http = httpx.Client(timeout=TIMEOUT_S, trust_env=False)
        self._sent: dict[str, None] = {}  # the last ids, to send each once

    def _choose_secrets(self) -> list[str]:
        """Those of the connector; a new one if we may not see them; none if it does not sign."""
        given = [self.params.get(name) for name in ("secret", "previousSecret")]
        known = [each for each in given if each]
        if MASK in known:
            return ["whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()]
        return known

    @property
    def introduction(self) -> str:
        text = f"What the connector sends goes to {self.url} from now on."
        if MASK in (self.params.get("secret"), self.params.get("previousSecret")):
            text += f" You may not see its secret; requests are signed with {self._secrets[0]}"
        return text

    def close(self) -> None:
        self._http.close()

    def follow(self, client: Client) -> Iterator[dict[str, Any]]:
        """Send what arrives; what came of each."""
        subgroups = self.params.get("subgroups") is True or None
        for event in client.live(self._connector.group_id, subgroups=subgroups):
            if not isinstance(event, events.Records):
                continue
            for item in find_requests(client, self._connector, event.items):
                outcome = self.send(item)
                if outcome is not None:
                    yield outcome

    def send(self, item: m.PreviewItem) -> dict[str, Any] | None:
        """Send a request once; what came of it."""
        request = item.request
        if request is None:
            return None
        message_id = request.headers.get("webhook-id", "")
        if message_id in self._sent:
            return None
        self._sent[message_id] = None
        if len(self._sent) > SENT_IDS_MAX:
            del self._sent[next(iter(self._sent))]
        body = request.body.encode()
        outcome = {"id": message_id, "deviceId": item.device_id, "kind": item.kind}
        try:
            response = self._http.request(
                request.method,
                self.url,
                content=body,
                headers=self._headers(request.headers, message_id, body),
            )
        except httpx.TransportError as error:
            return {**outcome, "error": str(error) or type(error).__name__}
        took_ms = round(response.elapsed.total_seconds() * 1_000)
        return {**outcome, "status": response.status_code, "durationMs": took_ms}

    def _headers(self, given: Mapping[str, str], message_id: str, body: bytes) -> dict[str, str]:
        headers = {
            name: value
            for name, value in given.items()
            if name.lower() not in _OWN_HEADERS and MASK not in value
        }
        own = self.params.get("headers")
        headers |= {name: str(value) for name, value in (own or {}).items() if value != MASK}
        bearer = self.params.get("bearer")
        headers |= {"Authorization": f"Bearer {bearer}"} if bearer and bearer != MASK else {}
        if self._webhook is not None:
            return {**headers, **self._webhook.sign(message_id, body)}
        return {**headers, "webhook-timestamp": str(int(time.time()))}


def format_outcome(outcome: Mapping[str, Any]) -> str:
    result = outcome.get("error") or f"{outcome['status']} in {outcome['durationMs']} ms"
    return printable(f"{outcome['id']}  {outcome['kind']} of {outcome['deviceId']}: {result}")
