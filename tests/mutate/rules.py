# SPDX-License-Identifier: LGPL-2.1-or-later
"""Faults that rules make of C sources. A rule changes one place in the body of one function.

The sources have the kernel's layout (clang-format): a function's opening brace is alone in column 0. Comments,
strings and preprocessor lines are masked, so that no rule changes them. A mutant's key has no line number: it stays
the same when code elsewhere in the file moves, and so does the choice of mutants for one seed.
"""
import collections
import hashlib
import re

# start, end: the range of the text that `after` replaces.
Mutant = collections.namedtuple("Mutant", "file function rule line number start end before after key")

MASKED = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*""",
                    re.S | re.M)
BODY = re.compile(r"^\{\n.*?^\}", re.S | re.M)
NAME = re.compile(r"(\w+)\s*\(")
IF = re.compile(r"\bif \(")
LOGIC = re.compile(r"(&&|\|\|)")
COMPARE = re.compile(r"(?<= )(<=|>=|<|>)(?=\s)")
BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
CAST = r"(?:\((?:u?int\w*|size_t|long|unsigned|int8_t)\) )*"
OPERAND = CAST + r"[~-]?(?:\w+|\([^();]*\))(?:(?:->|\.)\w+|\[[^\];]*\]|\([^();]*\))*"
TERM = re.compile(r"(?<=[\w)\]])\s(?:[-+|&^]|<<|>>)\s+" + OPERAND + r"(?: [*/%] " + OPERAND + r")*")
CALL = re.compile(r"(?:\(void\) )?((?:\w+(?:->|\.))*\w+)\(")
LEFT = r"(?!return\b|else\b)\*{0,2}(?:--|\+\+)?\w+(?:(?:->|\.)\w+|\[[^;{}\n]*?\](?! *\]))*"
ASSIGN = re.compile(LEFT + r"(?: (?:[-+|&^]|<<|>>)?= [^;{}]*|\+\+|--);")
FAILURE = re.compile(r"\breturn (?:-SW_E_\w+|sw_fail\w*\([^;]*\));")
BOOLEAN = re.compile(r"\breturn (true|false);")
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "do", "else", "case", "static_assert"}
# A call that only gives memory back is noticed by the sanitizers alone.
GIVES_BACK = re.compile(r"free|destroy|deinit|close|munmap|va_end|va_start")
# The operators that end an operand of one: those that bind no tighter.
ENDS = {"&&": ("&&", "||"), "||": ("||",), "?": ()}
OPENING, CLOSING = "([{", ")]}"


def mask(text):
    """The text with blanks for what is no code; every offset stays the same."""
    return MASKED.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def functions(masked):
    """(name, start of the body, its end) of each function."""
    found = []
    for body in BODY.finditer(masked):
        head = masked[:body.start()]
        head = head[max(head.rfind(";"), head.rfind("}"), head.rfind("\n\n")) + 1:]
        names = [n for n in NAME.findall(head) if not n.startswith("__") and n != "sw_cleanup"]
        if names:
            found.append((names[0], body.start(), body.end()))
    return found


def partner(masked, at):
    """The offset of what closes the parenthesis at `at`, or -1."""
    depth = 0
    for i in range(at, len(masked)):
        if masked[i] in OPENING:
            depth += 1
        elif masked[i] in CLOSING:
            depth -= 1
            if depth == 0:
                return i
    return -1


def operand_end(masked, at, operator):
    """Where the operand that begins at `at` ends."""
    depth = 0
    i = at
    while i < len(masked):
        c, two = masked[i], masked[i:i + 2]
        if c in OPENING:
            depth += 1
        elif c in CLOSING:
            if depth == 0:
                return i
            depth -= 1
        elif depth == 0 and (c in ";,?:" or two in ENDS[operator]):
            return i
        i += 2 if two in ("||", "&&") else 1
    return i


def operand_begin(masked, end, operator):
    """Where the operand that ends at `end` begins."""
    depth = 0
    i = end - 1
    while i >= 0:
        c, two = masked[i], masked[i - 1:i + 1]
        if c in CLOSING:
            depth += 1
        elif c in OPENING:
            if depth == 0:
                return i + 1
            depth -= 1
        elif depth == 0:
            is_assignment = c == "=" and masked[i - 1] not in "=!<>" and masked[i + 1] != "="
            if c in ";,?:" or is_assignment or two in ENDS[operator]:
                return i + 1
            if masked[:i + 1].endswith("return") and not masked[i + 1].isalnum():
                return i + 1
        i -= 1
    return 0


def conditions(masked, begin, end):
    for m in IF.finditer(masked, begin, end):
        opened = m.end() - 1
        closed = partner(masked, opened)
        if closed < 0:
            continue
        yield "negate", opened, closed + 1, lambda text: f"(!{text})"
        yield "never", opened, closed + 1, lambda text: f"(false && {text})"
        yield "always", opened, closed + 1, lambda text: f"(true || {text})"


def logic(masked, begin, end):
    for m in LOGIC.finditer(masked, begin, end):
        operator = m.group(1)
        yield "swap", m.start(), m.end(), lambda text: "||" if text == "&&" else "&&"
        after = operand_end(masked, m.end(), operator)
        yield "operand", m.start(), after, lambda text: ""
        before = operand_begin(masked, m.start(), operator)
        is_first = masked[max(before - 2, 0):before] != operator
        if is_first:
            before += len(masked[before:]) - len(masked[before:].lstrip())
            behind = m.end() + len(masked[m.end():]) - len(masked[m.end():].lstrip())
            yield "operand", before, behind, lambda text: ""


def bounds(masked, begin, end):
    for m in COMPARE.finditer(masked, begin, end):
        yield "bound", m.start(), m.end(), lambda text: BOUNDARY[text]


def terms(masked, begin, end):
    for m in TERM.finditer(masked, begin, end):
        yield "term", m.start(), m.end(), lambda text: ""


def arms(masked, begin, end):
    """A choice between two values is always the one, or always the other."""
    for at in range(begin, end):
        if masked[at] != "?":
            continue
        start = operand_begin(masked, at, "?")
        start += len(masked[start:at]) - len(masked[start:at].lstrip())
        middle = operand_end(masked, at + 1, "?")
        if masked[middle:middle + 1] != ":":
            continue
        stop = operand_end(masked, middle + 1, "?")
        yield "arm", start, stop, lambda text, cut=(at + 1 - start, middle - start): text[cut[0]:cut[1]].strip()
        yield "arm", start, stop, lambda text, cut=middle + 1 - start: text[cut:].strip()


def begins_statement(masked, at):
    before = masked[:at].rstrip()
    return before[-1:] in (";", "{", "}", ")", ":") or re.search(r"\b(else|do)$", before[-5:]) is not None


def statements(masked, begin, end):
    line = begin
    while line < end:
        next_line = masked.find("\n", line) + 1 or end
        start = line + len(masked[line:next_line]) - len(masked[line:next_line].lstrip())
        call = CALL.match(masked, start, end)
        if call and call.group(1) not in KEYWORDS:
            closed = partner(masked, call.end() - 1)
            if (masked[closed + 1:closed + 2] == ";" and begins_statement(masked, start) and
                    not GIVES_BACK.search(call.group(1))):
                yield "call", start, closed + 2, lambda text: "(void) 0;"
        assign = ASSIGN.match(masked, start, end)
        if assign and begins_statement(masked, start):
            yield "assign", start, assign.end(), lambda text: "(void) 0;"
        line = next_line


def results(masked, begin, end):
    for m in FAILURE.finditer(masked, begin, end):
        yield "success", m.start(), m.end(), lambda text: "return 0;"
    for m in BOOLEAN.finditer(masked, begin, end):
        yield "boolean", m.start(), m.end(), \
            lambda text: "return false;" if "true" in text else "return true;"


FAMILIES = (conditions, logic, bounds, terms, arms, statements, results)


def mutants_of(path, text):
    """All mutants of a source, in the order of the rules."""
    masked = mask(text)
    seen = collections.Counter()
    found = []
    for function, begin, end in functions(masked):
        for family in FAMILIES:
            for rule, start, stop, change in family(masked, begin, end):
                first = text.rfind("\n", 0, start) + 1
                line = " ".join(text[first:text.find("\n", start)].split())
                same = "\t".join((path, function, rule, line))
                seen[same] += 1
                before = text[start:stop]
                found.append(Mutant(path, function, rule, line, text.count("\n", 0, start) + 1, start, stop,
                                    before, change(before), f"{same}\t{seen[same]}"))
    return found


def applied(text, mutant):
    return text[:mutant.start] + mutant.after + text[mutant.end:]


def chosen(mutants, seed, n):
    """n of the mutants; each has its place by its own key, so that a new one displaces one at most."""
    def place(mutant):
        return hashlib.sha256(f"{seed}\t{mutant.key}".encode()).digest()
    return sorted(mutants, key=place)[:n]


def equivalents(path):
    """The keys that a human judged to change nothing: each line has a key (five columns), then the reason."""
    keys = {}
    with open(path, encoding="utf-8") as f:
        for row in f:
            if not row.strip() or row.startswith("#"):
                continue
            columns = row.rstrip("\n").split("\t")
            if len(columns) != 6 or not columns[5]:
                raise ValueError(f"{path}: not five columns of a key and a reason: {row.rstrip()}")
            keys["\t".join(columns[:5])] = columns[5]
    return keys
