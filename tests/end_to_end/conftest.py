"""How the command line is run in tests."""

import json
import sys

import pytest

from understudy import cli


class Result:
    """What a command said and how it ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __iter__(self):
        return iter((self.code, self.out, self.err))

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def understudy(monkeypatch, capsys):
    """Run a command in this process: `understudy("plan", …)`."""
    monkeypatch.setenv("COLUMNS", "120")

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["understudy", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        shown = capsys.readouterr()
        return Result(end.value.code or 0, shown.out, shown.err)

    return command
