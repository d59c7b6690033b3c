"""Random formulas, valid and hostile, and mutations of them."""

from __future__ import annotations

import unicodedata
from random import Random

NAMES = ["x", "z", "i", "g", "h", "b", "when", "k", "v.1", "é", "日本", "y"]
QUOTED = [
    "`petal width`",
    "`a``b`",
    "`class`",
    "`1x`",
    "`x + z`",
    "`__x`",
    "`\n`",
    "`nan`",
    "`no such`",
    "``",
]
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "10",
    "0.5",
    ".5",
    "5.",
    "1e3",
    "1e308",
    "1e999",
    "1e-320",
    "1e-999",
    "00",
    "007",
    "1_000",
    "0x1F",
    "1j",
    "1e5j",
    "9" * 400,
    "9" * 5000,
    "2147483648",
    "9223372036854775808",
    "4e18",
    "0." + "0" * 400 + "1",
    "1e",
    "1e+",
    "nan",
    "inf",
    "-0.0",
]
STRINGS = [
    "'a'",
    '"b"',
    "'x'",
    "'no such'",
    "''",
    "'\\x00'",
    "'\\n'",
    "'\\'",
    "b'x'",
    "f'{x}'",
    "r'x'",
    "'a' 'b'",
    "'''a'''",
    "'\\ud800'",
    "'\\U0010ffff'",
    "'treatment'",
    "'center'",
]
LITERALS = [
    "True",
    "False",
    "None",
    "...",
    "[1, 2]",
    "[]",
    "(1, 2)",
    "()",
    "{}",
    "{'a'}",
    "[[1], [2]]",
    "['a', 'b']",
    "[1e308, -1e308]",
    "[1, 'a', None]",
    "[True]",
    "-1",
    "+1",
    "--1",
    "[-0.5, 0, 0.5]",
    "[0, 0, 0]",
    "['c', 'b', 'a']",
    "[1] * 1000000",
    "(" * 20 + "1" + ")" * 20,
    "-" * 50 + "1",
]
FUNCTIONS = [
    "log",
    "log2",
    "log10",
    "log1p",
    "exp",
    "sqrt",
    "abs",
    "center",
    "scale",
    "standardize",
    "poly",
    "bs",
    "cr",
    "I",
    "Q",
    "C",
    "np.log",
    "f",
    "sum",
    "Treatment",
    "te",
    "cc",
]
OPTIONS = [
    "center",
    "rescale",
    "ddof",
    "degree",
    "raw",
    "df",
    "knots",
    "include_intercept",
    "lower_bound",
    "upper_bound",
    "constraints",
    "contrast",
    "levels",
    "reference",
    "scores",
    "omit",
    "x",
    "no_such",
]
CONTRASTS = ["Treatment", "Poly", "Sum", "Diff", "Helmert"]
OPERATORS = [
    "+",
    "-",
    ":",
    "*",
    "/",
    "**",
    "^",
    " %in% ",
    "+",
    "+",
    ":",
    "*",
    "~",
    ",",
    "|",
    "&",
    "<",
    "==",
    "//",
    "%",
    "@",
    ".",
    "=",
    ";",
    ":=",
    "",
    " ",
    "\n",
]
ARITHMETIC = ["+", "-", "*", "/", "//", "%", "**", "@", "<", " and ", " in ", " if x else "]
ATTACKS = [
    "__import__('os').system('exit 3')",
    "exec('raise SystemExit')",
    "eval('1')",
    "x.__class__",
    "x[0]",
    "x[x > 0]",
    "(lambda: 0)()",
    "[a for a in x]",
    "open('fuzzed', 'w')",
    "getattr(x, 'y')",
    "x.to_csv('fuzzed')",
    "(x := 1)",
    "f'{__import__(\"os\")}'",
    "print(x)",
    "globals()",
    "breakpoint()",
    "np.load('fuzzed')",
    "*x",
    "**x",
    "await x",
    "yield",
    "not x",
    "x if x else z",
    "`x`.`y`",
    "log(x).y",
    "C(g).x",
    "Q(x)",
    "Q('x', 'y')",
    "Q('')",
    "log()",
    "log(x, z)",
    "log(*x)",
    "log(**{})",
    "log(x=1)",
    "I()",
    "I(1)",
    "C(1)",
    "poly",
    "import os",
    "x # z",
    "\\",
]
CONTROL_CODES = (*range(32), 0x7F, 0x85, 0xA0, 0xAD, 0x2028, 0x202E, 0x200B, 0xFEFF, 0xD800, 0xDFFF, 0xFFFF)
LOOK_ALIKES = "ªºµÅÅſ①Ⅷ²½ｘ＋（）～＾‘’“”−–×÷·‐∶∼￼🙂𝐱𝟙𝓍٣߁"
ODD_CHARACTERS = [
    *map(chr, CONTROL_CODES),
    *LOOK_ALIKES,
    "e\u0301",
    "👩\u200d👧",
    "\u0300",
    "x\ufe0f",
    "가",
    "\U000e0041",
]


