# SPDX-License-Identifier: GPL-2.0-or-later
"""Fills the lists that the program runs by into the interface, the completions and the manual page.

usage: fill-lists.py LISTS.i... TEMPLATE OUTPUT
       fill-lists.py --c OUTPUT.c NAME=FILE...

LISTS.i are C files after the preprocessor, in which each row of a list is a Python dictionary between
ROW and END. In a template, @{NAME} is the names of a list separated by spaces, @{NAME,} the same with
commas; a run of lines with @{NAME.MEMBER} is repeated for every row. A comment of a .varlink file that a list
makes too long is wrapped. In a manual page, a block from '.\\" @options GROUP', '@sections' or '@metrics'
to '.\\" @end' becomes an entry for every row, in the order of the list; what stands behind
'.\\" @more NAME' in that block is put at the end of the entry of that name.

With --c each FILE becomes a C string NAME.
"""
import ast
import itertools
import pathlib
import re
import sys
import textwrap

COLUMNS = 110


def read_lists(paths):
    """{list: [row...]}; the lists that are chosen from others stand beside them."""
    lists = {}
    for path in paths:
        for text in re.findall(r"ROW(\{.*?\})END", pathlib.Path(path).read_text(encoding="utf-8"), re.S):
            row = ast.literal_eval(text)
            lists.setdefault(row.pop("list"), []).append(row)
    lists["default-sections"] = [row for row in lists["sections"] if row["default"]]
    lists["state-sections"] = [row for row in lists["sections"] if row["of"] == "STATES"]
    lists["cgroup-sections"] = [row for row in lists["sections"] if row["about"] == "CGROUPS"]
    for verb in lists.get("verbs", []):
        taken = set(re.findall(r"OPTION_(\w+)", verb["options"]))
        verb["options"] = join((row for row in lists["options"] if row["id"] in taken), "--")
        formats = set(re.findall(r"FORMAT_(\w+)", verb["formats"]))
        lists[f"{verb['name']}-formats"] = [row for row in lists["formats"] if row["id"] in formats]
    options = lists.get("options", [])
    for sides, other in (("one", "TWO"), ("two", "ONE")):
        lists[f"columns-{sides}"] = [row for row in lists.get("columns", []) if row["sides"] != other]
    lists["common-options"] = [row for row in options if row["group"] == "common"]
    lists["valued-options"] = [row for row in options if row["argument"] == "REQUIRED"]
    lists["optional-options"] = [row for row in options if row["argument"] == "OPTIONAL"]
    return lists


def join(rows, prefix="", separator=" "):
    return separator.join(prefix + row["name"] for row in rows)


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def sentence(text):
    return roff(text if text.endswith(".") else text + ".")


def option_heading(row):
    name = f"\\fB{roff('--' + row['name'])}\\fR"
    if row["letter"]:
        name = f"\\fB\\-{row['letter']}\\fR, {name}"
    argument = f"\\fI{roff(row['argument_name'])}\\fR"
    return name + {"NONE": "", "REQUIRED": f" {argument}", "OPTIONAL": f"[={argument}]"}[row["argument"]]


def metric_heading(row, lists):
    section = next(s["name"] for s in lists["sections"] if s["id"] == row["section"])
    return f"\\fB{roff(row['name'])}\\fR ({roff(row['rule'])}, {roff(section)})"


def entries(lists, kind, group):
    """(name, heading, text) of each entry of a table of the manual page."""
    if kind == "options":
        for row in lists["options"]:
            if row["group"] == group:
                yield row["name"], option_heading(row), sentence(row["help"])
    elif kind == "sections":
        for row in lists["sections"]:
            yield row["name"], f"\\fB{roff(row['name'])}\\fR", sentence(row["text"][0].upper() + row["text"][1:])
    elif kind == "metrics":
        for row in lists["metrics"] + lists["derived"]:
            needs = f"\nNeeds {roff(row['gates'].replace(',', ', '))}." if row["gates"] else ""
            yield row["name"], metric_heading(row, lists), sentence(row["text"]) + needs
    else:
        sys.exit(f"fill-lists.py: there is no table of {kind}")


def fill_table(lists, kind, group, lines):
    """One block of the manual page; takes its lines up to the end."""
    more, name = {}, None
    for line in lines:
        if line == '.\\" @end':
            break
        if line.startswith('.\\" @more '):
            name = line.split()[-1]
            more[name] = []
        else:
            more[name].append(line)
    for name, heading, text in entries(lists, kind, group):
        yield from (".TP", heading, *text.splitlines(), *more.pop(name, []))
    if more:
        sys.exit(f"fill-lists.py: @{kind} {group or ''}: there is no {', '.join(more)}")


MEMBER = re.compile(r"@\{([\w-]+)\.(\w+)\}")


def list_of(line):
    """The list whose members the line names, or None."""
    member = MEMBER.search(line)
    return member and member[1]


def wrap_comment(line):
    comment = re.match(r" *# ", line)
    if comment and len(line) > COLUMNS:
        yield from textwrap.wrap(line[comment.end():], COLUMNS, initial_indent=comment[0],
                                 subsequent_indent=comment[0], break_on_hyphens=False, break_long_words=False)
    else:
        yield line


def fill_rows(lists, rows, lines):
    """The lines for each row; the text of a row may name lists, too."""
    for row in rows:
        for line in lines:
            filled = MEMBER.sub(lambda match, row=row: row[match[2]], line)
            yield from (part for whole in fill_line(lists, filled) for part in wrap_comment(whole))


def fill_line(lists, line):
    def names(match):
        return join(lists[match[1]], "--" if match[1].endswith("-options") else "", ", " if match[2] else " ")

    filled = re.sub(r"@\{([\w-]+)(,?)\}", names, line)
    if filled == line:
        yield line
    else:
        yield from wrap_comment(filled)


def fill(lists, template):
    lines = iter(template.splitlines())
    for rows, run in itertools.groupby(lines, list_of):
        if rows:
            yield from fill_rows(lists, lists[rows], list(run))
            continue
        for line in run:
            table = re.fullmatch(r'\.\\" @(options|sections|metrics) ?(\w*)', line)
            yield from fill_table(lists, table[1], table[2], run) if table else fill_line(lists, line)


def c_string(text):
    lines = (line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") for line in text.splitlines())
    return "\n".join(f'        "{line}\\n"' for line in lines)


def main(*arguments):
    if arguments[0] == "--c":
        output, *named = arguments[1:]
        text = '/* Made from the .varlink files. */\n#include "interface/interface.h"\n'
        for name, path in (word.split("=", 1) for word in named):
            text += f"\nconst char {name}[] =\n{c_string(pathlib.Path(path).read_text(encoding='utf-8'))};\n"
    else:
        *lists, template, output = arguments
        template = pathlib.Path(template).read_text(encoding="utf-8")
        text = "\n".join(fill(read_lists(lists), template)) + "\n"
    pathlib.Path(output).write_text(text, encoding="utf-8")


main(*sys.argv[1:])
