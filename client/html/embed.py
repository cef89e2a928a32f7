# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts the files of the page together as C strings: what stands before the data, and what stands behind.

usage: embed.py NAME PAGE.html STYLE.css... SCRIPT.js... OUTPUT.c

The page names the hashes of its own style and script as all that a browser may apply and run, so that
nothing among the data could be either, whatever a thread calls itself.
"""
import base64
import hashlib
import pathlib
import re
import sys

DATA = "{{data}}"


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def literal(text):
    """The text as C string literals, one a line."""
    lines = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("?", "\\?")
        lines.append('"' + "".join(
            c if c.isascii() else "".join(f"\\{byte:03o}" for byte in c.encode()) for c in escaped) + '"')
    return "\n".join(lines) or '""'


def main(name, *paths):
    page, *parts, output = map(pathlib.Path, paths)
    page = page.read_text(encoding="utf-8")
    style, script = ("\n" + "\n".join(path.read_text(encoding="utf-8") for path in parts if path.suffix == suffix)
                     for suffix in (".css", ".js"))
    for text, ends in ((style, "</style"), (script, "</script"), (script, "<!--")):
        if ends in text.lower():
            sys.exit(f"embed.py: {ends} would end the element it stands in")
    # The files share one scope, and a browser runs nothing of a script that declares a name twice.
    names = re.findall(r"^(?:const|let|class|function) (\w+)", script, re.M)
    for twice in {word for word in names if names.count(word) > 1}:
        sys.exit(f"embed.py: {twice} is declared in two places")
    for mark, text in (("{{style-hash}}", digest(style)), ("{{script-hash}}", digest(script)),
                       ("{{style}}", style), ("{{script}}", script)):
        if page.count(mark) != 1:
            sys.exit(f"embed.py: the page has {mark} {page.count(mark)} times, not once")
        page = page.replace(mark, text)
    head, data, tail = page.partition(DATA)
    if not data or DATA in tail:
        sys.exit(f"embed.py: the page has {DATA} not exactly once")
    output.write_text(
        f"/* Made from the files of the page. */\n#include \"html/{name}-page.h\"\n\n"
        f"const char {name}_page_head[] =\n{literal(head)};\n\nconst char {name}_page_tail[] =\n{literal(tail)};\n",
        encoding="ascii")


main(*sys.argv[1:])