def random_formula(rng: Random) -> str:
    """Draw a formula: valid, nearly valid, or random characters."""
    kind = rng.random()
    if kind < 0.35:
        return plain_formula(rng)
    if kind < 0.55:
        return grammar_formula(rng)
    if kind < 0.88:
        text = rng.choice([plain_formula, grammar_formula])(rng)
        for _ in range(rng.choice([1, 1, 2, 3, 8])):
            text = mutate(rng, text)
        return text
    if kind < 0.95:
        return large_formula(rng)
    return "".join(odd_character(rng) for _ in range(rng.randrange(60)))


def plain_formula(rng: Random) -> str:
    """Draw a formula that a person could write; most of them can be fitted."""
    parts = [plain_term(rng) for _ in range(rng.choice([1, 1, 2, 3, 5]))]
    left = rng.choice(["y", "y", "y", "g", "C(g)", "日本", "h"])
    joined = "".join(part + rng.choice([" + ", " + ", " + ", " * ", ":", " - "]) for part in parts)
    return f"{left} ~ {joined}x"


def plain_term(rng: Random) -> str:
    name = rng.choice(["x", "z", "i", "v.1", "é", "`petal width`", "`1x`", "`class`"])
    level = rng.choice(["g", "h", "b", "日本"])
    contrast = rng.choice(["Treatment", "Treatment('b')", "Sum", "Poly", "Helmert", "Diff", "Sum(omit='a')"])
    return rng.choice(
        [
            name,
            level,
            f"{name}:{level}",
            f"{rng.choice(['log', 'exp', 'sqrt', 'abs', 'log1p'])}({name})",
            f"{rng.choice(['center', 'scale', 'standardize'])}({name})",
            f"center({rng.choice(['log', 'exp', 'sqrt', 'abs'])}(abs({name}) + 1))",
            f"poly({name}, {rng.choice([1, 2, 3, 5, 9])}{rng.choice(['', '', ', raw=True'])})",
            f"bs({name}, df={rng.randrange(1, 9)}, degree={rng.randrange(5)})",
            f"bs({name}, knots=[{rng.uniform(-2, 2):.2f}])",
            f"cr({name}, df={rng.randrange(1, 9)})",
            f"cr({name}, df={rng.randrange(1, 9)}, constraints='center')",
            f"C({rng.choice([level, 'i'])}, {contrast})",
            f"I({arithmetic_expression(rng, 1)})",
            f"({name} + {level})**2",
            f"Q({name.strip('`')!r})",
        ]
    )


def grammar_formula(rng: Random) -> str:
    """Draw a formula from the grammar."""
    left = rng.choice(
        ["y", "y", "y", "y", "y", "y", "g", "C(g)", "`class`", "I(x)", "1", "", "y + g", "no_such"]
    )
    right = sum_of_terms(rng, rng.choice([1, 2, 2, 3]))
    return f"{left} ~ {right}" if rng.random() < 0.98 else right


