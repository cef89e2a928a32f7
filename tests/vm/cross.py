# SPDX-License-Identifier: GPL-2.0-or-later
"""What compiles and runs programs of another architecture: Debian's compiler for it, and libraries that are unpacked.

The libraries are those of the oldest Debian that is supported, in the cache. Beside them lie the programs that a
build looks for by the name of the architecture, and a qemu that runs one program. Whoever has these first on the PATH
builds with tests/arm64/cross.ini as on a machine where all this is installed, and this machine's packages stay as they
are: not all libraries for development can be installed for two architectures.
"""
import os
import pathlib
import re
import shutil
import tempfile

import archive
import emulator
import image
from archive import Failure, output

SUITE = "bookworm"
TRIPLETS = {"arm64": "aarch64-linux-gnu"}

# The compiler is told where its libraries are; what asks for their flags, where these are described.
COMPILER = """#!/bin/sh
exec {program} --sysroot={tree} "$@"
"""
PKG_CONFIG = """#!/bin/sh
export PKG_CONFIG_SYSROOT_DIR={tree} PKG_CONFIG_LIBDIR={tree}/usr/lib/{triplet}/pkgconfig:{tree}/usr/share/pkgconfig
# Where systemd looks is told as a place on the machine that the package is for.
case " $* " in *" --variable="*) unset PKG_CONFIG_SYSROOT_DIR ;; esac
exec pkg-config "$@"
"""
# The loader is told where libraries are, not the emulator: that would take the tree's root for this machine's.
RUNNER = """#!/bin/sh
exec {program} {tree}/lib/ld-linux-*.so.1 --library-path {tree}/lib/{triplet}:{tree}/usr/lib/{triplet} "$@"
"""


def libraries():
    """What the build needs of the other architecture: the libraries that tests/install installs of this one."""
    install = (pathlib.Path(__file__).resolve().parent.parent / "install").read_text(encoding="utf-8")
    words = re.search(r'^packages="(.*?)"', install, re.M | re.S)[1].split()
    ours = [word for word in words if word.endswith("-dev")]
    return sorted(["check", "libc6-dev", "libjemalloc-dev", "systemd", *ours])


def keep_links_inside(tree):
    """Links of packages to absolute paths would lead to this machine's files."""
    for directory, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(directory, name)
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                target = os.path.relpath(f"{tree}{os.readlink(path)}", os.path.realpath(directory))
                os.unlink(path)
                os.symlink(target, path)


def describe(brought, tree, prefix):
    """A dpkg database by which dpkg-shlibdeps finds the package of a library below @prefix."""
    archive.register({deb: [f"{prefix}{name}" for name in names] for deb, names in brought.items()}, tree)
    for deb in brought:
        with tempfile.TemporaryDirectory() as control:
            output("dpkg-deb", "--control", deb, control)
            name, same = archive.instance(deb)
            for part in ("symbols", "shlibs"):
                if (pathlib.Path(control) / part).exists():
                    shutil.copy(pathlib.Path(control) / part, tree / f"var/lib/dpkg/info/{name}{same}.{part}")


def write_program(path, text, **values):
    path.write_text(text.format(**values), encoding="utf-8")
    path.chmod(0o755)


class Toolchain:
    """Programs and libraries for @architecture, in the cache."""

    def __init__(self, cache, archives, architecture):
        self.architecture = architecture
        self.triplet = TRIPLETS[architecture]
        compiler = shutil.which(f"{self.triplet}-gcc")
        if not compiler:
            raise Failure(f"there is no {self.triplet}-gcc: tests/install --arm64 installs it")
        source = archives(SUITE, architecture=architecture)
        packages = source.resolve(*libraries())
        runner = emulator.find_user(cache, archives, self.triplet.split("-", maxsplit=1)[0])
        name = f"cross-{image.digest(packages, runner, compiler, pathlib.Path(__file__).read_bytes())}"
        self.directory = cache / name
        self.tree = self.directory / "tree"

        def make(directory):
            brought = archive.unpack(source.fetch(packages), directory / "tree")
            describe(brought, directory / "tree", self.tree)
            keep_links_inside(directory / "tree")
            (directory / "bin").mkdir()
            values = {"tree": self.tree, "triplet": self.triplet}
            for program, text, path in ((f"{self.triplet}-gcc", COMPILER, compiler),
                                        (f"{self.triplet}-pkg-config", PKG_CONFIG, None),
                                        (pathlib.Path(runner).name, RUNNER, runner)):
                write_program(directory / "bin" / program, text, program=path, **values)
            # Who describes a cross-build of Debian asks for it, and nothing is compiled with it.
            (directory / "bin" / f"{self.triplet}-g++").symlink_to(f"{self.triplet}-gcc")

        image.keep(cache, name, make)

    @property
    def compiler(self):
        return f"{self.directory}/bin/{self.triplet}-gcc"

    @property
    def environment(self):
        """Of what builds with a cross file."""
        return {**os.environ, "PATH": f"{self.directory}/bin:{os.environ['PATH']}"}

    @property
    def package_environment(self):
        """Of what builds a package: its dependencies are found in the tree, too."""
        places = ":".join(f"{self.tree}{place}/{self.triplet}" for place in ("/lib", "/usr/lib"))
        return {**self.environment, "DPKG_ADMINDIR": f"{self.tree}/var/lib/dpkg", "LD_LIBRARY_PATH": places}
