"""Who may speak with the desk: one browser on this machine, let in by a link that works once.

Stands before all pages, as an application around the application (ASGI). Against: another page in
the same browser (forged requests, a name that is pointed at this machine), another user of the
machine, a copied link, a desk that somebody forgot to close. Not against whoever has the account.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qsl

from understudy.desk.words import _

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES: Final = 2**20
"""Of a form."""
MOST_FIELDS: Final = 20_000
LINK_SECONDS: Final = 120.0
IDLE_SECONDS: Final = 1_800.0

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
FRAMED_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)
"""Of a page of a release, which has its style inside; it runs nothing and asks for nothing."""
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Door:
    """The one session of a desk, and what every request is asked before it is heard.

    Args:
        inside: the pages.
        port: that they are served at, on 127.0.0.1.
        clock: seconds.
    """

    def __init__(
        self, inside: Application, port: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._inside = inside
        self.host = f"127.0.0.1:{port}"
        self.origin = f"http://{self.host}"
        self._cookie = f"understudy_desk_{port}"  # cookies do not tell ports apart
        self._clock = clock
        self._token, self._token_until = "", 0.0
        self._session, self._seen = "", 0.0
        self.csrf = ""

    def link(self) -> str:
        """Make a link that lets one browser in, once, within two minutes; it ends older links."""
        self._token = secrets.token_urlsafe(32)
        self._token_until = self._clock() + LINK_SECONDS
        return f"{self.origin}/enter?token={self._token}"

    def close(self) -> None:
        """End the session."""
        self._session = self.csrf = ""

    @property
    def is_open(self) -> bool:
        """True while a browser is in, and was not idle for too long."""
        if self._session and self._clock() - self._seen > IDLE_SECONDS:
            self.close()
        return bool(self._session)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it with one sentence."""
        if scope["type"] == "lifespan":
            await self._inside(scope, receive, send)
            return
        if scope["type"] != "http":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send)
        headers = _headers(scope)
        refusal = self._refuse_origin(scope, headers)
        if refusal is None and scope["path"] == "/enter":
            await self._enter(scope, send)
            return
        if refusal is None:
            refusal = self._refuse_session(scope, headers)
        if refusal is None and scope["method"] == "POST":
            body, refusal = await self._read_form(scope, headers, receive)
            receive = _again(body, receive)
        if refusal is not None:
            await answer(send, *refusal)
            return
        await self._inside(scope, receive, send)

    def _refuse_origin(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, str] | None:
        """Where a request comes from, before anything else of it is looked at."""
        if headers.get("host") != [self.host]:
            return 421, _("The desk answers at %(address)s alone.", address=self.origin)
        same = headers.get("sec-fetch-site", ["none"]) in (["none"], ["same-origin"])
        if not same or headers.get("origin", [self.origin]) != [self.origin]:
            return 403, _("This request comes from another page.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, _("The desk knows GET and POST alone.")
        return None

    def _refuse_session(
        self, scope: Scope, headers: dict[str, list[str]]
    ) -> tuple[int, str] | None:
        if not self.is_open:
            return 403, _(
                "Nobody is let in here without a new link: press Enter where the desk was started."
            )
        try:
            cookie = SimpleCookie("; ".join(headers.get("cookie", []))).get(self._cookie)
        except CookieError:
            cookie = None
        if cookie is None or not hmac.compare_digest(cookie.value.encode(), self._session.encode()):
            return 403, _(
                "Another browser is at the desk; press Enter where it was started for a new link."
            )
        if not scope["path"].endswith("/events"):  # which nobody's hand asks for
            self._seen = self._clock()
        return None

    async def _enter(self, scope: Scope, send: Send) -> None:
        given = dict(parse_qsl(scope.get("query_string", b"").decode("ascii", "replace")))
        known, until = self._token, self._token_until
        good = hmac.compare_digest(given.get("token", "").encode(), known.encode())
        if scope["method"] != "GET" or not known or not good or self._clock() > until:
            said = _("This link was used, or is too old: press Enter where the desk was started.")
            await answer(send, 403, said)
            return
        self._token = ""
        self._session, self.csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._seen = self._clock()
        cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        await answer(send, 303, "", {"location": "/", "set-cookie": cookie})

    async def _read_form(
        self, scope: Scope, headers: dict[str, list[str]], receive: Receive
    ) -> tuple[bytes, tuple[int, str] | None]:
        """The fields of a form, into `scope["form"]`; refused without the session's mark."""
        kind = headers.get("content-type", [""])[0].partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            return b"", (415, _("The desk takes plain forms alone; files stay where they are."))
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > MOST_BYTES:
                return b"", (413, _("This form is longer than a mebibyte."))
            if not message.get("more_body"):
                break
        try:
            fields = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS
            )
        except ValueError:
            return b"", (400, _("This form cannot be read."))
        form: dict[str, list[str]] = {}
        for name, value in fields:
            form.setdefault(name, []).append(value)
        mark = headers.get("x-csrf", form.get("csrf", [""]))[0]
        if not hmac.compare_digest(mark.encode(), self.csrf.encode()):
            return b"", (403, _("This form is of an earlier session; load the page again."))
        scope["form"] = form
        return body, None


async def answer(
    send: Send, status: int, sentence: str, headers: dict[str, str] | None = None
) -> None:
    """Answer with one sentence, as plain text.

    Args:
        send: of ASGI.
        status: of HTTP.
        sentence: no value of any row.
        headers: further ones.
    """
    named = {"content-type": "text/plain; charset=utf-8", **(headers or {})}
    coded = [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": coded})
    await send({"type": "http.response.body", "body": f"{sentence}\n".encode()})


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _with_headers(send: Send) -> Send:
    """Add what every answer says to browsers, where it does not say so itself."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", ())}
            added = [(n.encode(), v.encode()) for n, v in _HEADERS.items() if n.encode() not in own]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return send_with_headers


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read, for whoever reads it next."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again
