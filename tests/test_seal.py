"""Secrets at rest: sealing, unsealing and digests."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.seal import KEY_BYTES, Keyring, UnsealError, new_key

KEYRING = Keyring(bytes(range(KEY_BYTES)))
OTHER = Keyring(bytes(range(1, KEY_BYTES + 1)))

texts = st.text(st.characters(exclude_categories=["Cs"]))


# --- seals ---


@given(text=texts, purpose=texts)
def test_a_sealed_text_is_unsealed_with_its_purpose(text: str, purpose: str) -> None:
    assert KEYRING.unseal(KEYRING.seal(text, purpose), purpose) == text


@given(text=texts, purpose=texts, other=texts)
def test_a_seal_is_invalid_for_another_purpose(text: str, purpose: str, other: str) -> None:
    sealed = KEYRING.seal(text, purpose)
    if other != purpose:
        with pytest.raises(UnsealError):
            KEYRING.unseal(sealed, other)


@given(text=texts, place=st.integers(min_value=0), character=st.characters())
def test_a_seal_with_any_changed_character_is_invalid(
    text: str, place: int, character: str
) -> None:
    sealed = KEYRING.seal(text, "purpose")
    place %= len(sealed)
    replaced = sealed[:place] + character + sealed[place + 1 :]
    inserted = sealed[:place] + character + sealed[place:]
    for tampered in (replaced, inserted):
        if tampered != sealed:
            with pytest.raises(UnsealError):
                KEYRING.unseal(tampered, "purpose")


@given(text=texts, kept=st.integers(min_value=0))
def test_a_truncated_seal_is_invalid(text: str, kept: int) -> None:
    sealed = KEYRING.seal(text, "purpose")
    with pytest.raises(UnsealError):
        KEYRING.unseal(sealed[: kept % len(sealed)], "purpose")


@given(st.text())
def test_a_text_that_is_not_a_seal_is_invalid(made_up: str) -> None:
    with pytest.raises(UnsealError):
        KEYRING.unseal(made_up, "purpose")


def test_a_seal_of_another_key_is_invalid() -> None:
    with pytest.raises(UnsealError):
        OTHER.unseal(KEYRING.seal("secret", "purpose"), "purpose")


def test_a_seal_reveals_nothing_of_its_text_and_is_never_the_same_twice() -> None:
    first, second = (KEYRING.seal("the same secret", "purpose") for _ in range(2))
    assert first != second
    raw = base64.urlsafe_b64decode(first + "=" * (-len(first) % 4))
    assert b"secret" not in raw
    assert first.isascii() and "=" not in first


# --- digests ---


@given(text=texts, other=texts)
def test_a_digest_matches_its_secret_and_no_other(text: str, other: str) -> None:
    digest = KEYRING.digest(text)
    assert KEYRING.digest(text) == digest
    assert KEYRING.matches(text, digest)
    assert KEYRING.matches(other, digest) == (other == text)
    assert not OTHER.matches(text, digest)


def test_a_digest_has_32_bytes_and_nothing_matches_zeros() -> None:
    assert len(KEYRING.digest("secret")) == 32
    assert not KEYRING.matches("", bytes(32))
    assert not KEYRING.matches("secret", b"")


# --- keys ---


def test_the_fingerprint_of_a_key_does_not_reveal_it() -> None:
    key = new_key()
    assert len(key) == KEY_BYTES
    assert Keyring(key).fingerprint == Keyring(key).fingerprint
    assert KEYRING.fingerprint != OTHER.fingerprint
    assert Keyring(key).fingerprint not in key.hex()
    assert len({new_key() for _ in range(100)}) == 100


@pytest.mark.parametrize("length", [0, 16, KEY_BYTES - 1, KEY_BYTES + 1, 64])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length}"):
        Keyring(bytes(length))


@pytest.mark.parametrize("damaged", ["", "a", "é", "AAAA=", "A" * 40, b"", b"short"])
def test_what_is_damaged_is_not_current(damaged: str | bytes) -> None:
    assert not Keyring(b"k" * 32).is_current(damaged, "purpose")
