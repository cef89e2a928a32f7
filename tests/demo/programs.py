# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of Debian packages that need not be installed.

What this machine lacks is downloaded by its apt and unpacked into a directory, with the libraries that it lacks, and
goes with that directory. No script of a package runs: no service starts, now or at the next boot, and no database
cluster is made.
"""
import glob
import os
import shutil
import subprocess

from harness import Skip

# Where Debian keeps programs that are not for everybody's PATH.
PLACES = ("usr/bin", "usr/sbin", "usr/lib/postgresql/*/bin", "usr/lib/go-*/pkg/tool/linux_*")


class Programs:
    """Finds programs by their names, and the environment to run them in."""

    def __init__(self, directory, packages):
        """@packages: {program: its package}."""
        self.environment = {}
        self.path = search_path("/")
        lacking = sorted({package for program, package in packages.items()
                          if not shutil.which(program, path=self.path)})
        if lacking:
            tree = unpack(download(directory, lacking), directory / "packages")
            self.path = search_path(tree) + os.pathsep + self.path
            libraries = glob.glob(f"{tree}/usr/lib/*-linux-gnu*")
            self.environment = {"LD_LIBRARY_PATH": os.pathsep.join(libraries)}
        for program, package in packages.items():
            if not shutil.which(program, path=self.path):
                raise Skip(f"{package} brings no {program} here")

    def __getitem__(self, program):
        return shutil.which(program, path=self.path)


def search_path(root):
    places = [path for place in PLACES for path in sorted(glob.glob(os.path.join(root, place)), reverse=True)]
    return os.pathsep.join(places)


def download(directory, packages):
    """The files of @packages and of what they depend on, as far as this machine lacks it."""
    archives = directory / "archives"
    (archives / "partial").mkdir(parents=True)
    fetch = ["apt-get", "--yes", "--quiet", "--no-install-recommends", "--download-only",
             "-o", f"Dir::Cache::archives={archives}", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1",
             "install", *packages]
    for command in (fetch, ["apt-get", "--quiet", "update"], fetch):
        said = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if command is fetch and said.returncode == 0:
            return sorted(archives.glob("*.deb"))
    raise Skip(f"apt cannot download {' '.join(packages)}: {(said.stderr.strip() or 'no reason').splitlines()[-1]}")


def unpack(files, tree):
    for file in files:
        subprocess.run(["dpkg-deb", "--extract", file, tree], check=True)
    return tree
