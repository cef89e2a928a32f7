# SPDX-License-Identifier: GPL-2.0-or-later
"""The stages of testing, and what runs them; tests/run starts this.

    tests/run                what is worth running before each push; continuous integration runs this
    tests/run quick          one compiler: unit tests, lint and the texts on the terminal
    tests/run merge          also live tests under sanitizers where foreign bytes come in, and other kernels
    tests/run all            everything; --resume leaves out what has passed at this commit already
    tests/run STAGE...       these stages
    tests/run --list         the stages, and what each does
    tests/run --status       which stage has passed at which commit

The builds go to build-dev (gcc with sanitizers), build-clang (the same with clang) and build (as users get it), beside
the sources; build/stages has the last result of each stage. The last line counts all cases.
"""
import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True

import cases  # pylint: disable=wrong-import-position # no bytecode among the sources

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDS = ROOT / "build" / "stages"
TIERS = ("quick", "run", "merge", "all")  # from the smallest

SANITIZERS = ("--native-file", "tests/dev.ini")
BUILDS = {
    "build-dev": (SANITIZERS, {}),
    "build-clang": (SANITIZERS, {"CC": "clang"}),
    "build": (("--buildtype=release", "-Dwerror=true", "-Dtests=enabled"), {}),
}


@dataclasses.dataclass(frozen=True)
class Stage:
    """Either tests of a build, chosen by suite or by name, or a command; in the tiers that have it."""
    name: str
    tiers: str
    says: str
    build: str = None
    suites: tuple = ()
    without: tuple = ()
    tests: tuple = ()
    setup: str = None
    # Its tests mostly wait: as many at a time for each processor.
    per_processor: int = 1
    command: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    # The command writes its log itself, with a line for each of several programs.
    logs: bool = False
    root: bool = False
    # Runs when others leave it time, beside the stages after it that are not "alone"; one such at a time.
    beside: bool = False
    # Takes all processors or measures time.
    alone: bool = False

    @property
    def tier(self):
        """The smallest tier that has it."""
        return self.tiers.split()[0]

    def chooses(self, name, suites):
        """Whether the test @name of @suites belongs to this stage."""
        chosen = name in self.tests if self.tests else bool(set(suites) & set(self.suites))
        return bool(self.build and not self.command and chosen and not set(suites) & set(self.without))


