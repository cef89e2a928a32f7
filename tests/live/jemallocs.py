# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds of jemalloc, and programs that allocate with them.

The one of this machine's distribution is enough for most; others come from packages of other suites of the archive
that this machine's apt is configured with: as they are shipped, and built from the sources that they carry. All of
it is kept in a cache, beside nothing that is installed: what is there is neither downloaded nor built again.
"""
import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "vm"))

# pylint: disable=wrong-import-position
import archive
import image
from archive import Failure, output
from harness import Skip

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "heap-target.c"
LIBRARIES = f"usr/lib/{platform.machine()}-linux-gnu"
SHARED, STATIC, PIC = "libjemalloc.so.2", "libjemalloc.a", "libjemalloc_pic.a"
WARNINGS = ("-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-parameter", "-pthread")
RJEM = "_rjem_"  # what the Rust crates put before the names


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    directory = pathlib.Path(os.environ.get("CTPROF_HEAP_CACHE") or pathlib.Path(base) / "ctprof-heap")
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@contextlib.contextmanager
def alone():
    """One at a time makes what is missing."""
    with open(cache() / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def digest(*parts):
    text = b"\0".join(part.read_bytes() if isinstance(part, pathlib.Path) else repr(part).encode() for part in parts)
    return hashlib.sha256(text).hexdigest()[:16]


def prune(days=14):
    """Forgets what no run of the last days used; archives, from which it is made, stay longest."""
    image.prune(cache(), days)


# --- packages ----------------------------------------------------------------------------------------------------


class Suite(archive.Archive):
    """The packages of one suite, and their sources."""

    known = {}

    def _write_sources(self, suite, beside):
        main = f"[signed-by={archive.KEYRING}] {archive.address('debian')} {suite} main"
        file = self.state / "sources.list"
        text = f"deb {main}\ndeb-src {main}\n"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            (self.state / "updated").unlink(missing_ok=True)

    @classmethod
    def named(cls, name):
        if name not in cls.known:
            cls.known[name] = cls(cache(), name)
        return cls.known[name]

    def _get(self, pattern, *words):
        """Downloads the file of "apt-get WORDS" whose name matches, unless it is kept."""
        for last in (False, True):
            try:
                listed = output("apt-get", *self.options, *words, "--print-uris")
                names = [line.split()[1] for line in listed.splitlines() if line.startswith("'")]
                wanted = [name for name in names if re.search(pattern, name)]
                if not wanted:
                    raise Failure(f"apt-get {' '.join(words)} has no {pattern}")
                kept = self.debs / wanted[0]
                if not kept.exists():
                    output("apt-get", *self.options, *words, cwd=self.debs / "partial")
                    (self.debs / "partial" / wanted[0]).rename(kept)
                return kept
            except Failure:
                if last:
                    raise
                # The archive may have newer ones than the lists that are kept.
                self._update()
        return None

    def packages(self, *names):
        """The tree of some packages, unpacked."""
        debs = [self._get(r"\.deb$", "download", name) for name in names]
        return image.keep(cache(), f"package-{self.state.name}-{digest(*(deb.name for deb in debs))}",
                          lambda directory: archive.unpack(debs, directory))

    def sources(self, name, inside=""):
        """The sources of a package, as their authors released them; of those the ones @inside a directory."""
        tar = self._get(r"\.orig\.tar\.", "--download-only", "--only-source", "source", name)

        depth = 1 + len(pathlib.PurePath(inside).parts)

        def make(directory):
            output("tar", "-C", directory, "--no-same-owner", f"--strip-components={depth}", "--wildcards", "-xf", tar,
                   f"*/{inside}/*" if inside else "*")
        return image.keep(cache(), f"package-{tar.name}-{digest(inside)}", make)


# --- jemalloc ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Jemalloc:
    """One build of jemalloc; what it lacks is None."""
    name: str
    shared: pathlib.Path = None
    static: pathlib.Path = None
    pic: pathlib.Path = None
    prefix: str = ""
    flags: tuple = ()  # that whatever is linked with it needs
    compiler: str = "cc"


def of_tree(name, tree, **more):
    def there(file):
        return tree / LIBRARIES / file if (tree / LIBRARIES / file).exists() else None
    return Jemalloc(name, shared=there(SHARED), static=there(STATIC), pic=there(PIC), **more)


def distribution():
    """What this machine's distribution ships: installed, or else unpacked."""
    installed = of_tree("the distribution's", pathlib.Path("/"))
    if installed.shared and installed.static and installed.pic:
        return installed
    with alone():
        debs = cache() / "archives"
        debs.mkdir(exist_ok=True)
        try:
            listed = output("apt-get", "download", "--print-uris", "libjemalloc2", "libjemalloc-dev")
            names = [line.split()[1] for line in listed.splitlines() if line.startswith("'")]
            if not all((debs / name).exists() for name in names):
                output("apt-get", "-o", "APT::Sandbox::User=root", "download", "libjemalloc2", "libjemalloc-dev", cwd=debs)
            tree = image.keep(cache(), f"package-distribution-{digest(*sorted(names))}",
                              lambda directory: archive.unpack([debs / name for name in names], directory))
        except Failure as failure:
            raise Skip(f"libjemalloc-dev is not installed, and cannot be downloaded: {failure}") from failure
    return of_tree("the distribution's", tree)


def shipped(suite):
    """What another suite ships."""
    with alone():
        tree = Suite.named(suite).packages("libjemalloc2", "libjemalloc-dev")
    return of_tree(f"libjemalloc2 of {suite}", tree)


@dataclasses.dataclass(frozen=True)
class Sources:
    """Where the sources of a jemalloc are: @inside the package @package of a suite."""
    version: str
    suite: str
    package: str
    inside: str = ""

    @property
    def name(self):
        return f"jemalloc {self.version} in {self.package} of {self.suite}"


