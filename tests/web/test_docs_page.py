"""The documentation page: complete, self-contained, and allowed by its own policy."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import pytest

from longwire.web.docs_page import ASSETS, CONTENT_SECURITY_POLICY

PAGE, STYLE, SCRIPT = "/docs", "/docs/docs.css", "/docs/docs.js"
# As the page names them: relative, since a proxy may serve it below a path.
SERVED_ELSEWHERE = {"/openapi.json"}
TOTAL_BYTES_MAX = 100_000


class Elements(HTMLParser):
    """The page's tags with their attributes, and the text inside each script and style."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inline_code: list[str] = []
        self._is_in_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._is_in_code = tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        self._is_in_code = False

    def handle_data(self, data: str) -> None:
        if self._is_in_code and data.strip():
            self.inline_code.append(data)


def text_of(path: str) -> str:
    return ASSETS[path].content.decode()


@pytest.fixture(scope="module")
def elements() -> Elements:
    parser = Elements()
    parser.feed(text_of(PAGE))
    return parser


@pytest.mark.parametrize(
    "path, media_type",
    [
        (PAGE, "text/html; charset=utf-8"),
        (STYLE, "text/css; charset=utf-8"),
        (SCRIPT, "text/javascript; charset=utf-8"),
    ],
)
def test_each_file_of_the_page_has_its_content_and_media_type(path: str, media_type: str) -> None:
    assert ASSETS[path].media_type == media_type
    assert text_of(path).strip()


def test_the_page_is_three_small_files_and_no_more() -> None:
    assert set(ASSETS) == {PAGE, STYLE, SCRIPT}
    assert sum(len(asset.content) for asset in ASSETS.values()) < TOTAL_BYTES_MAX


def test_the_policy_allows_this_service_and_nothing_else() -> None:
    directives = dict(part.split(" ", 1) for part in CONTENT_SECURITY_POLICY.split("; "))
    assert directives == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


@pytest.mark.parametrize("path", [PAGE, STYLE, SCRIPT])
def test_no_file_names_another_host(path: str) -> None:
    assert not re.search(r"\b(?:https?|wss?|ftp):", text_of(path), re.IGNORECASE)
    assert not re.search(r"""["'(=]\s*//\w""", text_of(path)), "a URL without its scheme"


def test_the_style_fetches_nothing() -> None:
    assert not re.search(r"@import|url\(", text_of(STYLE), re.IGNORECASE)


def test_every_address_in_the_page_is_served(elements: Elements) -> None:
    addresses = {
        value
        for _, attributes in elements.found
        for name, value in attributes.items()
        if name in {"src", "href", "action"} and value
    }
    own = {address for address in addresses if not address.startswith(("#", "data:"))}
    ours = {urlsplit(urljoin(f"https://host{PAGE}", address)).path for address in own}
    assert ours == {STYLE, SCRIPT} | SERVED_ELSEWHERE


def test_the_page_has_no_inline_code_for_the_policy_to_block(elements: Elements) -> None:
    names = {name for _, attributes in elements.found for name in attributes}
    assert not elements.inline_code
    assert "style" not in {tag for tag, _ in elements.found}
    assert "style" not in names
    assert not {name for name in names if name.startswith("on")}


@pytest.mark.parametrize(
    "word",
    [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "setHTML",
        "createContextualFragment",
        "DOMParser",
        "srcdoc",
        "document.write",
        "eval(",
        "Function(",
        "import(",
        "javascript:",
    ],
)
def test_the_script_never_turns_text_into_html_or_code(word: str) -> None:
    assert word not in text_of(SCRIPT)


@pytest.mark.parametrize("word", [".style.", "cssText", '"style"', "'style'", "style:"])
def test_the_script_sets_no_inline_style(word: str) -> None:
    assert word not in text_of(SCRIPT)


@pytest.mark.parametrize(
    "word", ["localStorage", "sessionStorage", "indexedDB", "document.cookie", "caches."]
)
def test_the_token_is_kept_nowhere_but_in_memory(word: str) -> None:
    assert word not in text_of(SCRIPT)


def test_every_place_the_script_looks_for_is_in_the_page(elements: Elements) -> None:
    sought = set(re.findall(r'byId\("([^"]+)"\)', text_of(SCRIPT)))
    present = {attributes["id"] for _, attributes in elements.found if "id" in attributes}
    assert sought
    assert sought <= present


def test_every_field_of_the_page_has_a_label(elements: Elements) -> None:
    labelled = {attributes.get("for") for tag, attributes in elements.found if tag == "label"}
    fields = {
        attributes.get("id")
        for tag, attributes in elements.found
        if tag in {"input", "select", "textarea"}
    }
    assert fields
    assert fields <= labelled