# In the order in which they run.
STAGES = (
    Stage("gcc", "quick run merge all", "gcc with sanitizers: unit tests, lint, texts on the terminal",
          build="build-dev", suites=("unit", "lint", "golden")),
    Stage("clang", "run merge", "clang with sanitizers: the build, and the corpora of the fuzz targets",
          build="build-clang", suites=("corpus",)),
    Stage("clang-unit", "all", "clang with sanitizers: all unit tests",
          build="build-clang", suites=("unit",), environment={"CTPROF_THOROUGH": "1"}),
    Stage("static", "run merge", "clang-tidy, cppcheck and gcc -fanalyzer read what changed",
          build="build-dev", command=("tests/static/run", "--changed")),
    Stage("static-all", "all", "clang-tidy, cppcheck and gcc -fanalyzer read every file",
          build="build-dev", command=("tests/static/run",)),
    # valgrind does not know children that share the table of descriptors, and takes what libbpf hands to the kernel for
    # uninitialised.
    Stage("valgrind", "all", "the unit tests of the release build under valgrind",
          build="build", suites=("unit",), without=("table", "bpf"), setup="valgrind"),
    Stage("vm-all", "all", "two boots of each, every check",
          command=("tests/vm/run",), logs=True, root=True, beside=True),
    Stage("arm64", "all", "arm64: a cross-build with warnings as errors, the unit tests in qemu's user emulation",
          command=("tests/arm64/run",), logs=True, beside=True),
    Stage("vm-arm64", "all", "arm64: one boot of Debian 12: the package, what captures read, both backends, who ended, a recording",
          command=("tests/vm/run", "--boots=1", "--only=readings bpf heap recording", "bookworm-arm64"), logs=True, root=True,
          beside=True),
    Stage("crash", "all", "1,000 kills, 500 states of lost power, 200 shutdowns",
          build="build", tests=("test-kill", "test-power", "test-shutdown", "test-windows"), per_processor=2, beside=True,
          environment={"CTPROF_KILLS": "1000", "CTPROF_POWER_SAMPLES": "500", "CTPROF_SHUTDOWNS": "200"}),
    Stage("faults", "all", "100 calls or allocations that fail in each campaign",
          build="build", tests=("test-fault",), beside=True, environment={"CTPROF_FAULTS": "100"}),
    Stage("thorough", "all", "200 made pairs on every axis, and every text of a hostile daemon in every place",
          build="build", tests=("test-oracle", "test-hostile-daemon"), per_processor=1, beside=True,
          environment={"CTPROF_PAIRS": "200", "CTPROF_THOROUGH": "1"}),
    Stage("live", "run merge all", "the programs as users get them, on this kernel",
          build="build", suites=("live",), without=("paced",), per_processor=2),
    Stage("live-foreign", "merge", "the same under sanitizers, where foreign bytes come in",
          build="build-dev", suites=("foreign",), per_processor=2),
    Stage("live-sanitizers", "all", "all of these under sanitizers",
          build="build-dev", suites=("live",), without=("paced",), per_processor=2),
    Stage("heap", "all", "each version and build of jemalloc that can be had: what each thread counted is in the snapshot",
          build="build", suites=("heap",), without=("measured",)),
    Stage("live-paced", "run merge all", "the programs as users get them, where a load and its pace are compared",
          build="build", suites=("paced",), alone=True),
    Stage("vm", "merge", "one boot of Debian 12, 13 and its backports: checks that depend on the kernel",
          command=("tests/vm/run", "--kernel-checks"), logs=True, root=True, alone=True),
    Stage("paced-sanitizers", "all", "the same under sanitizers",
          build="build-dev", suites=("paced",), alone=True),
    Stage("heap-measured", "all", "what reading the counters of jemalloc costs the threads that are read",
          build="build", suites=("measured",), alone=True),
    Stage("fuzz", "all", "60 s of libFuzzer for each target",
          command=("tests/fuzz/run", "--jobs=3", "60"), alone=True),
    Stage("soak", "all", "32 clients call everything and misbehave for ten minutes",
          build="build", command=("tests/soak/run", "10"), alone=True),
    Stage("demo", "all", "locks, sleeps, syncs, PostgreSQL, nginx, redis, a leak, limits, short lives, hanging exits: the first screen tells",
          build="build", command=("tests/demo/run",), alone=True),
    Stage("fleet", "all", "200 hosts made from real intervals, in DuckDB and ClickHouse: each question finds what was planted",
          build="build", command=("tests/fleet/run",), alone=True),
    Stage("bench", "all", "speed, against floors measured in the same run; only printed",
          build="build", command=("tests/bench/run",), alone=True),
)

# Programs below tests/ that people run by hand; tests/lint/tiers knows every other as a test or as part of a stage.
BY_HAND = {
    "run": "starts the stages",
    "install": "installs what building and testing need",
    "quickstart": "the first of the two commands",
    "format": "formats the sources",
    "fault/run": "the campaigns of test-fault, whole",
    "vm/guest/start": "starts the checks in a guest of tests/vm/run",
}


def commit():
    """What is tested, in a few words, and whether it is exactly a commit."""
    def git(*words):
        return subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, *words], check=True, capture_output=True,
                              text=True).stdout.strip()

    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        name = git("rev-parse", "--short", "HEAD")
        changed = git("status", "--porcelain")
        return (f"{name} + uncommitted changes", False) if changed else (name, True)
    return "sources without a commit", False


def minutes(seconds):
    return f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"


class Failure(Exception):
    """Why a stage could not begin."""


class Builder:
    """Configures and compiles each build once."""

    def __init__(self):
        self.results = {}

    def make(self, name):
        if name not in self.results:
            self.results[name] = self.attempt(name)
        if not self.results[name]:
            raise Failure(f"{name} does not build")

    @staticmethod
    def attempt(name):
        options, environment = BUILDS[name]
        again = ("--reconfigure",) if (ROOT / name / "build.ninja").exists() else ()
        with subprocess.Popen(["meson", "setup", *again, *options, name], cwd=ROOT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}) as setup:
            said = setup.communicate()[0]
        if setup.returncode != 0:
            print(said)
            return False
        return subprocess.run(["ninja", "-C", ROOT / name, "--quiet"], stdin=subprocess.DEVNULL,
                              check=False).returncode == 0


