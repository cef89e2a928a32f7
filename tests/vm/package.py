# SPDX-License-Identifier: GPL-2.0-or-later
"""The package under test, and an older one of the same content to upgrade from."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import image
from archive import Failure, output

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


def sources():
    """What the package is made of: the files that git knows or would add, but for the tests."""
    try:
        listed = output("git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = [name for name in listed.split("\0") if name]
    except (Failure, OSError):
        names = [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*")
                 if not re.match(r"(\.git|build[^/]*)(/|$)", str(path.relative_to(SOURCE)))]
    return sorted(name for name in names if not name.startswith("tests/") and (SOURCE / name).is_file())


def build(cache, toolchain=None):
    """The .deb of this tree, for the architecture of @toolchain; built once for each content."""
    names = sources()
    content = hashlib.sha256()
    if toolchain:
        content.update(str(toolchain.directory).encode())
    for name in names:
        content.update(name.encode() + b"\0" + hashlib.sha256((SOURCE / name).read_bytes()).digest())

    def make(directory):
        tree = directory / "ctprof"
        for name in names:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, tree / name)
        options = {"DEB_BUILD_OPTIONS": f"nocheck noautodbgsym parallel={os.cpu_count()}"}
        # What its libraries come from is known to the database of the toolchain, not to that of this machine.
        other = ["--host-arch", toolchain.architecture, "--no-check-builddeps"] if toolchain else []
        with open(directory / "log", "wb") as log:
            environment = toolchain.package_environment if toolchain else os.environ
            status = subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc", *other], cwd=tree, check=False,
                                    stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                    env={**environment, **options}).returncode
        if status != 0:
            raise Failure("dpkg-buildpackage failed:\n" + (directory / "log").read_text(errors="replace")[-3000:])
        shutil.rmtree(tree)

    kept = image.keep(cache, f"package-{content.hexdigest()[:16]}", make)
    return next(kept.glob("ctprof_*.deb"))


def field(deb, name):
    return output("dpkg-deb", "--field", deb, name).strip()


def older(deb, work):
    """The same content under a version that sorts just before."""
    tree = work / "older"
    output("dpkg-deb", "--raw-extract", deb, tree)
    control = tree / "DEBIAN/control"
    text = control.read_text(encoding="utf-8")
    control.write_text(re.sub(r"^(Version: .*)$", r"\1~before", text, flags=re.M), encoding="utf-8")
    target = work / "older.deb"
    output("dpkg-deb", "--build", "--root-owner-group", tree, target)
    shutil.rmtree(tree)
    return target


def declared():
    """TAP: a library that tests/install installs for the build is one that the package depends on to build."""
    installed = re.search(r'^packages="(.*?)"', (SOURCE / "tests/install").read_text(encoding="utf-8"), re.M | re.S)
    control = (SOURCE / "debian/control").read_text(encoding="utf-8")
    missing = [name for name in installed[1].split() if name.endswith("-dev") and f" {name}" not in control]
    verdict = f"# missing in debian/control: {' '.join(missing)}\nnot ok" if missing else "ok"
    return f"{verdict} - the package depends on every library that it is built with\n"


def lint(deb):
    """TAP of what lintian says: nothing, or it is a failure."""
    claim = "lintian is silent about the package"
    if not shutil.which("lintian"):
        return f"ok - {claim} # SKIP lintian is not installed\n"
    changes = next(deb.parent.glob("*.changes"), deb)
    process = subprocess.run(["lintian", "--tag-display-limit", "0", str(changes)], capture_output=True, text=True,
                             check=False, stdin=subprocess.DEVNULL)
    if process.returncode == 0 and not process.stdout.strip():
        return f"ok - {claim}\n"
    return "".join(f"# {line}\n" for line in process.stdout.splitlines()) + f"not ok - {claim}\n"