# One of each version that is to be had, the newest last; the redis ones have its patches.
SOURCES = (
    Sources("5.1.0", "bullseye", "redis", "deps/jemalloc"),
    Sources("5.2.1", "bookworm", "redis", "deps/jemalloc"),
    Sources("5.3.0", "bookworm", "jemalloc"),
    Sources("5.3.0", "sid", "redis", "deps/jemalloc"),
    Sources("5.3.1", "sid", "jemalloc"),
)


def build(sources, *options, flags="-O2", compiler="cc"):
    """Configures @sources with @options, with nothing but what a program needs."""
    prefix = next((option.partition("=")[2] for option in options if option.startswith("--with-jemalloc-prefix=")), "")
    is_lto = "-flto" in flags.split()
    words = ["--disable-cxx", *options, f"CC={compiler}", f"CFLAGS={flags}"]
    if is_lto:
        words += ["AR=gcc-ar", "RANLIB=gcc-ranlib", "NM=gcc-nm"]

    def make(directory):
        work = directory / "work"
        shutil.copytree(tree, work)
        if not (work / "configure").exists():
            if not shutil.which("autoconf"):
                raise Failure("these sources have no configure, and there is no autoconf")
            output("autoconf", cwd=work)
        output("sh", "./configure", *words, cwd=work)
        output("make", f"-j{os.cpu_count()}", "build_lib_shared", "build_lib_static", cwd=work)
        (directory / LIBRARIES).mkdir(parents=True)
        for file in (SHARED, STATIC, PIC):
            shutil.copy(work / "lib" / file, directory / LIBRARIES / file)
        shutil.rmtree(work)

    with alone():
        tree = Suite.named(sources.suite).sources(sources.package, sources.inside)
        kept = image.keep(cache(), f"root-jemalloc-{digest(tree.name, words, pathlib.Path(shutil.which(compiler)))}", make)
    name = " ".join([sources.name, *options, *([compiler] if compiler != "cc" else []), *(["-flto"] if is_lto else [])])
    return of_tree(name, kept, prefix=prefix, compiler=compiler, flags=("-flto",) if is_lto else ())


# --- programs ----------------------------------------------------------------------------------------------------

# Ways to bring a jemalloc into a program: what they need of it, and what the compiler is told.
WAYS = {
    "loader": (None, ()),
    "linked": ("shared", ("-DHEAP_LINKED",)),
    "static": ("static", ("-DHEAP_LINKED", "-no-pie", "-static")),
    "pie": ("pic", ("-DHEAP_LINKED", "-fPIE", "-pie")),
    "static-pie": ("pic", ("-DHEAP_LINKED", "-fPIE", "-static-pie")),
}


def libc(suite):
    """What a program needs of the compiler to run with the C library of another suite."""
    with alone():
        tree = Suite.named(suite).packages("libc6")
    loader = next(tree.glob("usr/lib*/**/ld-linux*.so.*"))
    return [f"-Wl,--dynamic-linker={loader}", f"-Wl,-rpath,{tree / LIBRARIES}", "-Wl,--allow-shlib-undefined"]


def rust(jemalloc, is_stripped=False):
    """heap-target in Rust, with this jemalloc, whose names must begin with RJEM."""
    source = HERE / "heap-target.rs"
    compiler, environment = rustc()

    def make(directory):
        output(compiler, "-O", "-o", directory / "heap-target", source, "-L", f"native={jemalloc.pic.parent}",
               "-l", "static=jemalloc_pic", "-C", "link-arg=-lm", env=environment)
        if is_stripped:
            output("strip", directory / "heap-target")

    with alone():
        return image.keep(cache(), f"root-target-{digest(source, jemalloc.pic, is_stripped, compiler)}",
                          make) / "heap-target"


def rustc():
    """The compiler and the environment that it needs: what is installed, or what a suite ships."""
    if shutil.which("rustc"):
        return "rustc", dict(os.environ)
    with alone():
        source = Suite.named("bookworm")
        debs = source.fetch(source.resolve("rustc", only="^(rustc|libstd-rust|libllvm|libz3)"))
        tree = image.keep(cache(), f"package-rustc-{digest(*(deb.name for deb in debs))}",
                          lambda directory: archive.unpack(debs, directory))
    return tree / "usr/bin/rustc", {**os.environ, "LD_LIBRARY_PATH": str(tree / LIBRARIES)}


def program(jemalloc, way, *flags, is_stripped=False, compiler=None, source=SOURCE):
    """heap-target, or another source, as it is with this jemalloc, or with None; None if that lacks what the way needs."""
    needs, words = WAYS[way]
    library = getattr(jemalloc, needs) if needs and jemalloc else None
    if needs and jemalloc and not library:
        return None
    words = [*WARNINGS, "-O2", *words, *flags]
    libraries = [str(library), "-lm", "-ldl"] if library else ["-ldl"]
    if library:
        words += [*jemalloc.flags, *([f"-DHEAP_PREFIX={jemalloc.prefix}"] if jemalloc.prefix else [])]
    if way == "linked":
        libraries.append(f"-Wl,-rpath,{library.parent}")
    compiler = compiler or (jemalloc.compiler if jemalloc else "cc")

    def make(directory):
        output(compiler, *words, "-o", directory / source.stem, source, *libraries)
        if is_stripped:
            output("strip", directory / source.stem)

    with alone():
        inputs = [library] if library else []
        kept = image.keep(cache(), f"root-target-{digest(source, words, libraries, is_stripped, compiler, *inputs)}", make)
    return kept / source.stem


def copy(path, target, stripped=False):
    """A library or program of one's own, to be stripped, removed or cut."""
    shutil.copy(path, target)
    if stripped:
        output("strip", target)
    return target
