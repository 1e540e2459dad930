"""What may be written to a terminal."""


def printable(text: str) -> str:
    """Without characters that a terminal obeys: names and data come from anybody."""
    return "".join(each if each.isprintable() else "�" for each in text)


def printable_lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(printable, text.split("\n")))
