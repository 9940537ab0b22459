"""Files that a loss of power does not take back, and locks that end with their process.

What was written stands in the memory of the system until it is synced, and so does the name of a
new file. A rename is atomic, but without a sync before it the new name may lead to an empty file,
and without one after it the old name may come back (Pillai et al. 2014, "All file systems are not
created equal", section 4).

**JSON that anybody may have written, read strictly: one meaning, finite numbers, finite depth.**

JSON lets a name stand twice and Python lets the last one win, so that two readers may see two
contents; it lets numbers overflow to infinity, and nests without limit.

**Signatures by Ed25519 (RFC 8032): who vouches for a text, and that it is the one vouched for.**

A signature says that whoever holds the private key signed this very text. Whose key it is, it
cannot say: compare the public key with one that was given in another way.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from errno import ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from understudy.errors import SignatureError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

PROGRESS_VARIABLE = "UNDERSTUDY_PROGRESS"
"""Names a file that gets each stage of a command as a line of JSON, for whoever watches."""
LOCKS = fcntl is not None
"""Whether this system has locks that end with their process."""
NOT_REAL: Final = "Synthetic records, not real people."
"""What every file of sets says that can say something of itself."""
PARQUET_NOTE: Final = {"understudy": NOT_REAL}
"""The same, as metadata of a Parquet file."""
_WITHOUT_LOCKS = {ENOLCK, ENOSYS, ENOTSUP, EOPNOTSUPP}


def lock(file: int) -> None:
    """Lock an open file until it is closed, or its process ends in whatever way.

    Where the system or the file system has no locks, nothing happens.

    Args:
        file: its number.

    Raises:
        BlockingIOError: another process, or another opening of this one, has locked it.
    """
    if not LOCKS:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise


def write_all(file: int, data: bytes) -> None:
    """Write all of some data to an open file; a system may take less at once.

    Raises:
        OSError: it cannot be written.
    """
    while data:
        data = data[os.write(file, data) :]


def replace(place: Path, data: bytes) -> None:
    """Write a file in the place of another at once, with its rights.

    Whoever dies meanwhile leaves the one or the other.

    Args:
        place: an existing file; where it is a link, what that leads to is replaced.
        data: the new content.

    Raises:
        OSError: it cannot be written; the old one is as it was.
    """
    place = place.resolve()
    new = place.with_name(f".{place.name}.{os.getpid()}.new")
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        try:
            write_all(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        new.chmod(place.stat().st_mode & 0o7777)
        new.replace(place)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder survive a loss of power; on Windows they do by journal.

    Raises:
        OSError: the disk failed.
    """
    if os.name != "nt":
        _sync(folder, os.O_RDONLY)


def sync_all(folder: Path) -> None:
    """Make sure that all files and folders below a folder survive a loss of power, and it too.

    Raises:
        OSError: the disk failed.
    """
    for place in folder.rglob("*"):
        if place.is_dir():
            sync_folder(place)
        else:
            _sync(place, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    sync_folder(folder)


def reason(error: BaseException) -> str:
    """Why a file could not be written, in the words of the system.

    Args:
        error: of the system, or of a library that writes files.

    Example:
        >>> reason(OSError(28, "No space left on device")), reason(OSError())
        ('No space left on device', 'OSError')
    """
    told = getattr(error, "strerror", None) or str(error).strip().partition("\n")[0]
    return told.rstrip(".") or type(error).__name__


def _sync(place: Path, flags: int) -> None:
    file = os.open(place, flags)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def parse(text: str) -> Any:
    """The content of a text in JSON.

    Args:
        text: of the file.

    Raises:
        ValueError: not JSON, or JSON of one of these kinds; says which, in words.

    Example:
        >>> parse('{"sets": 2}')
        {'sets': 2}
    """
    try:
        content = json.loads(
            text,
            object_pairs_hook=_distinct,
            parse_constant=_refuse_text,
            parse_float=_finite,
            parse_int=_whole,
        )
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"it is not JSON ({place})") from None
    except UnicodeEncodeError:
        raise ValueError("it holds half of a character") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return content


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("it holds a name twice")
    return content


def _refuse_text(_text: str) -> NoReturn:
    raise ValueError("it holds a number that is not finite")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse_text(text)
    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("it holds a number of thousands of digits") from None


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
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

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
