#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ctprofctl and its completions against a daemon that lies: nothing is run, nothing unseen is shown, all ends."""
import concurrent.futures
import json
import os
import pty
import re
import shutil
import subprocess
import time

from harness import BUILD, CTPROFCTL, Skip, expect, expect_equal, main, private_host, run, temporary, test
from liar import LEFT_OUT, Liar, changed, descriptor_of, each_text, endless, frame, paths, true_answers, with_keys

private_host()

# What each verb is called with, each in a form for people and one for programs.
COMMANDS = {
    "capture": [["capture"], ["capture", "--tag", "t", "--json"], ["capture", "--output", "out.zst"]],
    "record": [["record", "--for", "1s"], ["record", "--tag", "t", "--for", "1s", "--json"]],
    "list": [["list"], ["list", "--json"]],
    "show": [["show", "a"], ["show", "a", "--json"], ["show", "a", "--format", "csv"], ["show", "a", "--format", "ndjson"],
             ["show", "a", "--format", "html"]],
    "compare": [["compare", "a", "b"], ["compare", "a", "b", "--json"], ["compare", "a", "b", "--format", "csv"],
                ["compare", "a", "b", "--format", "html"], ["compare", "--before", "a,b", "--after", "c,d"],
                ["compare", "--before", "*", "--after", "x"], ["compare", "--before", "a,b", "--after", "c,d", "--json"]],
    "run": [["run", "--", "true"], ["run", "--tag", "p", "--json", "--", "true"]],
    "info": [["info", "a"], ["info", "a", "--json"]],
    "verify": [["verify", "--all"], ["verify", "a", "--json"]],
    "remove": [["remove", "latest"], ["remove", "a", "--json"]],
    "rename": [["rename", "latest", "n"], ["rename", "a", "n", "--json"]],
    "export": [["export", "a"], ["export", "a", "--json"], ["export", "a", "-", "--format", "ndjson"]],
    "import": [["import", "file.zst", "--tag", "t"], ["import", "file.zst", "--json"]],
    "metrics": [["metrics"], ["metrics", "--output", "out.zst"]],
    "status": [["status"], ["status", "--json"]],
    "metric-list": [["metric-list"]],
    "help": [["help"]],
}
THOROUGH = "CTPROF_THOROUGH" in os.environ  # each text in each place, which takes minutes
# In every text at once. Accents without a letter take no column. A lone surrogate is a byte that is not UTF-8.
EVIL = ["$(touch${IFS}owned)", "`touch owned`", "a;touch owned", "\x1b]0;owned\x07\x1b[2J", "a\rb\nc\x9b31m\x7f", "\u0301" * 300,
        "x\u202ey\u2066\u061c\u034f\u3164\ufff8\U0001d173",
        "-rf", "../../owned", "", "'\"\\&|<>*?~{}", "%s%n%s", "A" * 70000, "\udcff", "</script><script>owned"]
WRONG = [None, True, -1, 2 ** 64 - 1, 2 ** 200, 1.5e308, "", "text", [], [[]], [None], {}, {"name": []}, {"min": {}, "max": None},
         LEFT_OUT]
# Of a terminal: what we send ourselves.
OURS = re.compile("\x1b\\[[01]m|\r\x1b\\[K|\r\n")
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
                    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
                    "\U000e0000-\U000e0fff]")
# Frames that are no replies, and replies to other questions.
FRAMES = [b"", b"\0", b"{}\0", b"[]\0", b"null\0", b"\xff\xfe\0", b'{"parameters":[]}\0', b'{"parameters":{},"continues":1}\0',
          b'{"parameters":{},"parameters":{}}\0', b'{"parameters":{"a":NaN}}\0', b'{"parameters":' + b'{"a":' * 64 + b"\0",
          b'{"parameters":{"snapshots":[' + b"9" * 100000 + b"]}}\0", b"A" * (5 << 20), b'{"error":"\x1b[2J","parameters":{}}\0',
          b'{"error":5}\0', b'{"error":"a.B","continues":true}\0', b'{"parameters":{"progress":{}}}\0']
ERRORS = ("NoSuchSnapshot SnapshotExists InvalidName SnapshotUnreadable NoWindow SpoolFull SpoolUnavailable Busy JobFailed "
          "PermissionDenied InvalidParameter MethodNotFound Nonsense").split()


