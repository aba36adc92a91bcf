"""The files in deploy/: they parse, and the commands in them exist with their options."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from harness.base.paths import PROJECT
from harness.results.store import Store
from leaderboard.cli.app import app

distributed = pytest.importorskip("distributed")

from distributed.cli import dask_scheduler, dask_worker  # noqa: E402

DEPLOY = PROJECT / "deploy"
COMPOSE = [yaml.safe_load((DEPLOY / name).read_text()) for name in ("compose.yaml", "cluster-compose.yaml")]
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
CONTAINERS = [(manifest["metadata"]["name"], container) for manifest in MANIFESTS if "template" in manifest["spec"]
              for container in manifest["spec"]["template"]["spec"]["containers"]]
COMMANDS = [shlex.split(service["command"]) for file in COMPOSE for service in file["services"].values() if "command" in service]
COMMANDS += [container["command"] for _, container in CONTAINERS]
SLURM_STAND_IN = """
from distributed import LocalCluster
class SLURMCluster(LocalCluster):
    def __init__(self, *, queue, account, walltime, cores, processes, memory):      # those of dask-jobqueue 0.8.5
        assert (queue, account, walltime, cores, processes, memory) == ("short", None, "02:00:00", 1, 1, "12GB")
        super().__init__(n_workers=0, threads_per_worker=cores, dashboard_address=None)
    def scale(self, n=None, jobs=0):
        super().scale(jobs if n is None else n)
"""


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_commands_and_their_options_exist(words):
    program, name, *arguments = words
    group: Any = typer.main.get_command(app)
    command = {"touchstone": group.commands.get(name), "dask": {"scheduler": dask_scheduler.main, "worker": dask_worker.main}.get(name)}[program]
    assert command is not None
    command.make_context(name, list(arguments))             # raises for an option or a value that it does not take


def test_workers_and_the_run_name_the_scheduler_that_is_started():
    services = COMPOSE[1]["services"]
    addresses = {word for words in COMMANDS for word in words if word.startswith("tcp://")}
    (service,) = (manifest for manifest in MANIFESTS if manifest["kind"] == "Service")
    assert addresses == {"tcp://scheduler:8786", f"tcp://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"}
    assert services["worker"]["deploy"]["replicas"] == 2
    for file in COMPOSE:
        assert {name for service in file["services"].values() for name in service.get("depends_on", ())} <= file["services"].keys()
        volumes = {volume.split(":")[0] for service in file["services"].values() for volume in service.get("volumes", ())}
        assert volumes <= file["volumes"].keys()


def test_pods_are_selected_by_the_labels_that_they_have():
    deployments = [manifest for manifest in MANIFESTS if manifest["kind"] == "Deployment"]
    for manifest in deployments:
        assert manifest["spec"]["selector"]["matchLabels"].items() <= manifest["spec"]["template"]["metadata"]["labels"].items()
    (service,) = (manifest for manifest in MANIFESTS if manifest["kind"] == "Service")
    assert any(service["spec"]["selector"].items() <= manifest["spec"]["template"]["metadata"]["labels"].items() for manifest in deployments)


@pytest.mark.cli
@pytest.mark.sandbox
def test_the_slurm_script_runs_metrics_on_its_jobs(tmp_path):
    (tmp_path / "dask_jobqueue.py").write_text(SLURM_STAND_IN)
    store = tmp_path / "store.sqlite"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run([sys.executable, str(DEPLOY / "slurm.py"), "--jobs", "1", "--hours", "2", "--partition", "short", "zipf", "--suite", "smoke",
                           "--only", "known_similarity", "--store", str(store)], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": path, "PYTHONPATH": f"{tmp_path}{os.pathsep}{PROJECT}"})
    assert done.returncode == 0, done.stderr
    assert {row[2] for row in Store(store, read_only=True).raw()} == {"answered"}
