"""The desk as a web application: which page an address shows, and what a form does.

Each page is a pair of functions: one shows, the other acts on its form. What acts gives back the
address to go to, so that no reload acts twice; or nothing, and the page is shown again with what
was typed.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from understudy.desk import planning, projects, releasing, reviewing, runs, words
from understudy.desk.door import FRAMED_POLICY, Door
from understudy.desk.project import Known, Project, Roots
from understudy.desk.visit import Desk, ElsewhereError, Page, Visit
from understudy.desk.words import _, refusal
from understudy.errors import UnderstudyError, escape_controls
from understudy.report.text import clean, figure

STEPS: Final[dict[str, Page]] = {
    "file": projects.FILE,
    "schema": reviewing.SCHEMA,
    "questions": planning.QUESTIONS,
    "plan": planning.PLAN,
    "approve": releasing.APPROVE,
    "release": releasing.RELEASE,
    "look": releasing.LOOK,
    "publish": releasing.PUBLISH,
    "asked": releasing.ASKED,
}
"""Of a project, in order."""
OUTSIDE: Final[dict[str, Page]] = {"": projects.PROJECTS, "ledger": releasing.LEDGER}
"""Pages of no project."""
_STATIC: Final = {"desk.css": "text/css", "desk.js": "text/javascript"}
_BEAT, _LOOK = 15.0, 0.5
"""Seconds between signs of life, and between looks at the log."""


class DeskApp:
    """The pages of a desk, and the door that they stand behind.

    Args:
        desk: what they share.
        port: on 127.0.0.1.
    """

    def __init__(self, desk: Desk, port: int) -> None:
        self.desk = desk
        self._templates = Environment(
            loader=PackageLoader("understudy", "desk/templates"),
            autoescape=True,  # never is a text taken for markup
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=clean,
        )
        words.install(self._templates)
        self._templates.filters |= {"figure": figure, "size": size}
        routes = [
            Route("/static/{name}", self._static, methods=["GET"]),
            Route("/end", self._end, methods=["POST"]),
            Route("/p/{id}/events", self._events, methods=["GET"]),
            Route("/p/{id}/framed/{name}", self._show_framed_page, methods=["GET"]),
            Route("/p/{id}/{page}", self._page, methods=["GET", "POST"]),
            Route("/{page}", self._page, methods=["GET", "POST"]),
            Route("/", self._page, methods=["GET", "POST"]),
        ]
        missing = {404: _show_not_found, 405: _show_not_found, UnderstudyError: _show_not_found}
        inside = Starlette(routes=routes, exception_handlers=missing)
        self.door = Door(inside, port)

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """Render one template."""
        return self._templates.get_template(f"{name}.html").render(context)

    async def _page(self, request: Request) -> Response:
        return await run_in_threadpool(self._answer, request)

    def _answer(self, request: Request) -> Response:
        name, id_ = request.path_params.get("page", ""), request.path_params.get("id", "")
        page = (STEPS if id_ else OUTSIDE).get(name)
        if page is None:
            raise HTTPException(404)
        project = self.desk.known.find(id_, self.desk.roots) if id_ else None
        visit = Visit(
            self.desk, project, dict(request.scope.get("form", {})), dict(request.query_params)
        )
        try:
            return self._answer_visit(page, name, visit, acts=request.method == "POST")
        except ElsewhereError as elsewhere:
            return RedirectResponse(str(elsewhere), 303)
        except Exception:
            return self._show_failure()

    def _answer_visit(self, page: Page, name: str, visit: Visit, *, acts: bool) -> Response:
        said = ""
        try:
            went = page.act(visit) if acts else None
            if went is not None:
                return RedirectResponse(went, 303)
        except UnderstudyError as error:
            said = escape_controls(str(error))
        try:
            template, own = page.template, page.show(visit)
        except UnderstudyError as error:
            said, template, own = said or escape_controls(str(error)), "broken", {}
        text = self.render(template, self._common(page, name, visit, said) | own)
        return Response(text, 422 if said else 200, media_type="text/html")

    def _common(self, page: Page, name: str, visit: Visit, said: str) -> dict[str, Any]:
        """Return the values that every page needs."""
        project = visit.project
        return {
            "page": name,
            "title": _(page.title),
            "steps": [(step, _(one.title)) for step, one in STEPS.items()],
            "project": project,
            "here": f"/p/{project.id}" if project else "",
            "csrf": self.door.csrf,
            "said": said,
            "command": "",
            "secret_view": visit.secret_view,
            "run": runs.last(project) if project else runs.Run(),
            "visit": visit,
        }

    def _show_failure(self) -> Response:
        """Say that something went wrong, and nothing of what."""
        said = _("The desk has failed at this page; nothing was spent by it.")
        if self.desk.debug is not None:
            import traceback

            with self.desk.debug.open("a", encoding="utf-8") as file:
                file.write("CONFIDENTIAL, it may hold what was read.\n")
                traceback.print_exc(file=file)
            said += " " + _("What went wrong stands in the file that --debug names.")
        return _sentence(said, 500)

    async def _static(self, request: Request) -> Response:
        kind = _STATIC.get(request.path_params["name"])
        if kind is None:
            raise HTTPException(404)
        place = files("understudy.desk") / "static" / request.path_params["name"]
        return Response(place.read_bytes(), media_type=kind)

    async def _end(self, _request: Request) -> Response:
        self.door.close()
        self.desk.secret_views.clear()
        return _sentence(
            _("The session has ended. Press Enter where the desk runs for a new link.")
        )

    async def _show_framed_page(self, request: Request) -> Response:
        """A page of a release, or the internal one, to be shown in a frame that runs nothing."""
        project = self.desk.known.find(request.path_params["id"], self.desk.roots)
        place = releasing.find_framed_page(
            Visit(self.desk, project, {}, {}), request.path_params["name"]
        )
        headers = {"content-security-policy": FRAMED_POLICY}
        return Response(place.read_bytes(), media_type="text/html", headers=headers)

    async def _events(self, request: Request) -> Response:
        project = self.desk.known.find(request.path_params["id"], self.desk.roots)
        return StreamingResponse(self._tell(project, request), media_type="text/event-stream")

    async def _tell(self, project: Project, request: Request) -> AsyncIterator[str]:
        """Send how far a run is, as it changes, until it ends or the session does."""
        told, quiet = "", 0.0
        while self.door.is_open and not await request.is_disconnected():
            run = await run_in_threadpool(runs.last, project)
            now = json.dumps({"stage": run.stage, "active": run.active})
            if now != told:
                yield f"data: {now}\n\n"
                told, quiet = now, 0.0
            if not run.active:
                return
            await asyncio.sleep(_LOOK)
            quiet += _LOOK
            if quiet >= _BEAT:
                yield ": at work\n\n"
                quiet = 0.0


async def _show_not_found(_request: Request, error: Exception) -> Response:
    told = isinstance(error, UnderstudyError)
    return _sentence(str(error) if told else _("There is no such page."), 404)


def _sentence(text: str, status: int = 200) -> Response:
    return Response(f"{text}\n", status, media_type="text/plain")


def size(n_bytes: int | None) -> str:
    """The size of a file.

    Example:
        >>> size(999), size(2_500_000), size(None)
        ('999 B', '2.5 MB', '')
    """
    if n_bytes is None:
        return ""
    for unit, times in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= times:
            return f"{n_bytes / times:.3g} {unit}"
    return f"{n_bytes} B"


def serve(
    roots: Iterable[str | Path],
    *,
    port: int = 0,
    debug: Path | None = None,
    tell: Callable[[str], object],
    wait: Callable[[], str] | None = None,
) -> None:
    """Serve the desk on 127.0.0.1 until the process ends.

    Args:
        roots: folders below which it may look.
        port: 0 for any that is free.
        debug: file that gets what went wrong.
        tell: is given each link.
        wait: gives a line that somebody typed, upon which there is a new link; "" at the end.

    Raises:
        DeskError: the port is taken, or a root is no folder.
    """
    import socket

    import uvicorn

    desk = Desk(Roots.of([*roots]), Known.of_user(), debug)
    listening = socket.socket()
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()  # so that a link that is followed at once waits, and is not refused
    except OSError:
        raise refusal("The port %(port)s is taken; choose another by --port.", port=port) from None
    door = DeskApp(desk, listening.getsockname()[1]).door
    settings = uvicorn.Config(
        door,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
    threading.Thread(target=planning.warm, daemon=True).start()
    tell(door.link())
    if wait is not None:

        def relink() -> None:
            while wait():
                tell(door.link())

        threading.Thread(target=relink, daemon=True).start()
    uvicorn.Server(settings).run(sockets=[listening])