class Stage:
    """A directory where clients run, and the liar they talk to."""

    def __init__(self, directory, truth):
        self.directory = directory
        self.truth = truth
        self.n_made = 0

    def run(self, words, answer, terminal=False, seconds=60):
        """One client in a directory of its own; checks what must hold whatever the daemon says."""
        self.n_made += 1
        place = self.directory / f"p{self.n_made}-{os.urandom(4).hex()}"
        place.mkdir()
        (place / "file.zst").write_bytes(b"x")
        socket = place / "socket"
        begin = time.monotonic()
        with Liar(socket, answer):
            command = [CTPROFCTL, "--socket", socket, "--no-pager", *words]
            if terminal:
                status, out, err = on_terminal(command, place)
            else:
                result = subprocess.run(command, capture_output=True, cwd=place, timeout=seconds, check=False,
                                        stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(place)})
                status, out, err = result.returncode, result.stdout, result.stderr
        what = (words, status, err[:300])
        expect(time.monotonic() - begin < seconds, "took too long", *what)
        expect(status in (0, 1), "exit status", *what)
        shown = err.decode("utf-8")
        if words != ["export", "a", "-", "--format", "ndjson"]:
            shown += out.decode("utf-8")
        if terminal:
            shown = OURS.sub("\n", shown)
        shown = shown.replace("\r\n", "\n") if "csv" in words else shown
        bad = UNSEEN.search(shown)
        expect(not bad, "unseen", bad and shown[max(0, bad.start() - 60):bad.end() + 20].encode("unicode_escape"), *what)
        if status == 0 and "--json" in words:
            json.loads(out)
        if status == 1 and not terminal:
            expect(err.strip(), "no sentence", *what)
        names = {path.name for path in place.iterdir()} - {"file.zst", "socket"}
        expect(names <= {"out.zst", "a.ctprof.zst"}, "files", names, *what)
        expect(not any(self.directory.parent.glob("owned*")), "something was run", *what)
        shutil.rmtree(place)
        return status, out, err

    def honest(self, method, parameters):
        """The answer of the daemon that does not lie."""
        replies = self.truth[method]
        if method in ("Export", "Capture") and (method == "Export" or parameters.get("anonymous")):
            replies = [*replies[:-1], {"parameters": {**replies[-1]["parameters"], "fileDescriptor": 0}}]
            descriptor = descriptor_of(CTPROFCTL)
            yield from map(frame, replies[:-1])
            yield frame(replies[-1]), [descriptor]
            os.close(descriptor)
        else:
            yield from map(frame, replies)

    def lying(self, change):
        """Answers in which change(parameters) stands for the parameters of every reply."""
        def answer(method, _):
            for reply in self.truth[method]:
                yield frame({**reply, "parameters": change(reply["parameters"])})
        return answer

    def all(self, tasks):
        """Runs the tasks, some at a time; the first failure is raised."""
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for future in [pool.submit(self.run, *task) for task in tasks]:
                future.result()


def on_terminal(command, place):
    master, slave = pty.openpty()
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, cwd=place,
                          env={**os.environ, "TERM": "xterm", "COLUMNS": "100"}) as process:
        os.close(slave)
        out = b""
        try:
            while piece := os.read(master, 1 << 16):
                out += piece
        except OSError:  # the other side is closed
            pass
        os.close(master)
        return process.wait(60), out, b""


class Set:
    """The directory, and what an honest daemon answers, made once."""
    truth = None

    def __enter__(self):
        self.temporary = temporary()
        directory = self.temporary.__enter__()
        if Set.truth is None:
            (directory / "d").mkdir()
            Set.truth = true_answers(directory / "d")
        (directory / "s").mkdir()
        return Stage(directory / "s", Set.truth)

    def __exit__(self, *_):
        self.temporary.__exit__(None, None, None)


def commands():
    return [words for forms in COMMANDS.values() for words in forms]


@test
def every_verb():
    """every verb is tried, and each succeeds with a daemon that does not lie"""
    text = run(CTPROFCTL, "--help").out
    verbs = re.findall(r"^  ([a-z][a-z-]*)", text[text.index("Verbs:"):text.index("Options of all")], re.M)
    expect_equal(set(COMMANDS), set(verbs), "verbs")
    with Set() as stage:
        for words in commands():
            answer = stage.honest
            if words[:3] == ["compare", "--before", "*"]:
                continue
            status, _, err = stage.run(words, answer)
            expect_equal((status, err), (0, b""), words)


@test
def texts():
    """whatever stands in the texts of replies, nothing is run and nothing unseen reaches the output"""
    with Set() as stage:
        tasks = []
        for i, evil in enumerate(EVIL):
            everywhere = stage.lying(lambda value, evil=evil: each_text(value, lambda key, text: evil))
            but_names = stage.lying(lambda value, evil=evil: each_text(
                value, lambda key, text: text if key in ("name", "rotated", "oldName") else evil))
            keys = stage.lying(lambda value, evil=evil: with_keys(value, evil))
            for j, words in enumerate(commands()):
                if words[0] in ("help", "metric-list"):
                    continue
                places = [but_names, keys] if evil != "\udcff" else []
                places += [everywhere] if words[-1] not in ("csv", "ndjson", "html") else []
                # In one of the places for each command and text, which take turns.
                tasks += [(words, place) for k, place in enumerate(places) if THOROUGH or (i + j) % len(places) == k]
        stage.all(tasks)


