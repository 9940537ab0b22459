"""Signatures: of this text, by this key, from a file that nobody else reads."""

import os

import pytest

from understudy._storage import Signature, make_key, sign
from understudy.errors import SignatureError


def test_a_signature_is_of_its_text_and_key(tmp_path):
    public = make_key(tmp_path / "key.pem")
    other = make_key(tmp_path / "other.pem")
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600
    signature = Signature.from_json(sign("text", tmp_path / "key.pem").to_json())
    signature.require("text")
    signature.require("text", public)
    with pytest.raises(SignatureError, match="not of this text"):
        signature.require("texts")
    with pytest.raises(SignatureError, match="another key"):
        signature.require("text", other)
    forged = Signature(other, signature.signature)
    with pytest.raises(SignatureError, match="not of this text"):
        forged.require("text")


def test_keys_are_new_files_that_only_their_owner_reads(tmp_path):
    key = tmp_path / "key.pem"
    make_key(key)
    with pytest.raises(SignatureError, match="File exists"):
        make_key(key)
    os.chmod(key, 0o640)
    with pytest.raises(SignatureError, match="read by others"):
        sign("text", key)
    for text in (b"no key", b"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"):
        (tmp_path / "none.pem").write_bytes(text)
        os.chmod(tmp_path / "none.pem", 0o600)
        with pytest.raises(SignatureError, match="no private key of Ed25519"):
            sign("text", tmp_path / "none.pem")


@pytest.mark.parametrize("data", [None, {}, {"public_key": "zz", "signature": ""}, []])
def test_what_is_no_signature_is_refused(data):
    with pytest.raises(SignatureError, match="not one of Ed25519"):
        Signature.from_json(data)
