# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages of a Debian suite, resolved by an apt of our own and unpacked without running them.

The archive is the one this machine's apt is configured with, its signatures are checked with the
installed keyring, and neither the machine's package lists nor its dpkg database are touched.
"""
import hashlib
import pathlib
import re
import subprocess
import time

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LISTS_AGE_S = 7 * 86400  # the archive drops old versions: lists older than this are asked for again
UNWANTED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")


class Failure(Exception):
    """What stands in the way of a boot; the text names it."""


class Stale(Failure):
    """The archive no longer has what its lists said; they were forgotten, so trying again may help."""


def output(*command, **options):
    """The standard output of a command that has to succeed."""
    process = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                             stdin=subprocess.DEVNULL, **options)
    if process.returncode != 0:
        raise Failure(f"{command[0]} failed: {(process.stderr or process.stdout).strip()[-2000:]}")
    return process.stdout


def address(ending):
    """Where this machine's apt gets @ending from, as "debian" or "debian-security"."""
    lines = output("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()
    for line in sorted(set(lines)):
        if line.rstrip("/").endswith("/" + ending):
            return line
    raise Failure(f"this machine's apt names no archive of {ending}")


class Archive:
    """One suite with its security updates, for one architecture, and perhaps one more suite beside it."""

    def __init__(self, cache, suite, beside=None, architecture="amd64"):
        self.downloaded_bytes = 0
        self.architecture = architecture
        self.debs = cache / "debs"
        self.state = cache / "-".join(["apt", suite, *filter(None, [beside]),
                                       *([] if architecture == "amd64" else [architecture])])
        for directory in (self.debs / "partial", self.state / "lists" / "partial", self.state / "empty"):
            directory.mkdir(parents=True, exist_ok=True)
        (self.state / "status").touch()
        self._write_sources(suite, beside)
        state = self.state
        self.options = [word for option in (
            f"Dir::Etc::sourcelist={state}/sources.list", f"Dir::Etc::sourceparts={state}/empty",
            f"Dir::Etc::parts={state}/empty", "Dir::Etc::main=/dev/null", "Dir::Etc::preferences=/dev/null",
            f"Dir::Etc::preferencesparts={state}/empty", f"Dir::State={state}",
            f"Dir::State::Lists={state}/lists", f"Dir::State::status={state}/status", f"Dir::Cache={state}",
            f"Dir::Cache::archives={self.debs}", "APT::Sandbox::User=root",
            f"APT::Architecture={architecture}", f"APT::Architectures::={architecture}",
            "Acquire::Languages=none", "Acquire::Retries=2", "Acquire::http::Timeout=30",
            "APT::Get::Assume-Yes=true", "APT::Install-Recommends=false",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false") for word in ("-o", option)]
        stamp = state / "updated"
        if not stamp.exists() or time.time() - stamp.stat().st_mtime > LISTS_AGE_S:
            self._update()

    def _write_sources(self, suite, beside):
        main = f"[signed-by={KEYRING}] {address('debian')}"
        lines = [f"deb {main} {suite} main",
                 f"deb [signed-by={KEYRING}] {address('debian-security')} {suite}-security main"]
        if beside:
            lines.append(f"deb {main} {beside} main")
        text = "".join(line + "\n" for line in lines)
        file = self.state / "sources.list"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            (self.state / "updated").unlink(missing_ok=True)

    def _update(self):
        output("apt-get", *self.options, "-o", "APT::Update::Error-Mode=any", "update")
        for memo in self.state.glob("resolved-*"):
            memo.unlink()
        (self.state / "updated").touch()

    def resolve(self, *words, release=None, only="", command="install"):
        """What installing @words unpacks, as sorted (name, version) pairs; remembered with the lists."""
        key = hashlib.sha256(repr((words, release, only, command)).encode()).hexdigest()[:16]
        memo = self.state / f"resolved-{key}"
        if not memo.exists():
            target = ["--target-release", release] if release else []
            plan = output("apt-get", *self.options, "--simulate", *target, command, *words)
            found = sorted(set(re.findall(r"^Inst (\S+) \((\S+)", plan, re.M)))
            lines = [f"{name} {version}\n" for name, version in found if re.search(only, name)]
            if not lines:
                raise Failure(f"nothing to install for {' '.join(words)}")
            memo.write_text("".join(lines), encoding="utf-8")
        return [tuple(line.split()) for line in memo.read_text(encoding="utf-8").splitlines()]

    def satisfy(self, dependencies):
        """What is needed for a line of dependencies as packages write it."""
        return self.resolve(dependencies, command="satisfy")

    def _find(self, name, version):
        names = (f"{name}_{version.replace(':', '%3a')}_{which}.deb" for which in (self.architecture, "all"))
        return next((self.debs / name for name in names if (self.debs / name).exists()), None)

    def fetch(self, packages):
        """The files of @packages, downloaded where they are not in the cache."""
        missing = [f"{name}={version}" for name, version in packages if not self._find(name, version)]
        if missing:
            partial = self.debs / "partial"
            try:
                output("apt-get", *self.options, "download", *missing, cwd=partial)
            except Failure as failure:
                (self.state / "updated").unlink()
                raise Stale(str(failure)) from failure
            for file in partial.glob("*.deb"):
                self.downloaded_bytes += file.stat().st_size
                file.rename(self.debs / file.name)
        files = [self._find(name, version) for name, version in packages]
        if None in files:
            raise Failure(f"not there after the download: {packages[files.index(None)]}")
        return files


def unpack(debs, directory):
    """Extracts packages into a tree; returns {file: the paths that it brought}."""
    directory = pathlib.Path(directory)
    for name in ("bin", "sbin", "lib", "lib64"):
        (directory / "usr" / name).mkdir(parents=True, exist_ok=True)
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"usr/{name}")
    excluded = [f"--exclude=./{path}/*" for path in UNWANTED]
    brought = {}
    for deb in debs:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as archive:
            names = subprocess.run(
                ["tar", "-C", str(directory), "--keep-directory-symlink", "-xvpf", "-", *excluded],
                stdin=archive.stdout, capture_output=True, text=True, check=False)
        if names.returncode != 0 or archive.returncode != 0:
            raise Failure(f"cannot unpack {deb}: {names.stderr.strip()}")
        brought[deb] = [name.rstrip("/")[1:] or "/." for name in names.stdout.splitlines()]
    return brought


def instance(deb):
    """Under which name dpkg's database has a package, and what tells it from that of another architecture."""
    control = output("dpkg-deb", "--field", deb, "Package", "Architecture", "Multi-Arch")
    field = dict(re.findall(r"^(\S+): *(.*)$", control, re.M))
    return field["Package"], f":{field['Architecture']}" if field.get("Multi-Arch") == "same" else ""


def register(brought, directory):
    """Writes a dpkg database that says what unpack() did, so that dpkg can install on top of it."""
    info = pathlib.Path(directory) / "var/lib/dpkg/info"
    info.mkdir(parents=True, exist_ok=True)
    (info.parent / "updates").mkdir(exist_ok=True)
    # The names of files tell the architecture.
    (info / "format").write_text("1\n", encoding="ascii")
    status = []
    for deb, names in brought.items():
        control = output("dpkg-deb", "--field", deb)
        package, same = instance(deb)
        (info / f"{package}{same}.list").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
        status.append(re.sub(r"\A(Package: .*\n)", r"\1Status: install ok installed\n", control))
    (info.parent / "status").write_text("\n".join(status), encoding="utf-8")
    (info.parent / "available").touch()
