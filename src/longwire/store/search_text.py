"""Texts as searches compare them, on both engines."""


def search_text(text: str) -> str:
    """A text without differences of case."""
    return text.casefold()
