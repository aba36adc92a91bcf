"""Network namespaces of Linux: nodes with an address of their own, whose link can be taken down."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NETWORK = "10.213"


class Node:
    """A network namespace that reaches this machine by one link."""

    def __init__(self, number: int) -> None:
        self.name, self.link = f"ts-{os.getpid() % 10_000}-{number}", f"ts{os.getpid() % 10_000}n{number}"
        self.host, self.address = f"{NETWORK}.{number}.1", f"{NETWORK}.{number}.2"
        for command in (f"netns add {self.name}", f"link add {self.link} type veth peer name inside netns {self.name}",
                        f"addr add {self.host}/24 dev {self.link}", f"link set {self.link} up",
                        f"-n {self.name} addr add {self.address}/24 dev inside", f"-n {self.name} link set inside up",
                        f"-n {self.name} link set lo up", f"-n {self.name} route add default via {self.host}"):
            run(command)

    @property
    def prefix(self) -> list[str]:
        """The words that run a command in the namespace."""
        return ["ip", "netns", "exec", self.name]

    def set_link(self, up: bool) -> None:
        """Connect the node, or disconnect it without closing a connection."""
        run(f"link set {self.link} {'up' if up else 'down'}")

    def close(self) -> None:
        """Remove the namespace and its link."""
        run(f"netns del {self.name}")


def run(words: str) -> None:
    """Run a command of iproute2."""
    done = subprocess.run(["ip", *words.split()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {words}: {done.stderr}"


@contextmanager
def nodes(count: int) -> Iterator[list[Node]]:
    """Yield namespaces; skip the test where they cannot be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None or subprocess.run(["unshare", "-n", "true"], check=False).returncode:
        pytest.skip("network namespaces need root and iproute2")
    made: list[Node] = []
    try:
        made.extend(map(Node, range(count)))
        yield made
    finally:
        for node in made:
            node.close()
