"""The schema of reports: old releases are read unchanged, numbers are finite."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from leaderboard.publishing import release as releases
from leaderboard.publishing.release import read_release
from leaderboard.report.schema import Report, TaskRank


@pytest.mark.parametrize("name", ["2026.1", "2026.2"])
def test_releases_of_schema_version_1_are_read_unchanged(name):
    """Every value of the file is in the report; what the file lacks is added from the registries."""
    content = (releases.FOLDER / name / releases.REPORT).read_bytes()
    values = json.loads(content)
    assert "schema_version" not in values
    assert json.loads(Report.model_validate_json(content).model_dump_json(exclude_unset=True)) == values
    report = read_release(name).report
    assert report.schema_version == 1
    assert any(task.presentation.roles for task in report.suite.tasks)
    assert all(dataset.title for dataset in report.suite.datasets)
    assert [entry.authors for entry in report.entries if entry.name == "energy"] == [["Székely", "Rizzo"]]


def test_parts_are_immutable_and_finite():
    rank = TaskRank(rank=1, rank_interval=(1, 2))
    with pytest.raises(ValidationError, match="frozen"):
        rank.rank = 2
    values = json.loads((releases.FOLDER / releases.releases()[-1] / releases.REPORT).read_bytes())
    values["entries"][0]["borda"] = float("nan")
    with pytest.raises(ValidationError, match="finite"):
        Report.model_validate(values)
