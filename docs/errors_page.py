"""The page of errors and refusals: classes, codes, and every message that the program holds."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from understudy import errors
from understudy.inference import rules

REMEDIES = {
    "SchemaError": "Correct the file of the schema. `understudy schema check` says at once all "
    "that does not fit.",
    "DataError": "Look at the file, its path, and how the schema says that it is written.",
    "BudgetError": "Give an ε above 0 and a δ below 1, such as `--epsilon 1 --delta 1e-6`.",
    "InsufficientBudgetError": "Ask for less, or start a release with a larger budget.",
    "NotPrivateError": "Choose a method with a guarantee. For a comparison that stays inside, give "
    "`--allow-nonprivate`.",
    "MethodError": "Correct the option that is named, or leave the choice to `--method auto`.",
    "ReleaseError": "Take the folder anew from its publisher, or choose another place for yours.",
    "UnsavedError": "Make room, and save the object elsewhere. Another run would spend again.",
    "CheckpointError": "Go on with the same command and `--resume`, or choose another place.",
    "InferenceError": "Correct the question. `understudy show RELEASE` says what can be asked.",
    "TooFewError": "Ask about larger groups, or fewer of them.",
    "LedgerError": "`understudy ledger show` says what is left, `understudy ledger verify` what "
    "was altered.",
    "SignatureError": "Ask the publisher for the public key, in another way than by the folder.",
    "DeskError": "Follow the sentence on the page. `understudy desk --help` has the options.",
    "StudyError": "Install the studies: `make studies-install`.",
}
"""What to do first about each class of errors; its messages say more."""

CODES = {
    "not-measured": "Send the command of the third line to the publisher: it measures them.",
    "no-delta": "Ask for a release with δ above 0.",
    "not-told": "Ask for the condition that it names, or for a release that declares yours.",
    "lost-in-noise": "Ask about larger groups. The third line says which ε would do.",
    "too-few": "Ask about larger groups, or fewer of them.",
    "sets-not-valid": "Ask a question that the noisy counts answer, or one that was declared.",
    "bootstrap-not-valid": "Leave the bootstrap out, or ask for a release that declares it.",
    "beyond-bounds": "Ask a question away from the bounds, or for a release with wider ones.",
    "out-of-domain": "Ask for a release whose schema describes all records.",
}
"""What to do about a refusal, by its code."""

SENTENCES = re.compile(r"; |(?<=\w)\. (?=[A-Z])")


def errors_page(root: Path) -> Iterator[str]:
    """Markdown of exit codes, codes of refusals, and the messages of each class."""
    yield "# Errors and refusals\n"
    yield (
        "For whoever met a message. At the end you know its cause and what to do. Search the page "
        "for some words of the message. It takes a minute.\n"
    )
    yield (
        "No message holds a value from the records. A sign … stands for what a message fills in: a "
        "name, a path, or a public number.\n"
    )
    yield "## Exit codes\n"
    yield "| code | meaning |\n|---|---|\n| 0 | done |\n| 2 | refused: a sentence says why |"
    yield "| 130 | ended by Ctrl-C |\n| 143 | ended by SIGTERM |\n"
    yield "## Refusals\n"
    yield (
        "A question without valid error bars is refused ([why](../understand/refused.md)). In "
        "Python it is a `RefusedError`, whose `code` is one of these.\n"
    )
    yield "| code | cause | what to do |\n|---|---|---|"
    for code, cause in causes().items():
        yield f"| `{code}` | {cause} | {CODES[code]} |"
    yield ""
    found = messages(root)
    for kind in classes():
        yield f"## {kind.__name__}\n"
        yield f"{_cause(kind)} **What to do first:** {REMEDIES[kind.__name__]}\n"
        if said := found.get(kind.__name__):
            yield "| message | what to do |\n|---|---|"
            for text in sorted(set(said)):
                what, _, fix = SENTENCES.sub("\n", text, count=1).partition("\n")
                fix = fix if fix[1:2] == " " else fix[:1].upper() + fix[1:]
                yield f"| {_cell(what.rstrip('.') + '.')} | {_cell(fix) or '–'} |"
            yield ""


def causes() -> dict[str, str]:
    """Why a question is refused, by code, as the source says it."""
    listed = inspect.getsource(rules).partition("\nCODES: ")[2].partition('"""')[2]
    found = re.findall(r"^\* ([\w-]+): (.+)\.$", listed.partition('"""')[0], re.MULTILINE)
    return dict(found)


def classes() -> list[type[errors.UnderstudyError]]:
    """The classes of errors, in the order of their file."""
    named = vars(errors).values()
    return [
        one
        for one in named
        if inspect.isclass(one)
        and issubclass(one, errors.UnderstudyError)
        and one is not errors.UnderstudyError
    ]


@cache
def messages(root: Path) -> dict[str, list[str]]:
    """The messages of each class, found where they are raised; … for what they fill in."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted((root / "src/understudy").rglob("*.py")):
        source = file.read_text("utf-8")
        if not any(f"{name}(" in source for name in REMEDIES):  # to parse all takes seconds
            continue
        for node in ast.walk(ast.parse(source)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in REMEDIES:  # `ast.unparse` of every call would take seconds
                texts = (written(argument) for argument in node.args)
                found[node.func.id] += [
                    text for text in texts if len(text.replace("…", "").split()) > 2
                ]
    return found


def written(node: ast.expr) -> str:
    """The text that an expression writes."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return re.sub("…+", "…", "".join(written(part) or "…" for part in parts))
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return written(left) + written(right)
    return ""


def _cause(kind: type) -> str:
    return (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")


def _cell(text: str) -> str:
    """A text in a cell of a table, where no sign of it acts."""
    return re.sub(r"([|\\`*_<>\[\]{}$])", r"\\\1", " ".join(text.split()))