@test
def texts_on_a_terminal():
    """the same on a terminal, with progress"""
    with Set() as stage:
        for evil in EVIL[:8]:
            def answer(method, _, evil=evil):
                yield frame({"parameters": {"progress": {"phase": evil, "done": 1, "total": 2}}, "continues": True})
                yield 0.25
                yield frame({"parameters": {"progress": {"phase": evil, "done": 2, "total": 2}}, "continues": True})
                yield from stage.lying(lambda value: each_text(
                    value, lambda key, text: text if key in ("name", "rotated", "oldName") else evil))(method, _)
            stage.all([(words, answer, True) for words in (["show", "a"], ["info", "a"], ["capture"], ["verify", "--all"],
                                                            ["compare", "a", "b"])])


@test
def names_are_refused():
    """a name outside the grammar is refused with one sentence wherever it stands"""
    with Set() as stage:
        for words in commands():
            if words[0] in ("status", "help", "metric-list"):
                continue
            for evil in EVIL[:10]:
                answer = stage.lying(lambda value, evil=evil: each_text(
                    value, lambda key, text: evil if key in ("name", "rotated", "oldName") else text))
                status, out, err = stage.run(words, answer)
                expect_equal(status, 1, words, evil[:30], err)
                expect_equal(len(err.splitlines()), 1, words, evil[:30], err)
                expect(b"The reply of ctprofd is not used: the snapshot name" in err, words, evil[:30], err)
                expect_equal(out, b"", words, evil[:30])


@test
def shapes():
    """members of a wrong type and members that are missing end no client"""
    with Set() as stage:
        tasks, n = [], 0
        for words in commands():
            if words[0] in ("help", "metric-list"):
                continue
            method = {"capture": "Capture", "run": "Capture", "metrics": "Show"}.get(words[0], words[0].title())
            method = "CompareSets" if "--before" in words else method
            for i, reply in enumerate(stage.truth[method]):
                for path in paths(reply["parameters"]):
                    n += 1
                    new = WRONG[n % len(WRONG)] if path else {}

                    def answer(asked, parameters, method=method, i=i, path=path, new=new):
                        if asked != method:
                            yield from stage.honest(asked, parameters)
                            return
                        for j, true in enumerate(stage.truth[method]):
                            value = changed(true["parameters"], path, lambda old: new) if i == j else true["parameters"]
                            yield frame({**true, "parameters": value})
                    # One form of each verb for each place: the next place gets the next.
                    if COMMANDS[words[0]][n % len(COMMANDS[words[0]])] == words or len(path) < 2:
                        tasks.append((words, answer))
        expect(len(tasks) > 100, "places", len(tasks))
        stage.all(tasks)


@test
def frames():
    """what is no reply, is cut off, is too long or belongs to another call is one sentence"""
    with Set() as stage:
        tasks = [(forms[i % len(forms)], lambda *_, piece=piece: [piece])
                 for forms in COMMANDS.values() for i, piece in enumerate(FRAMES) if forms[0][0] not in ("help", "metric-list")]
        tasks += [(forms[0], lambda *_, other=other: map(frame, stage.truth[other]))
                  for forms in COMMANDS.values() for other in ("Status", "Compare") if forms[0][0] not in ("help", "metric-list")]
        stage.all(tasks)


@test
def errors():
    """errors with hostile members are one sentence"""
    with Set() as stage:
        for name in ERRORS:
            space = "org.varlink.service" if name in ("PermissionDenied", "InvalidParameter", "MethodNotFound") else "io.ctprof.Profiler"
            for evil in [*EVIL[:7], 5, [], {}]:
                keys = "name reason nearest offset parameter method interface".split()
                error = frame({"error": f"{space}.{name}", "parameters": dict.fromkeys(keys, evil)})
                result = run_refused(stage, ["info", "a"], error)
                expect_equal(len(result.splitlines()), 1, name, evil)
                expect(b"did you mean" not in result, name, evil, result)


def run_refused(stage, words, error):
    place = stage.directory / "refused"
    place.mkdir(exist_ok=True)
    with Liar(place / "socket", lambda *_: [error]):
        result = subprocess.run([CTPROFCTL, "--socket", place / "socket", *words], capture_output=True, cwd=place, timeout=60,
                                check=False, stdin=subprocess.DEVNULL)
    shutil.rmtree(place)
    expect(result.returncode in (1, 2), words, result.returncode)
    expect(not UNSEEN.search(result.stderr.decode("utf-8")), words, result.stderr)
    return result.stderr


