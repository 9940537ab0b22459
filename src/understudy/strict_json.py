"""JSON that anybody may have written, read strictly: one meaning, finite numbers, finite depth.

JSON lets a name stand twice and Python lets the last one win, so that two readers may see two
contents; it lets numbers overflow to infinity, and nests without limit.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


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
            text, object_pairs_hook=_distinct, parse_constant=_refused, parse_float=_finite
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


def _refused(_text: str) -> NoReturn:
    raise ValueError("it holds a number that is not finite")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refused(text)
    return number
