"""A program that runs commands on a machine that dies: by a kill, or by a loss of power.

It reads a case a line (JSON: folder, command, kill, power), runs each in a forked child of its own,
which needs no time to start, and answers with a line: exit code, what was said, and how many times
the child had come to the disk. A crowd are several such children at once. Nothing is used before
the fork but what is imported.

A case may have a population ledger, a file beside its folder. Then each statement of SQL counts as
such a moment too, and what mechanisms draw noise for is written down, in FOLDER.drawn.
"""

import json
import os
import resource
import shutil
import signal
import sys
from fractions import Fraction
from pathlib import Path

from understudy import cli
from understudy.dp.accountant import PrivacyAccountant
from understudy.dp.gate import Gate
from understudy.inference import refusals
from understudy.ledger.store import LedgerDatabase
from understudy.release.release import Release  # noqa: F401
from understudy.workflow import (
    synthesize,
    verdict,  # noqa: F401
)

CALLS = ("fsync", "write", "rename", "unlink", "mkdir", "rmdir")
"""At which a machine dies, before or after."""


class Machine:
    """Counts what comes to the disk, dies at one such moment, and knows what is really on it.

    A file holds what it held when it was last synced or written through; a folder has the names
    that it had when it was last synced. Whatever was never synced is not there: of all that may be
    left after a loss of power, that is the least.
    """

    def __init__(self, folder, kill, power, delay):
        self.root, self.kill, self.power, self.delay = folder, kill, power, delay
        self.drawn, self.ledger = Fraction(0), None
        self.count, self.charged, self.cut, self.busy = 0, 0, 0, False
        self.files, self.names, self.through = {}, {}, set()
        for place in [folder, *folder.iterdir()]:
            self.keep(os.open(place, os.O_RDONLY))

    def keep(self, file):
        """Have the disk hold what is in an open file or folder."""
        place = f"/proc/self/fd/{file}"
        number = os.fstat(file).st_ino
        if os.path.isdir(place):
            self.names[number] = {
                one.name: (one.inode(), one.is_dir()) for one in os.scandir(place)
            }
        else:
            self.files[number] = Path(place).read_bytes()

    def after_power_loss(self, number, target):
        """Lay out what the disk holds of a folder."""
        target.mkdir(parents=True)
        for name, (inner, is_folder) in self.names.get(number, {}).items():
            if is_folder:
                self.after_power_loss(inner, target / name)
            else:
                (target / name).write_bytes(self.files.get(inner, b""))

    def cut_power(self):
        self.busy = True
        place = Path(f"{self.root}.{self.cut}")
        self.after_power_loss(self.root.stat().st_ino, place)
        Path(f"{place}.charged").write_text(str(self.charged), encoding="utf-8")
        if self.ledger is not None:  # in which what was synced, and what is being written
            for end in ("", "-journal"):
                if os.path.exists(self.ledger + end):
                    shutil.copyfile(self.ledger + end, f"{place}.ledger{end}")
            Path(f"{place}.drawn").write_text(f"{self.drawn}\n", encoding="utf-8")
        self.cut += 1
        self.busy = False

    def watch(self, name):
        """Have a call to the disk go through this machine."""
        call, opened = getattr(os, name), os.open

        def through(*given, **more):
            if self.busy or (name == "write" and given[0] <= 2):
                return call(*given, **more)
            self.moment()
            found = call(*given, **more)
            if name == "fsync" or (name == "write" and given[0] in self.through):
                self.keep(given[0])
            if self.power:
                self.cut_power()
            self.moment()
            return found

        def noted(place, flags, *rest, **more):
            file = opened(place, flags, *rest, **more)
            (self.through.add if flags & os.O_DSYNC else self.through.discard)(file)
            return file

        setattr(os, name, through)
        if name == "write":
            os.open = noted

    def moment(self):
        self.count += 1
        if self.count == self.kill:
            if not self.delay:
                os.kill(os.getpid(), signal.SIGKILL)
            signal.setitimer(signal.ITIMER_REAL, self.delay)  # a signal that nobody handles

    def watch_ledger(self, place, drawn):
        """Have statements of SQL go through this machine, and write down what noise is drawn for.

        Args:
            place: of the ledger.
            drawn: file that takes costs, a line each.
        """
        self.ledger, connect, pay, write = place, LedgerDatabase._connect, Gate._pay, os.write
        file = os.open(drawn, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def connected(database):
            connection = connect(database)
            connection.set_trace_callback(self.statement)
            return connection

        def paid(gate, charges, entries, first):
            found = pay(gate, charges, entries, first)
            if entries is None and gate._source.secure:  # what comes next is the noise
                cost = sum((charge.spent for charge in charges), Fraction(0))
                self.drawn += cost
                write(file, f"{cost}\n".encode())
            return found

        LedgerDatabase._connect, Gate._pay = connected, paid

    def statement(self, sql):
        if self.power and sql.startswith(("BEGIN", "COMMIT")):
            self.cut_power()
        self.moment()


def run(folder, command, said, *, kill=None, power=False, delay=0, ledger="", most=None):
    """The command, in a child that never returns.

    Args:
        folder: in which it is run.
        command: its words.
        said: file for what it says.
        kill: the moment at which it dies.
        power: whether the disk is looked at after every moment.
        delay: seconds from that moment to its death.
        ledger: its place; one that is named like the folder is watched.
        most: bytes that any file may have, as if the disk were full.
    """
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.chdir(folder)
    machine = Machine(folder, kill, power, delay)
    if ledger:
        os.environ["UNDERSTUDY_LEDGER"] = ledger
        machine.watch_ledger(ledger, f"{folder}.drawn")
    if most is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    for name in CALLS:
        machine.watch(name)
    # A release of made-up records spends nothing: what comes to the disk before it has no say.
    synthesize.rehearse = lambda *_given, **_more: None
    append = PrivacyAccountant._append

    def appended(self, entry):
        append(self, entry)
        machine.charged += 1  # from here on its noise may be drawn

    PrivacyAccountant._append = appended
    sys.argv = ["understudy", *command]
    code = 1
    try:
        cli.main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        Path(f"{said}.count").write_text(str(machine.count), encoding="utf-8")
        os._exit(code)


if __name__ == "__main__":
    # As in the tests that load what is written here: a page lists what is not refused by chance.
    refusals.FALSE_ALARM = float(sys.argv[1])
    for line in sys.stdin:
        case = json.loads(line)
        folder, command = Path(case.pop("folder")), case.pop("command")
        crowd = [Path(f"{folder}.{k}.said") for k in range(case.pop("crowd", 1))]
        children = []
        for said in crowd:
            child = os.fork()
            if not child:
                run(folder, command, said, **case)
            children.append(child)
        answers = []
        for child, said in zip(children, crowd, strict=True):
            _, status = os.waitpid(child, 0)
            count = Path(f"{said}.count")
            answers.append(
                {
                    "code": os.waitstatus_to_exitcode(status),
                    "said": said.read_text(encoding="utf-8"),
                    "count": int(count.read_text(encoding="utf-8")) if count.exists() else None,
                }
            )
        sys.stdout.write(json.dumps(answers) + "\n")
        sys.stdout.flush()
