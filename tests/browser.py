"""A browser as far as the service sees it: cookies, and the headers that browsers send."""

from types import TracebackType
from typing import Any, Self

import httpx

from tests.world import Person, World, ok

# What the service's own pages send.
OWN_PAGE = {"X-Longwire-Console": "1", "Sec-Fetch-Site": "same-origin"}


class Browser:
    """Keeps cookies; every request looks like one of the service's own pages."""

    def __init__(self, world: World) -> None:
        self.http = httpx.Client(
            base_url=world.url,
            timeout=120,
            verify=False,
            headers={**OWN_PAGE, "Origin": world.url, "User-Agent": "Browser/1.0"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.http.close()

    @property
    def cookie(self) -> str | None:
        """The secret of the session."""
        return next(iter(self.http.cookies.values()), None)

    def sign_in(self, **given: Any) -> httpx.Response:
        return self.http.post("/session", json=given)

    def sign_in_as(self, person: Person) -> dict[str, Any]:
        response = self.sign_in(clientId=person.client_id, clientSecret=person.client_secret)
        return dict(ok(response))

    def is_signed_in(self) -> bool:
        status = self.http.get("/session").status_code
        assert status in (200, 401)
        return status == 200

    def session_ids(self) -> list[str]:
        return [each["sessionId"] for each in ok(self.http.get("/sessions"))["items"]]