def sum_of_terms(rng: Random, depth: int) -> str:
    parts = [grammar_term(rng, depth)]
    for _ in range(rng.choice([0, 0, 1, 1, 2, 4])):
        parts += [rng.choice(OPERATORS if rng.random() < 0.15 else OPERATORS[:11]), grammar_term(rng, depth)]
    return "".join(parts) if rng.random() < 0.3 else " ".join(parts)


def grammar_term(rng: Random, depth: int) -> str:
    kind = rng.random()
    if kind < 0.4 or depth == 0:
        return rng.choice(NAMES)
    if kind < 0.5:
        return rng.choice([".", "0", "1", "-1", rng.choice(QUOTED), rng.choice(NUMBERS), rng.choice(ATTACKS)])
    if kind < 0.62:
        power = rng.choice(["", "", "**2", "^3", "**8", "**9", f"**{rng.choice(NUMBERS)}", "**x"])
        return f"({sum_of_terms(rng, depth - 1)}){power}"
    return function_call(rng, depth)


def function_call(rng: Random, depth: int) -> str:
    function = rng.choice(FUNCTIONS)
    arguments = [function_argument(rng, depth, function)] if rng.random() < 0.97 else []
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        arguments.append(
            function_option(rng) if rng.random() < 0.85 else function_argument(rng, depth, function)
        )
    return f"{function}({', '.join(arguments)})"


def function_argument(rng: Random, depth: int, function: str) -> str:
    kind = rng.random()
    if function == "Q" and kind < 0.8:
        return rng.choice(["'x'", "'petal width'", "'class'", '"a`b"', "'1x'", "'no such'", "'__x'", "'\\n'"])
    if kind < 0.5 or depth == 0:
        return rng.choice(NAMES)
    if kind < 0.7:
        return function_call(rng, depth - 1)
    if kind < 0.9:
        return arithmetic_expression(rng, depth)
    return rng.choice([*QUOTED, *NUMBERS, *STRINGS, *LITERALS, *ATTACKS])


def arithmetic_expression(rng: Random, depth: int) -> str:
    parts = [operand(rng, depth)]
    for _ in range(rng.choice([1, 1, 2, 5])):
        parts += [rng.choice(ARITHMETIC if rng.random() < 0.1 else ARITHMETIC[:7]), operand(rng, depth)]
    text = " ".join(parts)
    return f"({text})" if rng.random() < 0.3 else text


def operand(rng: Random, depth: int) -> str:
    kind = rng.random()
    if kind < 0.5 or depth == 0:
        return rng.choice(["x", "z", "i", "k", "b", "`petal width`", "-x", "g"])
    if kind < 0.8:
        return rng.choice([*NUMBERS, "2", "2", "-1", "0"])
    return function_call(rng, depth - 1) if kind < 0.9 else f"({arithmetic_expression(rng, depth - 1)})"


def function_option(rng: Random) -> str:
    kind = rng.random()
    name = rng.choice(OPTIONS)
    if kind < 0.25:
        whole = rng.choice(
            [-1, 0, 1, 2, 3, 4, 5, 7, 10, 19, 20, 21, 22, 25, 50, 999, 1000, 1001, 10**6, 2**31, 2**63]
        )
        return f"{rng.choice(['degree', 'df'])}={whole}"
    if kind < 0.4:
        within = ", ".join(
            f"{rng.uniform(-3, 3):.{rng.choice([0, 1, 17])}f}" for _ in range(rng.choice([1, 2, 5, 60]))
        )
        return f"knots=[{within}]"
    if kind < 0.5:
        bound = rng.choice(["-10", "10", "-1e308", "1e308", "0", "1e999", "x", rng.choice(NUMBERS)])
        return f"{rng.choice(['lower_bound', 'upper_bound'])}={bound}"
    if kind < 0.7:
        inner = rng.choice(
            [
                "",
                "'a'",
                "0",
                "[1, 2, 3]",
                "reference='b'",
                "scores=[1, 2, 4]",
                "omit='a'",
                "'no such'",
                rng.choice(LITERALS),
                rng.choice(NUMBERS),
            ]
        )
        return f"{rng.choice(['', 'contrast='])}{rng.choice(CONTRASTS)}({inner})"
    value = rng.choice([*NUMBERS, *STRINGS, *LITERALS, rng.choice(NAMES), rng.choice(ATTACKS)])
    return f"{name}={value}" if rng.random() < 0.9 else value


