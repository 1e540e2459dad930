"""The kinds of decoders by name."""

import pytest

from longwire.decoders.base import InvalidDecoder
from longwire.decoders.catalogue import CACHED_MAX, Decoders


@pytest.mark.parametrize(
    "kind, source, values",
    [
        ("bits", "temp::int:16", {"temp": 0x0166}),
        ("cayenneLpp", "", {"presence_1": 1}),
        ("javascript", "function Decoder(bytes) { return {n: bytes.length} }", {"n": 3}),
    ],
)
def test_each_kind_has_its_decoder(kind, source, values):
    decoders = Decoders()
    decoder = decoders.get(kind, source)
    assert decoder.decode(bytes.fromhex("016601"), None, 0).values == values
    assert decoders.get(kind, source) is decoder


def test_an_unknown_kind_is_refused_with_the_list_of_kinds():
    with pytest.raises(InvalidDecoder, match="bits, cayenneLpp, javascript"):
        Decoders().get("python", "")


def test_the_least_recently_used_decoder_is_evicted_from_the_cache():
    decoders = Decoders()
    sources = [f"a{number}::uint:8" for number in range(CACHED_MAX + 1)]
    first, second = (decoders.get("bits", source) for source in sources[:2])
    for source in sources[2:]:
        decoders.get("bits", source)
        assert decoders.get("bits", sources[0]) is first, "used again and again"
    assert decoders.get("bits", sources[1]) is not second
    assert decoders.get("bits", sources[-1]) is decoders.get("bits", sources[-1])
