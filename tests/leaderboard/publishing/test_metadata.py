"""Machine-readable descriptions of a release, read by the library of Croissant and checked against the schema of Every Eval Ever."""

from __future__ import annotations

import csv
import json

import jsonschema
import mlcroissant
import pytest

from harness.base.errors import TouchstoneError
from leaderboard.publishing.metadata import describe_release, evaluation_records, export_metadata
from leaderboard.publishing.release import SCORES, Release, read_release

DETAILS = {"type": "object", "additionalProperties": {"type": "string"}}
# What version 0.2.1 of the schema requires of the parts that the records have; the whole is eval.schema.json of evaleval/every_eval_ever.
RECORD = {
    "type": "object", "additionalProperties": False,
    "required": ["schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info", "eval_library", "evaluation_results"],
    "properties": {
        **{name: {"type": "string"} for name in ("schema_version", "evaluation_id", "evaluation_timestamp", "retrieved_timestamp")},
        "source_metadata": {"required": ["source_type", "source_organization_name", "evaluator_relationship"], "properties": {
            "source_type": {"enum": ["documentation", "evaluation_run"]},
            "evaluator_relationship": {"enum": ["first_party", "third_party", "collaborative", "other"]}, "additional_details": DETAILS}},
        "eval_library": {"required": ["name", "version"]},
        "model_info": {"required": ["name", "id"], "properties": {"additional_details": DETAILS}},
        "evaluation_results": {"type": "array", "items": {
            "required": ["evaluation_name", "source_data", "metric_config", "score_details"],
            "properties": {
                "source_data": {"required": ["dataset_name", "source_type"], "properties": {
                    "source_type": {"const": "other"}, "additional_details": DETAILS}},
                "metric_config": {"required": ["lower_is_better"], "if": {"required": ["score_type"]}, "then": {"required": ["min_score", "max_score"]}},
                "score_details": {"required": ["score"], "properties": {
                    "score": {"type": "number"}, "details": DETAILS,
                    "uncertainty": {"properties": {"confidence_interval": {"required": ["lower", "upper"]}}}}}}}}}}


@pytest.fixture(scope="module", params=["2026.1", "2026.4"])
def release(request) -> Release:
    return read_release(request.param)


def test_croissant_is_valid_and_its_table_is_the_table_of_scores(release, tmp_path):
    for path in release.folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "croissant.json").write_text(json.dumps(describe_release(release)))
    dataset = mlcroissant.Dataset(jsonld=tmp_path / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    rows = list(dataset.records("scores"))
    with (release.folder / SCORES).open(encoding="utf-8", newline="") as table:
        expected = list(csv.DictReader(table))
    assert len(rows) == len(expected)
    assert [row["scores/entry"].decode() for row in rows] == [row["entry"] for row in expected]
    assert rows[0]["scores/value"] == pytest.approx(float(expected[0]["value"]))


def test_records_follow_the_schema_and_have_the_released_scores(release):
    records = list(evaluation_records(release))
    assert {(record["model_info"]["id"], record["model_info"]["additional_details"]["track"]) for record in records} <= {
        (f"touchstone/{entry.name}", entry.track) for entry in release.report.entries}
    for record in records:
        jsonschema.validate(record, RECORD)
    assert len({record["evaluation_id"] for record in records}) == len(records) > 50
    entry = next(entry for entry in release.report.entries if entry.name == "energy")
    record = next(record for record in records if record["model_info"]["id"] == "touchstone/energy")
    scores = {result["evaluation_name"]: result["score_details"] for result in record["evaluation_results"]}
    assert scores["known_similarity"]["score"] == entry.score_on("known_similarity").value
    assert scores["overall"]["details"]["rank"] == str(entry.rank)


def test_a_store_has_no_such_description():
    with pytest.raises(TouchstoneError, match="describes releases; select one with --release"):
        export_metadata(None, "croissant")