def mutate(rng: Random, text: str) -> str:
    """Change a formula in one place."""
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice([1, 1, 2, 5, 20]))
    kind = rng.randrange(8)
    if kind == 0:
        return text[:start] + text[end:]
    if kind == 1:
        return text[:start] + text[start:end] * rng.choice([2, 3, 40]) + text[end:]
    if kind == 2:
        return text[:start] + odd_character(rng) + text[start:]
    if kind == 3:
        return text[:start] + rng.choice([*OPERATORS, *"()[]{}`'\"\\#$!?"]) + text[rng.choice([start, end]) :]
    if kind == 4:
        return text[:start] + rng.choice([*NUMBERS, *STRINGS, *LITERALS, *ATTACKS, *QUOTED]) + text[end:]
    if kind == 5:
        other = grammar_formula(rng)
        return text[:start] + other[rng.randrange(len(other)) :]
    if kind == 6:
        return f"{text[:start]}({text[start:end]}){text[end:]}"
    form = rng.choice(["NFC", "NFD", "NFKC", "NFKD"])
    return unicodedata.normalize(form, text) if rng.random() < 0.5 else text.swapcase()


def large_formula(rng: Random) -> str:
    """Draw a formula that is long or deep, or has many terms or columns."""
    count = rng.choice([10, 31, 100, 1000, 20_000, 200_000])
    name, sign = rng.choice(["x", "g", "1", "z", "."]), rng.choice(["+", "-", "*", ":", "**", " "])
    return "y ~ " + rng.choice(
        [
            sign.join([name] * count),
            sign.join(rng.choice(NAMES) for _ in range(count)),
            "(" * count + name + ")" * count,
            "log(" * count + "x" + ")" * count,
            "I(" + sign.join(["x"] * count) + ")",
            "I(" + "-" * count + "x)",
            "I(x" + "**2" * count + ")",
            "(" + " + ".join(f"I(x**{j})" for j in range(min(count, 300))) + f")**{rng.choice([2, 3, 8])}",
            "(x + z + i + g + h + b)" + "**2" * min(count, 100),
            "*".join(["h", "g", "b", "when", "C(i)", "x", "z", "k"] * rng.choice([1, 2])),
            ":".join(f"poly(x, {rng.choice([2, 9, 30])})" for _ in range(rng.choice([2, 3, 8]))),
            ":".join(
                f"bs({n}, df={rng.choice([4, 50, 1000])})" for n in ("x", "z", "i")[: rng.choice([1, 2, 3])]
            ),
            f"poly(x, {rng.choice([5, 29, 30, 59, 100, 999])})",
            f"bs(x, df={rng.choice([3, 30, 999, 1000])}, degree={rng.choice([0, 1, 3, 19, 20])})",
            f"cr(x, df={rng.choice([3, 30, 59, 60, 999])})",
            "C(x, Poly)",
            "C(x):C(z)",
            "C(x):C(z):C(i)",
            "C(x)*C(z)*C(i)*h*g",
            "x" * count,
            "`" + "x" * count + "`",
            "'" + "x" * count + "'",
            "1" * count,
            "x." * count + "x",
            "\t" * count,
            "C(g, levels=[" + ", ".join(f"'{j}'" for j in range(min(count, 20_000))) + "])",
            "bs(x, knots=[" + ", ".join(str(j / count) for j in range(min(count, 20_000))) + "])",
        ]
    )


def odd_character(rng: Random) -> str:
    if rng.random() < 0.5:
        return rng.choice(ODD_CHARACTERS)
    if rng.random() < 0.5:
        return rng.choice("~+-*/:^.,()[]'\"`=\\#@!%&|<>{};$? \n\t01xygE_")
    return chr(rng.choice([rng.randrange(0x250), rng.randrange(0x3000), rng.randrange(0x110000)]))
