"""Remove folders that a metric has written to."""

import os
import time

REMOVALS = 5                            # passes over a folder to which a process may still be writing


def remove_tree(folder: str) -> None:
    """Remove a folder, however deep, unreadable or oddly named its contents; never follow links.

    What cannot be removed remains; no exception is raised.
    """
    for _ in range(REMOVALS):
        try:
            empty(folder)
            os.rmdir(folder)
        except FileNotFoundError:
            return
        except OSError:                 # a process is still writing, or the folder belongs to another user
            time.sleep(0.01)
        else:
            return


def empty(folder: str) -> None:
    """Move the contents of inner folders to the top before removing them, so that no path exceeds one name."""
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
    """Remove a file, or move the contents of a folder to the top."""
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
                os.chmod(child.name, 0o700, dir_fd=inner)           # a folder can only be moved if it is writable
            os.rename(child.name, os.urandom(16).hex(), src_dir_fd=inner, dst_dir_fd=top)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)
