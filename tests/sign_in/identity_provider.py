"""A certified OpenID provider, run by Node.js, and people who sign in with it by a browser."""

import html
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest

from tests.waiting import PATIENCE_S
from tests.world import World

# Where `make sign-in` puts it.
LIBRARY = Path(__file__).parents[2] / (
    ".brokers/oidc-provider/node_modules/oidc-provider/lib/index.js"
)
PUBLIC_URL = "http://longwire.test"
CALLBACK = f"{PUBLIC_URL}/session/oidc/callback"
CLIENT_ID, CLIENT_SECRET = "longwire", "s3cret with % and :"
_FORM = re.compile(r'<form[^>]* action="([^"]+)".*?name="prompt" value="(\w+)"', re.DOTALL)


class IdentityProvider:
    """The process of the provider."""

    def __init__(self) -> None:
        node = shutil.which("node")
        if node is None or not LIBRARY.exists():
            pytest.skip("Node.js with oidc-provider is missing; `make signin` installs it")
        script = Path(__file__).with_name("provider.mjs")
        self._process = subprocess.Popen(
            [node, str(script), str(LIBRARY), CLIENT_ID, CLIENT_SECRET, CALLBACK],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={"PATH": os.environ["PATH"]},
        )
        assert self._process.stdout is not None
        self.issuer = ""
        while not self.issuer.startswith("http://"):
            self.issuer = self._process.stdout.readline().strip()
            assert self._process.poll() is None, "the provider did not start"

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def settings(self, **changes: Any) -> dict[str, Any]:
        """The settings of a service that trusts this provider."""
        return {
            "public_url": PUBLIC_URL,
            "oidc_issuer": self.issuer,
            "oidc_client_id": CLIENT_ID,
            "oidc_client_secret": CLIENT_SECRET,
            **changes,
        }

    def account(self, login: str, **claims: Any) -> None:
        """Set what the provider says about a person."""
        httpx.put(
            f"{self.issuer}/test/account", json={"login": login, **claims}, timeout=PATIENCE_S
        ).raise_for_status()

    def rotate_keys(self) -> None:
        httpx.post(f"{self.issuer}/test/rotate", timeout=PATIENCE_S).raise_for_status()

    def log_in(self, url: str, login: str) -> str:
        """A person follows the redirect to the provider, logs in and consents; where that leads."""
        with httpx.Client(timeout=PATIENCE_S) as agent:
            response = agent.get(url)
            while not response.headers.get("location", "").startswith(CALLBACK):
                if response.is_redirect:
                    location = str(response.url.join(response.headers["location"]))
                    response = agent.get(location)
                    continue
                form = _FORM.search(response.text)
                assert form is not None, f"{response.status_code} {response.text[:2000]}"
                body = {"prompt": form[2], "login": login, "password": "anything"}
                response = agent.post(html.unescape(form[1]), data=body)
            return response.headers["location"]

    def refuse(self, url: str) -> str:
        """A person follows the redirect to the provider and cancels there."""
        with httpx.Client(timeout=PATIENCE_S) as agent:
            response = agent.get(url, follow_redirects=True)
            abort = re.search(r'href="([^"]+/abort)"', response.text)
            assert abort is not None
            response = agent.get(abort[1])
            while not response.headers["location"].startswith(CALLBACK):
                response = agent.get(str(response.url.join(response.headers["location"])))
            return response.headers["location"]


class Browser:
    """A browser of a person, with its cookies."""

    def __init__(self, world: World) -> None:
        self.http = httpx.Client(base_url=world.url, timeout=PATIENCE_S)

    def begin(self, **params: str) -> str:
        """Start to sign in; where the provider is."""
        response = self.http.get("/session/oidc", params=params)
        assert response.status_code == 302, response.text
        return response.headers["location"]

    def come_back(self, url: str) -> str:
        """Follow the redirect from the provider; where that leads."""
        assert url.startswith(CALLBACK)
        parts = urlsplit(url)
        response = self.http.get(f"{parts.path}?{parts.query}")
        assert response.status_code == 302, response.text
        return response.headers["location"]

    def sign_in(self, provider: IdentityProvider, login: str, **params: str) -> str:
        return self.come_back(provider.log_in(self.begin(**params), login))

    def who(self) -> str | None:
        """The address of whoever is signed in."""
        response = self.http.get("/session")
        return response.json()["user"]["email"] if response.status_code == 200 else None


def change_query(url: str, change: Callable[[dict[str, str]], None]) -> str:
    """A URL with other parameters."""
    params = dict(parse_qsl(urlsplit(url).query))
    change(params)
    return urlsplit(url)._replace(query=urlencode(params)).geturl()
