"""Signatures by Ed25519 (RFC 8032): who vouches for a text, and that it is the one vouched for.

A signature says that whoever holds the private key signed this very text. Whose key it is, it
cannot say: compare the public key with one that was given in another way.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import SignatureError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ALGORITHM = "ed25519"


@dataclass(frozen=True)
class Signature:
    """A signature, with the public key that it is checked by.

    Attributes:
        public_key: 32 bytes in hex.
        signature: 64 bytes in hex.
    """

    public_key: str
    signature: str

    def to_json(self) -> dict[str, str]:
        """Plain data."""
        return {"algorithm": ALGORITHM, **vars(self)}

    @classmethod
    def from_json(cls, data: Any) -> Signature:
        """Read back what `to_json` wrote.

        Raises:
            SignatureError: plain data that it did not write.
        """
        try:
            found = cls(data["public_key"], data["signature"])
            lengths = [len(bytes.fromhex(part)) for part in vars(found).values()]
        except (KeyError, TypeError, ValueError):
            lengths = []
        if lengths != [32, 64] or found.to_json() != data:
            raise SignatureError("The signature is not one of Ed25519, with its public key.")
        return found

    def require(self, text: str, public_key: str | None = None) -> None:
        """Refuse a signature that is not of this text, or not by this key.

        Args:
            text: what was signed.
            public_key: in hex, of whoever should have signed it; None takes the one that stands
                beside the signature, which then says only that one key signed all of it.

        Raises:
            SignatureError: it does not fit.
        """
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if public_key is not None and public_key.strip().lower() != self.public_key:
            raise SignatureError("It was signed by another key than the one you named.")
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public_key))
        try:
            key.verify(bytes.fromhex(self.signature), text.encode("utf-8"))
        except InvalidSignature:
            raise SignatureError("The signature is not of this text: one was altered.") from None


def make_key(path: Path) -> str:
    """Write a new private key (PEM, PKCS #8) into a new file that only its owner can read.

    Returns:
        The public key, in hex.

    Raises:
        SignatureError: the file exists or cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(os.open(path, flags, 0o600), "wb") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no name of a file"
        raise SignatureError(f"The key cannot be written to {str(path)!r}: {why}.") from None
    return _public(key)


def sign(text: str, path: Path) -> Signature:
    """A text signed with the private key in a file.

    Args:
        text: what is signed.
        path: of a key that `make_key` wrote.

    Raises:
        SignatureError: the file cannot be read, others can read it as well, or it holds no such
            key.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        if os.name != "nt" and path.stat().st_mode & 0o077:
            raise SignatureError(
                f"The key {str(path)!r} can be read by others; make a new one, or take their "
                "permission away by chmod 600 if nobody has read it."
            )
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise SignatureError(f"The key {str(path)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise SignatureError(
            f"The file {str(path)!r} holds no private key of Ed25519 in PEM without a password."
        )
    return Signature(_public(key), key.sign(text.encode("utf-8")).hex())


def _public(key: Ed25519PrivateKey) -> str:
    return key.public_key().public_bytes_raw().hex()
