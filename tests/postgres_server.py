"""A server of PostgreSQL for tests: in a folder of its own, on a socket that is there alone."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """Folder of the server's programs; None where none is installed."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def unprivileged() -> list[str]:
    """How the server is started by root, as whom it does not run."""
    if os.geteuid():
        return []
    user = pwd.getpwnam("postgres")
    ids = f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"
    return ["setpriv", *ids]


@contextmanager
def server() -> Iterator[str]:
    """A running server.

    Returns:
        The address of its only database, without its scheme's driver.
    """
    found = programs()
    assert found is not None
    with tempfile.TemporaryDirectory(prefix="understudy-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if not os.geteuid():
            shutil.chown(folder, "postgres")
        os.chmod(folder, 0o755)

        def run(*command: str) -> None:
            whole = [*unprivileged(), *command]
            subprocess.run(whole, check=True, cwd=name, stdout=subprocess.DEVNULL)

        data = str(folder / "data")
        make = [str(found / "initdb"), "-D", data, "-U", "owner", "-A", "trust", "-N", "-E", "UTF8"]
        run(*make, "--no-locale")
        control = [str(found / "pg_ctl"), "-D", data, "-w"]
        settings = f"-k {name} -c listen_addresses='' -c max_connections=120"
        log = str(folder / "log")
        run(*control, "-l", log, "-o", settings, "start")
        try:
            yield f"postgresql://owner@/postgres?host={name}"
        finally:
            run(*control, "-m", "immediate", "stop")