@test
def it_ends():
    """a daemon that is silent, or never stops, ends every client at the time that was given"""
    part = frame({"parameters": {"progress": {"phase": "threads", "done": 1}}, "continues": True})
    row = frame({"parameters": {"groups": [{"key": "k", "metrics": {}}], "results": [{"name": "a", "ok": True}]}, "continues": True})
    floods = [lambda *_: [600], lambda *_: endless(part * 100), lambda *_: endless(part, 0.01), lambda *_: endless(b" ", 0.01),
              lambda *_: endless(row * 100), lambda *_: endless(b" " * 4096)]
    with Set() as stage:
        tasks = [(["--timeout", "0.3", *words], flood, False, 20) for words in commands() for flood in floods
                 if words[0] not in ("help", "metric-list") and words == COMMANDS[words[0]][0]]
        stage.all(tasks)


@test
def descriptors():
    """a descriptor that is no file, or has no end, is refused or comes to one"""
    def sent(path, flags=os.O_RDONLY, index=0, n=1):
        def answer(method, _):
            reply = stage.truth["Export" if method == "Export" else "Capture"][-1]
            fds = [descriptor_of(path, flags) for _ in range(n)]
            yield frame({"parameters": {**reply["parameters"], "fileDescriptor": index}}), fds
            for fd in fds:
                os.close(fd)
        return answer

    with Set() as stage:
        os.mkfifo(stage.directory.parent / "fifo")
        for words in (["export", "a"], ["capture", "--output", "out.zst"]):
            for answer in (sent("/dev/zero"), sent("/dev/null"), sent("/"), sent(stage.directory.parent / "fifo", os.O_RDWR),
                           sent("/etc/hostname", os.O_WRONLY | os.O_PATH), sent("/etc/hostname", index=1), sent("/etc/hostname", index=-1),
                           sent("/etc/hostname", index="0"), sent("/etc/hostname", n=0), sent("/etc/hostname", n=80)):
                status, _, err = stage.run([*words], answer, False, 20)
                expect_equal((status, len(err.splitlines())), (1, 1), words, err)


def completed(shell, script, place, socket):
    result = subprocess.run([shell, *script], capture_output=True, text=True, cwd=place, timeout=60, check=False, stdin=subprocess.DEVNULL,
                            env={**os.environ, "PATH": f"{BUILD}/client:{os.environ['PATH']}", "HOME": str(place), "SOCKET": str(socket)})
    expect(not UNSEEN.search(result.stdout), shell, repr(result.stdout))
    expect_equal({path.name for path in place.iterdir()} - {"socket", ".config", ".local", ".cache"}, set(), shell, "files")
    return result.stdout.split("\n"), result.stderr


def complete_with(shell, script):
    if not shutil.which(shell):
        raise Skip(f"{shell} is not installed")
    with Set() as stage:
        def offered(names):
            place = stage.directory / "place"
            place.mkdir()
            answer = lambda *_: [frame({"parameters": {"snapshots": [{"name": name} for name in names], "unreadable": []}})]
            with Liar(place / "socket", answer) as liar:
                words, err = completed(shell, script, place, place / "socket")
                expect_equal(set(liar.asked), {"io.ctprof.Profiler.List"}, shell, err)
            shutil.rmtree(place)
            return {re.sub(r"\t.*", "", word) for word in words} - {"", "socket"}

        expect({"latest", "latest~1", "good-1", "x.y_z"} <= offered(["good-1", "x.y_z"]), shell, "offers names")
        for evil in EVIL:
            got = offered(["good-1", evil]) if evil != "\udcff" else set()
            expect(got <= {"latest", "latest~1", "--"}, shell, evil[:40], got)


@test
def bash():
    """bash offers and runs nothing that a hostile daemon sends"""
    complete_with("bash", ["--norc", "-c", f"""
        compopt() {{ :; }}
        . {BUILD}/client/completion/ctprofctl
        for line in 'show' 'compare --before'; do
            COMP_WORDS=(ctprofctl --socket "$SOCKET" $line '')
            COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _ctprofctl
            printf '%s\\n' "${{COMPREPLY[@]}}"
        done"""])


@test
def zsh():
    """zsh offers and runs nothing that a hostile daemon sends"""
    complete_with("zsh", ["-f", "-c", f"""
        compadd() {{ print -rl -- "$@" }}
        _files() {{ : }}
        words=(ctprofctl --socket "$SOCKET" show '') CURRENT=5 PREFIX=
        . {BUILD}/client/completion/_ctprofctl"""])


@test
def fish():
    """fish offers and runs nothing that a hostile daemon sends"""
    complete_with("fish", ["--no-config", "-c", f"""
        source {BUILD}/client/completion/ctprofctl.fish
        complete -C "ctprofctl --socket $SOCKET show " """])


main()
