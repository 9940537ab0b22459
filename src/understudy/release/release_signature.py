"""The steward's signature on a release, in a file beside the manifest that it signs.

It is of the checksum of the manifest, which holds those of all other files. So the manifest cannot
list it, and it is the one file of a release that is not listed.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Final

from understudy import disk, strict_json
from understudy.errors import ReleaseError, SignatureError, UnsavedError
from understudy.release.place import MANIFEST
from understudy.signatures import Signature, sign

SIGNATURE: Final = "manifest.sig"
"""Its name in the folder of a release."""


def require_key(key: Path) -> None:
    """Refuse a key that could not sign; to be called before anything is spent.

    Args:
        key: file of a private key.

    Raises:
        SignatureError: it cannot be read, others can read it as well, or it holds no such key.
    """
    sign("", key)


def clear_unfinished(folder: Path) -> None:
    """Remove what a process that died while it signed left in the folder of a release."""
    (folder / f".{SIGNATURE}").unlink(missing_ok=True)


def write_signature(folder: Path, key: Path) -> str:
    """Sign the release in a folder; what signed it before, if anything, is replaced.

    When this returns, the signature is on the disk; a loss of power leaves it whole or as it was.

    Args:
        folder: of a release.
        key: file of a private key.

    Returns:
        The public key, in hex.

    Raises:
        SignatureError: the key cannot be read, others can read it as well, or it is none.
        UnsavedError: the signature cannot be written.
    """
    signature = sign(_signed_text(folder), key)
    text = json.dumps(signature.to_json(), indent=2) + "\n"
    whole, made = folder / SIGNATURE, folder / f".{SIGNATURE}"
    try:
        made.write_text(text, encoding="utf-8")
        with made.open("rb+") as file:
            os.fsync(file.fileno())
        made.replace(whole)
        disk.sync_folder(folder)
    except OSError as error:
        made.unlink(missing_ok=True)
        raise UnsavedError(folder, disk.reason(error)) from None
    return signature.public_key


def signer_of(folder: Path, public_key: str | None = None) -> str:
    """Who signed the release in a folder, by a signature that fits.

    Args:
        folder: of a release.
        public_key: in hex, of whoever must have signed it; None takes any.

    Returns:
        The public key, in hex; "" where it is not signed.

    Raises:
        ReleaseError: its signature is none, is not of this manifest or not by this key, or is
            lacking and a key was named.
    """
    file = folder / SIGNATURE
    if not file.exists():
        if public_key is None:
            return ""
        raise ReleaseError(
            f"The release {str(folder)!r} is not signed, and you named who must have signed it; "
            "ask its publisher."
        )
    try:
        signature = Signature.from_json(strict_json.parse(file.read_text(encoding="utf-8")))
        signature.require(_signed_text(folder), public_key)
    except SignatureError as error:
        why = f"{str(error)[0].lower()}{str(error)[1:-1]}"
    except (OSError, ValueError):
        why = f"its {SIGNATURE} cannot be read"
    else:
        return signature.public_key
    raise ReleaseError(
        f"The signature of the release {str(folder)!r} does not hold: {why}; ask its publisher for "
        "a new copy."
    )


def _signed_text(folder: Path) -> str:
    digest = hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    return f"understudy release sha256:{digest}"