class Running:
    """A stage that has begun."""

    def __init__(self, stage, builder):
        self.stage = stage
        self.cases = cases.Cases()
        self.commit, self.is_clean = commit()
        self.begin = time.monotonic()
        self.build_s = self.seconds = 0.0
        self.end = None
        self.process = self.output = None
        self.said = RECORDS / f"{stage.name}.txt"
        self.log = RECORDS / f"{stage.name}.log.json"
        try:
            self.start(builder)
        except Failure as failure:
            self.cases.failed.append(f"{stage.name}: {failure}")
            self.finish()

    def start(self, builder):
        stage = self.stage
        if stage.root and os.geteuid() != 0:
            self.cases.skipped.append(f"{stage.name}: making the images takes root")
            self.finish()
            return
        if stage.build:
            builder.make(stage.build)
            self.build_s = time.monotonic() - self.begin
        command = self.meson() if not stage.command else [*stage.command, *self.options()]
        self.log.unlink(missing_ok=True)
        if stage.beside:
            # What time is left is enough for it: tests beside it have seconds for their answers.
            command = ["nice", "-n", "10", *command]
        # Stages that run at the same time do not write between each other's lines.
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=said,
                                            stderr=subprocess.STDOUT, env={**os.environ, **stage.environment})
        self.output = open(self.said, encoding="utf-8", errors="replace")
        threading.Thread(target=self.watch, args=(self.process,), daemon=True).start()

    def watch(self, process):
        """Notes the end, also while another stage is built."""
        process.wait()
        self.end = time.monotonic()

    def options(self):
        if self.stage.logs:
            yield from ("--log", str(self.log).removesuffix(".json"))
        elif self.stage.build:
            yield from ("--build", self.stage.build)

    def meson(self):
        stage, base = self.stage, f"stage-{self.stage.name}"
        # meson appends the name of a test setup to the name of its log.
        self.log = ROOT / stage.build / "meson-logs" / f"{base}{'-' + stage.setup if stage.setup else ''}.json"
        return ["meson", "test", "-C", stage.build, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", "10",
                "--logbase", base, *(f"--suite={suite}" for suite in stage.suites),
                *(f"--no-suite={suite}" for suite in stage.without), *(["--setup", stage.setup] if stage.setup else []),
                f"--num-processes={stage.per_processor * os.cpu_count()}", *stage.tests]

    def print_more(self):
        """Prints what was said since the last time."""
        print(self.output.read(), end="", flush=True)

    def is_over(self):
        return not self.process or self.end is not None

    def close(self):
        """Prints the rest, and counts; it is over."""
        if not self.process:
            return
        status = self.process.wait()
        self.print_more()
        self.output.close()
        if self.stage.command and not self.stage.logs:
            text = self.said.read_text(encoding="utf-8", errors="replace")
            self.cases += cases.of_program(self.stage.name, text, "OK" if status == 0 else f"exit status {status}")
        else:
            self.cases += cases.of_log(self.stage.name, self.log)
            if status != 0 and not self.cases.failed:
                self.cases.failed.append(f"{self.stage.name}: exit status {status}")
        self.finish()

    def finish(self):
        self.seconds = (self.end or time.monotonic()) - self.begin
        self.process = None
        if commit() != (self.commit, self.is_clean):
            self.commit, self.is_clean = f"{self.commit}, changed meanwhile", False
        record = {"commit": self.commit, "is_clean": self.is_clean, "seconds": self.seconds, "result": self.result,
                  "cases": str(self.cases), "ended": time.strftime("%F %H:%M")}
        (RECORDS / f"{self.stage.name}.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
        print(f"== {self.stage.name} {self.result} for {self.commit} in {minutes(self.seconds)}: {self.cases}",
              flush=True)

    @property
    def result(self):
        if self.cases.failed:
            return "failed"
        return "passed" if self.cases.passed else "skipped"

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


class Run:
    """Two queues: stages one after the other, and beside them those that take what time is left."""

    def __init__(self):
        self.builder = Builder()
        self.done = []
        self.current = self.beside = None
        self.waiting = []
        self.begin = time.monotonic()

    def run(self, stages):
        try:
            for stage in stages:
                if stage.alone:
                    self.join()
                if stage.beside:
                    self.waiting.append(stage)
                    continue
                print(f"== {stage.name}: {stage.says}", flush=True)
                self.go_on_beside()
                self.current = Running(stage, self.builder)
                while not self.current.is_over():
                    self.go_on_beside()
                    self.watch(self.current)
                self.close(self.current)
                self.current = None
            self.join()
        finally:
            for running in filter(None, [self.beside, self.current]):
                running.stop()

    @staticmethod
    def watch(running):
        time.sleep(0.1)
        running.print_more()

    def close(self, running):
        running.close()
        self.done.append(running)

    def go_on_beside(self):
        """Ends the stage beside that is over, and begins the next."""
        if self.beside and self.beside.is_over():
            print(f"== {self.beside.stage.name}: ran beside", flush=True)
            self.close(self.beside)
            self.beside = None
        if self.waiting and not self.beside:
            stage = self.waiting.pop(0)
            print(f"== {stage.name}, beside: {stage.says}", flush=True)
            self.beside = Running(stage, self.builder)

    def join(self):
        """Waits for all stages that run beside."""
        while self.beside or self.waiting:
            self.go_on_beside()
            if self.beside and not self.beside.is_over():
                self.watch(self.beside)

    def report(self, earlier):
        """The closing lines; the exit status."""
        total = cases.Cases()
        for running in self.done:
            total += running.cases
        for text in total.skipped:
            print(f"skipped: {text}")
        print(f"\n{'stage':<16} {'result':<8} {'time':>12} {'of it building':>15}  cases")
        for running in self.done:
            print(f"{running.stage.name:<16} {running.result:<8} {minutes(running.seconds):>12} "
                  f"{minutes(running.build_s) if running.build_s else '-':>15}  {running.cases}")
        for name, record in earlier.items():
            print(f"{name:<16} {'earlier':<8} {minutes(record['seconds']):>12} {'-':>15}  passed for this commit on "
                  f"{record['ended']}: {record['cases']}; not counted below")
        told = sorted({running.commit for running in self.done})
        print(f"all in {minutes(time.monotonic() - self.begin)}, for {'; '.join(told) or 'this commit'}\n")
        for tier in TIERS:
            mine = [running for running in self.done if running.stage.tier == tier]
            if mine:
                sum_ = cases.Cases()
                for running in mine:
                    sum_ += running.cases
                print(f"{tier}: {sum_} in {', '.join(running.stage.name for running in mine)}")
        for text in total.failed:
            print(f"failed: {text}")
        print(total)
        return 1 if total.failed or not (total.passed or earlier) else 0


def records():
    """The last result of each stage that ran here."""
    found = {}
    for stage in STAGES:
        with contextlib.suppress(OSError, ValueError):
            found[stage.name] = json.loads((RECORDS / f"{stage.name}.json").read_text(encoding="utf-8"))
    return found


def passed_now(stages):
    """The records of those stages that passed for exactly what is checked out."""
    name, is_clean = commit()
    found = records()
    return {stage.name: found[stage.name] for stage in stages if is_clean and stage.name in found
            and found[stage.name]["result"] == "passed" and found[stage.name]["commit"] == name}


def print_status():
    name, is_clean = commit()
    found = records()
    print(f"checked out: {name}\n\n{'stage':<16} {'tiers':<14} {'result':<8} {'time':>12}  for")
    for stage in STAGES:
        record = found.get(stage.name)
        if not record:
            print(f"{stage.name:<16} {stage.tiers:<14} never run")
            continue
        other = "" if record["commit"] == name and is_clean else " (not what is checked out)" if is_clean else ""
        print(f"{stage.name:<16} {stage.tiers:<14} {record['result']:<8} {minutes(record['seconds']):>12}  "
              f"{record['commit']}{other}, {record['ended']}: {record['cases']}")
    print()
    for tier in TIERS:
        stages = [stage for stage in STAGES if tier in stage.tiers.split()]
        passed = passed_now(stages)
        missing = [stage.name for stage in stages if stage.name not in passed]
        print(f"{tier}: {len(passed)} of {len(stages)} stages have passed for {name}" +
              (f"; missing: {' '.join(missing)}" if missing else ""))


def chosen(words, parser):
    by_name = {stage.name: stage for stage in STAGES}
    stages = []
    for word in words or ["run"]:
        if word not in by_name and word not in TIERS:
            parser.error(f"no tier or stage is named {word}: there are {', '.join([*TIERS, *by_name])}")
        stages += [stage for stage in STAGES if word == stage.name or word in stage.tiers.split()]
    return [stage for stage in STAGES if stage in stages]


def main():
    parser = argparse.ArgumentParser(prog="tests/run", usage=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--status", action="store_true")
    options = parser.parse_args()
    if options.list:
        for stage in STAGES:
            print(f"{stage.name:<16} {stage.tiers:<14} {stage.says}")
        return 0
    if options.status:
        print_status()
        return 0
    stages = chosen(options.words, parser)
    earlier = passed_now(stages) if options.resume else {}
    RECORDS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run = Run()
    try:
        run.run([stage for stage in stages if stage.name not in earlier])
    except KeyboardInterrupt:
        print("\ninterrupted: stages that had not ended are not in the table")
        run.report(earlier)
        return 130
    return run.report(earlier)


if __name__ == "__main__":
    sys.exit(main())
