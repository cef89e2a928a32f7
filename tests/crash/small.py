# SPDX-License-Identifier: GPL-2.0-or-later
"""Small file systems that last as long as a test."""
import contextlib
import os
import shutil

from harness import Skip, expect_equal, need_root, run


def ext4_image(path, size, block):
    """A file with an empty ext4 in it."""
    need_root()
    if not shutil.which("mkfs.ext4"):
        raise Skip("mkfs.ext4 is not installed")
    path.write_bytes(b"")
    os.truncate(path, size)
    made = run("mkfs.ext4", "-q", "-b", block, "-m", "0", path)
    expect_equal(made.status, 0, made.err)
    return path


@contextlib.contextmanager
def mounted(place, *command):
    """Mounts something on the directory @place, which is made when it is missing."""
    need_root()
    place.mkdir(exist_ok=True)
    result = run("mount", *command, place)
    if result.status != 0:
        raise Skip(f"this kernel does not mount {' '.join(map(str, command))}")
    try:
        os.chmod(place, 0o755)
        yield place
    finally:
        result = run("umount", place)
        expect_equal(result.status, 0, result.err)
