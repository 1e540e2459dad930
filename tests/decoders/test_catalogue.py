"""The kinds of decoders by name."""

import pytest

from longwire.decoders.base import BadDecoder
from longwire.decoders.catalogue import DECODERS_KEPT_MAX, decoder_of


@pytest.mark.parametrize(
    "kind, source, values",
    [
        ("bits", "temp::int:16", {"temp": 0x0166}),
        ("cayenneLpp", "", {"presence_1": 1}),
        ("javascript", "function Decoder(bytes) { return {n: bytes.length} }", {"n": 3}),
    ],
)
def test_each_kind_has_its_decoder(kind, source, values):
    decoder = decoder_of(kind, source)
    assert decoder.decode(bytes.fromhex("016601"), None, 0).values == values
    assert decoder_of(kind, source) is decoder


def test_an_unknown_kind_is_refused_with_those_that_are_known():
    with pytest.raises(BadDecoder, match="bits, cayenneLpp, javascript"):
        decoder_of("python", "")


def test_no_more_decoders_are_kept_than_there_is_room_for():
    for number in range(DECODERS_KEPT_MAX + 10):
        decoder_of("bits", f"a{number}::uint:8")
    assert decoder_of.cache_info().currsize == DECODERS_KEPT_MAX
