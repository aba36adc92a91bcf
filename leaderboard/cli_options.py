"""What the command groups share: options, and how JSON is printed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

SuiteOption = Annotated[str, typer.Option(help="core, smoke, or a TOML file of your own.", rich_help_panel="What")]
StoreOption = Annotated[str | None, typer.Option(metavar="FILE|postgresql://…", help="The results store.  [default: "
                                                 "results/store.sqlite in the clone, or TOUCHSTONE_STORE]",
                                                 show_default=False, rich_help_panel="Where")]
DataOption = Annotated[Path | None, typer.Option(help="A folder of Parquet snapshots, looked at before anything is fetched.  "
                                                      "[default: TOUCHSTONE_DATA]", show_default=False, rich_help_panel="Where")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
TrustOption = Annotated[bool, typer.Option("--trust", help="Run without walls files whose source you have read; the record "
                                           "says so.", rich_help_panel="How")]
ANSWERED, SOME_FAILED, REFUSED, STOPPED = 0, 1, 2, 130


def use_mirror(folder: Path | None) -> None:
    if folder is not None:
        os.environ["TOUCHSTONE_DATA"] = str(folder.resolve())


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))
