"""Run metrics on jobs of a SLURM cluster. Not verified: no SLURM was available.

Usage, on a login node, in a folder that all nodes share (`pip install dask-jobqueue` before):

    python deploy/slurm.py --jobs 40 --all --store postgresql://user@host/name

`--jobs` is the number of SLURM jobs, each with one processor; `--partition`, `--account` and `--hours` describe them. All other
options are those of `touchstone run`.
"""

import argparse
import subprocess
import sys

from dask_jobqueue import SLURMCluster


def main() -> int:
    """Start the jobs, run, and end them."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--partition")
    parser.add_argument("--account")
    parser.add_argument("--hours", type=int, default=8)
    own, words = parser.parse_known_args()
    with SLURMCluster(queue=own.partition, account=own.account, walltime=f"{own.hours:02}:00:00", cores=1, processes=1,
                      memory="12GB") as cluster:
        cluster.scale(jobs=own.jobs)
        cluster.wait_for_workers(1)             # others may join later
        return subprocess.run(["touchstone", "run", *words, "--cluster", cluster.scheduler_address], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
