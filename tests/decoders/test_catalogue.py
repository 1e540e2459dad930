"""The kinds of decoders by name."""

import pytest

from longwire.decoders.base import BadDecoder
from longwire.decoders.catalogue import DECODERS_KEPT_MAX, decoder_of, known_decoder


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


def test_the_decoders_that_were_used_lately_are_kept_and_no_more_than_there_is_room_for():
    sources = [f"a{number}::uint:8" for number in range(DECODERS_KEPT_MAX + 10)]
    for source in sources:
        decoder_of("bits", source)
        decoder_of("bits", sources[0])  # used again and again
    kept = [source for source in sources if known_decoder("bits", source) is not None]
    assert kept == [sources[0], *sources[-DECODERS_KEPT_MAX + 1 :]]
    assert decoder_of("bits", kept[-1]) is decoder_of("bits", kept[-1])
