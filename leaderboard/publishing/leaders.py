"""The table of the leaders in README.md: `python -m leaderboard.publishing.leaders` writes that of the latest release."""

from __future__ import annotations

from harness.base.paths import PROJECT
from leaderboard.publishing.citations import format_score, markdown
from leaderboard.publishing.release import Release, read_release

README = PROJECT / "README.md"
BEGIN, END = "<!-- leaders -->\n", "<!-- end of leaders -->\n"
COUNT = 3                                   # in each track


def leaders_table(release: Release) -> str:
    """Return the first metrics of each track as a Markdown table."""
    rows, model = [], release.report.suite.model.name
    for track in dict.fromkeys(entry.track for entry in release.report.entries):
        standings = [entry for entry in release.report.entries if entry.track == track and entry.rank is not None]
        for entry in sorted(standings, key=lambda entry: entry.rank or 0)[:COUNT]:
            low, high = entry.rank_interval or (entry.rank, entry.rank)
            models = ", ".join(dict.fromkeys([*([model] if "embeddings" in entry.input else []), *entry.models]))
            rows.append(f"| {track} | {entry.rank} | {low}-{high} | {markdown(entry.name)} | {markdown(models)} | "
                        f"{format_score(entry.overall)} |\n")
    return f"| track | rank | 95% range | metric | models | score [95% CI] |\n|---|---|---|---|---|---|\n{''.join(rows)}"


def replace_table(text: str, table: str) -> str:
    """Return a text with the table between the marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    README.write_text(replace_table(README.read_text(encoding="utf-8"), leaders_table(read_release())), encoding="utf-8")
