"""Where things stand: one name for one file, files and functions of a size that can be read."""

import ast
from collections import Counter
from pathlib import Path

import understudy

FILES = sorted(Path(understudy.__file__).parent.rglob("*.py"))
# 360 when the house was built; 25 more for answers from second moments; 4 for a regression with
# errors: its pipeline, what it gives back, its command, and the runs that commands keep; 8 for
# questions about two traits, and for what people read of an answer; 6 for number lines: their
# cells, counts, mechanism and answers, quantiles of counts, numbers beyond bounds; 10 for pictures
# of answers, their page, expected widths, refusals, and widths beside those of the rows; and
# an analysis apart from how it is answered, kinds of questions, and where numbers lie; 1 for
# records out of domain, 2 for intervals by tests of the score, 3 for sums of numbers in cells, and
# noisy tables apart from what is asked of them; 4 for several payments that add up: in which order
# sums stand, how they are put together, how answers share a budget, and the promise of a manifest
# apart from its facts; 2 for ratios of means, and what two groups have; 3 for published forms of
# trees: sets that are made by themselves, BIC, and branches that are declared; 2 for rules
# of bins, and quartiles that are read off rows; 2 for weights of states, and noisy tables of
# Gibbs samplers; 1 for noise of the functional mechanism; 4 for the
# power of a mixture; 4 for what evaluations look up one by one: values on a line,
# numbers, relations, and what is found; 1 for places within runs; 2 for tails of numbers, and
# what tables say of these.
# 10 for derived columns and relations: their language and its values, columns, relations and
# boxes, grids, the unit, the order of numbers, questions, and what the steward is told.
# 10 for verdicts: terms, votes and estimates of subsets, claims, their terms, odds and results, a
# room for these, their pipeline, and its command.
# 19 for population ledgers: costs, caps, accounts, entries and their chain, where they are stored,
# what is checked and exported, the command; and signatures.
# 8 for faults: the disk, the place of a release, JSON that anybody may have written; lines with
# checksums, the anchor of a journal, and what it says was spent, late needs, and streams.
# 20 for answers after a release: questions, purchases, plans, amendments, their answers, pages and
# command, and what is charged to a population; waves; what refuses a release, and what is left of
# a run.
# 1 for extras: what an installation may lack.
# 4 for large tables: states of numbers, codes that are kept, a spill, and its key; 1 for sets that
# come in parts, 1 for contrasts.
# 10 for Spark: passes, tables as passes, what engines share; the jobs, the cluster, plans of both
# kinds, the engine, its session, and a room for these.
# 8 for schemas that say nothing twice and their review: layout of TOML, references and their forms,
# text that is changed entry by entry, conventions, decisions; the command, and what it shows.
# 22 for codebooks: ten formats, what they share, what a column becomes of them, and their drafts.
# 7 for sampling again: evidence in trees, records and models given it, conditions, records drawn
# from a release, the synthesizer, and the command.
# 18 for what people have: files of SPSS, Stata and SAS and what they say of their variables, JSON
# lines, Arrow, workbooks, texts as lines, rows apart from their readers, databases (5), the table
# of a command, and drafts by labels.
# 11 for audits: bounds, observations, events, releases, lines, probes, a room for these, the
# command, what it prints; and measuring apart from what stands around it.
# 3 for drawing: even draws, parts of long sets, and their files in Spark.
# 14 for exports: what is public of columns, their names, numbers and missing values; CSV, SPSS,
# Stata, DDI, Frictionless and Croissant, which formats, which metadata, and a room for these; the
# citation, the codebook page, and the command.
# 10 for times and identifiers: columns of both and of numbers, texts of times, alone and at once,
# their places, how they are released, edges on the calendar; identifiers; numbers of rows. 3 for
# levels with public branches: the tree, how they are merged, and in which columns.
# 7 for what others can check of a release: steps as they are stated, what their prices buy, noise,
# pages, the signature, and its commands; and what a notebook shows.
# 6 for heaps: what they are, their cells and noisy counts, shares, values in bins, and numbers.
# 2 for rules that codebooks state: what is said, and the columns that are proposed.
# 1 for second moments as tables that a fit takes besides.
# 7 for ranks that go together: scores, their sums, with noise, which columns, what is wanted of the
# records, how they exchange, and what tables take in.
# 4 for files that were too long: kinds of measurements, columns of their tables, states of groups,
# sums and moments that leave the gate.
# 4 for models of redrawn sets: effects that a fit keeps firmly, what merged states hide, columns
# whose spread noise leaves as it is, records that clipping misplaced (a file that was too long).
# 4 for counts of states: a table and a line put together, which states hold anybody, merged
# columns, fine bins (three files that were too long).
# 1 for records chosen among many.
# 2 for what few rows allow for: cells that noise leaves room for, and what is not bought of them.
# 1 for runs in which numbers are measured again (a file that was too long).
MOST_FILES, MOST_LINES, LONGEST_FUNCTION = 670, 320, 60


def code_lines(function):
    """Lines of a function below its signature and its docstring."""
    first, *rest = function.body
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    start = (rest[0] if told and rest else first).lineno
    return function.end_lineno - start + 1


def long_functions(name, text):
    """Names of functions that are too long to be read at once."""
    return [
        f"{name}: {node.name}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and code_lines(node) > LONGEST_FUNCTION
    ]


def test_no_two_files_have_one_name():
    names = Counter(file.stem for file in FILES)
    assert {name for name, times in names.items() if times > 1} == {"__init__"}


def test_there_are_no_more_files_than_one_can_know():
    assert len(FILES) <= MOST_FILES


def test_files_are_short():
    lines = {file.name: len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert [name for name, n in lines.items() if n > MOST_LINES] == []


def test_functions_are_short():
    found = [
        one for file in FILES for one in long_functions(file.name, file.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_long_function_is_noticed():
    text = 'def f():\n    """Told."""\n' + "    x = 1\n" * (LONGEST_FUNCTION + 1)
    assert long_functions("x.py", text) == ["x.py: f"]
