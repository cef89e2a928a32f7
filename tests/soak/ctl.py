# SPDX-License-Identifier: GPL-2.0-or-later
"""ctprofctl at random: every verb, every format, and Ctrl-C in the middle."""
import csv
import io
import json
import re
import signal
import subprocess
import time

from calls import AXES, FILTERS, GLOBS, SECTIONS
from interface import Mismatch
from peer import PATIENCE_S

# Whose JSON is the reply of a method; that of list has no list of unreadable ones where there are none.
METHODS = {"capture": "Capture", "info": "Info", "verify": "Verify", "remove": "Remove",
           "rename": "Rename", "import": "Import", "status": "Status", "metric-list": "MetricList"}


def view_options(client, two_sided, plain_axes=False):
    rng, words = client.rng, []
    options = [
        ("--group-by", lambda: rng.choice(AXES[:-1] if plain_axes else AXES)),
        ("--filter", lambda: rng.choice(FILTERS)), ("--limit", lambda: rng.choice(["0", "3", "40"])),
        ("--cgroup-flatten", lambda: rng.choice(GLOBS)),
        ("--metrics", lambda: ",".join(client.caller.sample(client.setup.metrics, 5) + ["run_*"])),
        ("--sort-by", client.caller.order), ("--no-thread-normalize", None), ("--no-cg-normalize", None),
        ("--all-rows", None), ("--self", None), ("--raw", None), ("--no-legend", None)]
    if not plain_axes:
        options += [("--sections", lambda: ",".join(client.caller.sample(SECTIONS, 6)))]
    if two_sided and not plain_axes:
        options += [("--no-pairing", None), ("--pair", lambda: "/a=/b")]
    if two_sided:
        options += [("--threshold", lambda: rng.choice(["0", "5", "100.5"]))]
    for option, make in options:
        if rng.random() < 0.2:
            words += [option, make()] if make else [option]
    if "--pair" in words and not {"cgroup", "all"} & set(words):
        del words[words.index("--pair"):words.index("--pair") + 2]
    needs_sides = "--threshold" in words or "percent" in words
    if two_sided and not plain_axes and (needs_sides or rng.random() < 0.3):
        words += ["--totals"]
    return words


def _names(client):
    return client.caller.some_name(), client.caller.some_name()


def _sets(client):
    names = client.rng.sample(client.caller.names, min(6, len(client.caller.names)))
    if len(names) < 3:
        names = ["latest", "latest~1", "latest~2"]  # two sets of one are a pair, which other rules hold for
    return ["--before", ",".join(names[::2]), "--after", ",".join(names[1::2])]


def command(client):
    """A verb with its arguments, its format, and the names it may change."""
    caller, rng = client.caller, client.rng
    a, b = _names(client)
    own = caller.own_name("c")
    snapshot = str(client.scratch / "exported.ctprof.zst")
    formats = rng.choice([[], ["--json"], ["--json=pretty"], ["--format", "csv"], ["--format", "ndjson"],
                          ["--format", "html"]])
    verb, words, changes = rng.choice([
        ("capture", rng.choice([[], ["--tag", own, "--replace"], ["--tag", own], ["--no-smaps"]]), (own,)),
        ("list", rng.choice([[], ["--since", "-2h"], ["--until", "today"]]), ()),
        ("show", [a, *view_options(client, False), *formats], ()),
        ("compare", [a, b, *view_options(client, True), *formats], ()),
        ("compare", [*_sets(client), *view_options(client, True, plain_axes=True),
                     *([] if formats[-1:] == ["html"] else formats)], ()),
        ("run", ["--tag", caller.own_name("r"), "--", "true"], ()),
        ("info", [a], ()), ("verify", rng.choice([[a], ["--all"]]), ()), ("remove", [own], (own,)),
        ("rename", [own, caller.own_name("c")], ()), ("export", [a, snapshot], ()),
        ("import", [snapshot, "--tag", own], (own,)), ("status", [], ()), ("metric-list", [], ()),
        ("show", [snapshot, *view_options(client, False), *formats], ())])
    if verb == "rename":
        changes = tuple(words)
    if verb == "run":
        changes = tuple(f"{words[1]}-{side}" for side in ("before", "after"))
    if verb in METHODS and (verb in ("capture", "remove", "rename", "import") or rng.random() < 0.5):
        words = [*words, "--json"]
    if verb == "export":
        (client.scratch / "exported.ctprof.zst").unlink(missing_ok=True)
    return verb, words, changes


def _check_output(client, verb, words, text):
    last = words[-1] if words else ""
    if last.startswith("--json"):
        value = json.loads(text)
        if verb in METHODS:
            interface = client.setup.description.interfaces[0]
            interface.check(interface.outputs[f"{interface.name}.{METHODS[verb]}"], value, f"ctprofctl {verb}")
        return value
    if words[-2:-1] == ["--format"]:
        if last == "html" and not text.rstrip().endswith("</html>"):
            raise Mismatch(f"half a page: {text[-80:]!r}")
        if last == "ndjson":
            for line in text.splitlines():
                json.loads(line)
        if last == "csv" and len({len(row) for row in csv.reader(io.StringIO(text))}) > 1:
            raise Mismatch("rows of different lengths")
    return None


def _take_ctrl_c():
    """The client itself does not; it ends when it is told to."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def any_of(client):
    verb, words, changes = command(client)
    begun = time.monotonic()
    process = subprocess.Popen([client.setup.ctprofctl, "--socket", client.setup.socket, verb, *words],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="surrogateescape", cwd=client.scratch, preexec_fn=_take_ctrl_c)
    is_cut = client.rng.random() < 0.1
    try:
        out, err = process.communicate(timeout=client.rng.uniform(0, 0.3) if is_cut else PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.send_signal(client.rng.choice([signal.SIGINT, signal.SIGKILL]) if is_cut else signal.SIGKILL)
        out, err = process.communicate()
        if not is_cut:
            client.fault(f"ctprofctl {verb} {words} never ended")
        client.count(verb, "ctprofctl", "cut off" if is_cut else "never answered")
        _doubt(client, verb, changes)
        return
    status = process.returncode
    outcome = {0: "ok", 3: "ok"}.get(status, f"exit {status}")
    try:
        value = _check_output(client, verb, words, out) if status in (0, 3) else None
        # run's two captures are known by name only.
        if status != 0 or verb == "run":
            _doubt(client, verb, changes)
        elif verb in ("capture", "import", "remove", "rename"):
            client.tell("acknowledged", METHODS[verb], client.uid, value, begun)
    except (ValueError, Mismatch) as error:
        client.fault(f"ctprofctl {verb} {' '.join(words)}: {error}; {err[:200]}")
        outcome = "implausible"
    lines = [line for line in err.splitlines() if line.strip()]
    if status not in (0, 3) and (status not in (1, 2) or not lines):
        client.fault(f"ctprofctl {verb} {' '.join(words)}: exit status {status}, {err[:300]}")
    # Any name may be that of a recording, and of something else a moment later.
    if status == 2 and not re.search(r"are the same capture|\b(interval|recording)\b", err):
        client.fault(f"ctprofctl {verb} {' '.join(words)} was refused: {err[:300]}")
    client.count(verb, "ctprofctl", outcome, begun)


def _doubt(client, verb, changes):
    if verb in ("capture", "run", "remove", "rename", "import"):
        client.tell("doubt", METHODS.get(verb, "Capture"), changes, time.monotonic())
