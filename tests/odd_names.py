"""Names that columns have in files of others, and that a program may trip over."""

WORDS = (
    *("count", "len", "counts", "literal", "index", "noise", "weight", "set", "row", "sum", "mean"),
    *(
        "score",
        "times",
        "below",
        "above",
        "__index_level_0__",
        "row_nr",
        "value",
        "values",
        "place",
    ),
    *("number", "text", "one", "name", "column", "columns", "level", "state", "key", "cell", "id"),
    *("type", "class", "def", "lambda", "None", "True", "and", "or", "not", "in", "if", "C", "I"),
    *(
        "Q",
        "np",
        "log",
        "Intercept",
        "const",
        "e",
        "pi",
        "all",
        "by",
        "to",
        "with",
        "float",
        "str5",
    ),
    *(
        "_n",
        "_N",
        "_pred",
        "strL",
        "level_0",
        "variable",
        "frame",
        "self",
        "schema",
        "kind",
        "file",
    ),
    *("unit", "forbidden", "format", "title", "con", "nul", "null", "NULL", "NA", "nan", "inf"),
)
SIGNS = (
    *("SELECT * FROM t; DROP TABLE t;--", "a'b", 'a"b', "a`b", "''", '""', "\\", "a\\b", "a/b"),
    *("../../etc/passwd", "..", ".", "a.b", ".hidden", "a:b", "a;b", "a,b", "a|b", "a b", " lead"),
    *("trail ", "  ", "\t", "a\tb", "a\nb", "*", "^", "$", "^a$", "^.*$", "a*", "(a", "[a", "{a}"),
    *("{0}", "{{x}}", "{% if %}", "%s", "%(x)s", "${x}", "<script>alert(1)</script>", "<b>", "a<b"),
    *("&amp;", "a&b", "=1+1", "@x", "+x", "-x", "1", "1a", "-1", "1.5", "1e5", "a + b", "a ~ b"),
    *("#", "!", "?", "a==b", "[[analyses]]", "[bold]", "[/]", "x:y", "C(x)", "log(x)", "_", "__"),
)
LETTERS = (
    *("😀", "👩‍👩‍👧", "é", "e\u0301", "ﬁ", "ß", "SS", "ss", "İ", "ı", "Σ", "ς", "A", "Age", "age"),
    *("AGE", "中文", "عربى", "עברית", "𝔘", "\u200b", "\u200bx", "\ufeff", "\u00a0", "\uffff", "ａ"),
    *("①", "x²", "K", "K", "Å", "Å", "a", "é" * 32, "😀" * 20),
    *("x" * n for n in (31, 32, 33, 64, 65, 129, 256, 5000)),
)
NAMES = tuple(dict.fromkeys((*WORDS, *SIGNS, *LETTERS)))
"""Each can be declared."""
NO_NAMES = (
    "",
    "a\rb",
    "a\r\nb",
    "a\x00b",
    "\x1b[31mred",
    "\x85",
    "\u202eabc",
    "a\u2028b",
    "\u200ex",
)
"""None can: it is no name, or holds a sign that acts instead of being seen."""
