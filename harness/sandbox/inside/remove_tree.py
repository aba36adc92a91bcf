"""Removing what a metric has left behind.  On the standard library alone: a supervisor does it too, in any environment."""

import os
import time

REMOVALS = 5                            # of a folder, while somebody may still write there


def remove_tree(folder: str) -> None:
    """Removes what a metric may have left, however deep, unreadable or oddly named, and never what a link points to.

    What cannot be removed stays; it never raises.
    """
    for _ in range(REMOVALS):
        try:
            empty(folder)
            os.rmdir(folder)
        except FileNotFoundError:
            return
        except OSError:                 # somebody is still writing there, or it is not ours
            time.sleep(0.01)
        else:
            return


def empty(folder: str) -> None:
    """What lies in an inner folder is moved up to the top before that folder goes: no path grows longer than one name."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.chmod(f"/proc/self/fd/{handle}", 0o700)
        top = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_DIRECTORY)
    finally:
        os.close(handle)
    try:
        while names := os.listdir(top):
            for name in names:
                remove_or_flatten(name, top)
    finally:
        os.close(top)


def remove_or_flatten(name: str, top: int) -> None:
    try:
        os.unlink(name, dir_fd=top)
        return
    except (IsADirectoryError, PermissionError):
        pass
    try:
        os.rmdir(name, dir_fd=top)
        return
    except OSError:
        os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for child in list(os.scandir(inner)):
            if child.is_dir(follow_symlinks=False):
                os.chmod(child.name, 0o700, dir_fd=inner)           # to be moved, a folder must be ours to write
            os.rename(child.name, os.urandom(16).hex(), src_dir_fd=inner, dst_dir_fd=top)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)
