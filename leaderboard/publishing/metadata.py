"""Machine-readable descriptions of a release: a Croissant dataset, and records of the schema Every Eval Ever."""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Iterator

from harness.base.errors import TouchstoneError
from harness.base.hashing import sha256_of
from leaderboard.publishing.release import SCORES, Release, releases
from leaderboard.report.schema import EntryReport
from leaderboard.scoring.estimates import Estimate

TERMS = (
    "citeAs", "column", "equivalentProperty", "examples", "extract", "field", "fileObject", "fileProperty", "fileSet",
    "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references",
    "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform")
CONTEXT: dict[str, object] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{term: f"cr:{term}" for term in TERMS},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
MEDIA_TYPES = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".txt": "text/plain",
}
NUMBERS = frozenset({"rank", "rank_low", "rank_high", "value", "low", "high"})
EEE_VERSION = "0.2.1"


def export_metadata(release: Release | None, form: str) -> str:
    """Return a release as `croissant` (a JSON document), or as `every_eval_ever` (a JSON line for each metric and track)."""
    if release is None:
        raise TouchstoneError(
            f"The format {form} describes releases; select one with --release, such as --release {releases()[-1]}."
        )
    if form == "croissant":
        return json.dumps(describe_release(release), indent=1, ensure_ascii=False) + "\n"
    return "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in evaluation_records(release))


def describe_release(release: Release) -> dict[str, object]:
    """Return a release as a Croissant 1.0 dataset, with the table of scores as its record set."""
    files = sorted(path for path in release.folder.iterdir() if path.is_file())
    with (release.folder / SCORES).open(encoding="utf-8", newline="") as table:
        columns = next(csv.reader(table))
    made = release.report.made or ""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"touchstone-{release.name}",
        "version": f"{release.name}.0",
        "datePublished": made,
        "inLanguage": "en",
        "description": f"Scores of text-similarity metrics on the suite {release.report.suite.name} of Touchstone, "
        "with 95% confidence intervals, and the answers that they are computed from. It has no texts of datasets.",
        "license": "https://creativecommons.org/publicdomain/zero/1.0/",
        "creator": {"@type": "sc:Organization", "name": "The Touchstone authors"},
        "citeAs": f"Touchstone {release.name}, suite {release.report.suite.name}@{release.report.suite.fingerprint[:6]}",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": path.name,
                "name": path.name,
                "contentUrl": path.name,
                "contentSize": f"{path.stat().st_size} B",
                "encodingFormat": MEDIA_TYPES.get(path.suffix, "text/plain"),
                "sha256": sha256_of(path),
            }
            for path in files
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "scores",
                "name": "scores",
                "description": "A row per metric and measure.",
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"scores/{column}",
                        "name": column,
                        "dataType": "sc:Float" if column in NUMBERS else "sc:Text",
                        "source": {"fileObject": {"@id": SCORES}, "extract": {"column": column}},
                    }
                    for column in columns
                ],
            }
        ],
    }


def evaluation_records(release: Release) -> Iterator[dict[str, object]]:
    """Yield a record of Every Eval Ever for each metric in each track: its place on the axis, and its scores on the tasks."""
    report, made = release.report, release.report.made or "1970-01-01"
    created = str(int(datetime.datetime.fromisoformat(made).replace(tzinfo=datetime.UTC).timestamp()))
    suite = f"{report.suite.name}@{report.suite.fingerprint[:6]}"
    for entry in report.entries:
        scores = list(entry_scores(release, entry))
        if scores:
            yield {
                "schema_version": EEE_VERSION,
                "evaluation_id": f"touchstone-{suite}/{entry.name}-{entry.track}/{created}",
                "retrieved_timestamp": created,
                "evaluation_timestamp": made,
                "source_metadata": {
                    "source_name": f"Touchstone {release.name}",
                    "source_type": "evaluation_run",
                    "source_organization_name": "Touchstone",
                    "evaluator_relationship": "third_party",
                    "additional_details": {"checksum_of_release": release.checksum, "licence": report.licence},
                },
                "eval_library": {"name": "touchstone", "version": report.harness.version},
                "model_info": {
                    "name": entry.title,
                    "id": f"touchstone/{entry.name}",
                    "additional_details": {
                        "digest": entry.digest,
                        "track": entry.track,
                        "kind": entry.kind,
                        "license": entry.license,
                    },
                },
                "evaluation_results": scores,
            }


def entry_scores(release: Release, entry: EntryReport) -> Iterator[dict[str, object]]:
    """Yield the results of an entry: the value on the axis of its track with the rank, and the scores on the tasks."""
    source = {
        "dataset_name": f"Touchstone suite {release.report.suite.name}",
        "source_type": "other",
        "additional_details": {"fingerprint": release.report.suite.fingerprint},
    }

    def result(
        name: str, description: str, score: Estimate, bounds: dict[str, object], details: dict[str, str]
    ) -> dict[str, object]:
        interval = {"lower": score.low, "upper": score.high, "confidence_level": 0.95, "method": "bootstrap over clusters"}
        return {
            "evaluation_name": name,
            "source_data": source,
            "metric_config": {"evaluation_description": description, "lower_is_better": False, **bounds},
            "score_details": {
                "score": score.value,
                "details": details,
                **({} if score.low is None else {"uncertainty": {"confidence_interval": interval}}),
            },
        }

    if entry.overall is not None:
        rank = {"rank": str(entry.rank), "rank_interval": "-".join(map(str, entry.rank_interval or ()))} if entry.rank else {}
        yield result("overall", "Mean of scores above chance, each in a unit of its own; 0 is chance.", entry.overall, {}, rank)
    for name, task in entry.tasks.items():
        info = release.task(name)
        if task.score is not None and info is not None and info.track == entry.track:
            bounds = {"score_type": "continuous", "min_score": info.worst, "max_score": 1.0}
            yield result(name, info.title, task.score, bounds, {"signature": task.signature or ""})
