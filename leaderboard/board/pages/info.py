"""Pages of words: the tasks, how to submit, what this is and how to cite it, and what is not there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

from harness.base.paths import PROJECT
from harness.evaluation.task import Paper
from leaderboard.board.components.layout import Links, outside, table
from leaderboard.board.components.published import published
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.papers import usmb
from leaderboard.publishing.release import releases
from tasks.data import loading as data
from tasks.registry import TASKS

STATES = {"submitted": "a pull request brought it", "checked": "its header is right and it behaves as it says",
          "ranked": "it was asked all of core and stands in the table", "rejected": "it does not stand in the table; the reason is said"}


def tasks(snapshot: Snapshot, links: Links) -> str:
    """What each task measures, on what data, what chance scores, and what is known against it."""
    parts = ['<h1>Tasks</h1><p class="lede">What is asked, and what the answers are made into. All data is public: a metric may have met it before, '
             "which nobody can rule out, and its scores may say what it remembers. All of it is English: what is said here is said of English."
             " Intervals speak of new draws from these datasets, not of other datasets.</p>"]
    for task in snapshot.facts["suite"]["tasks"]:
        marked = snapshot.facts["gameable"].get(task["track"], {})
        paper = TASKS[task["name"]].info.paper if task["name"] in TASKS else None
        kind = TRACKS[task["track"]] if task["ranked"] else "a property, not part of any score"
        ours = "After USMB's task of that name." if task["name"] in usmb.TASKS else "Ours."
        origin = f"<p>{outside(paper.url, named(paper)) if paper else ours}</p>"
        chance = f"Chance {chance_of(snapshot, task)}. " if task["ranked"] else ""
        known = f'<p class="mark">● gameable: of the controls, {escape(", ".join(marked[task["name"]]))} does as well as half of the ranked.</p>' if task["name"] in marked else ""
        controls = [[escape(entry["name"]), f"{score['value']:.2f}"] for entry in snapshot.entries(task["track"])
                    if entry["control"] and (score := (entry["tasks"].get(task["name"]) or {}).get("score"))]
        shown = f"<details><summary>What controls score</summary>{table(['Control', 'Score'], controls, 'Controls')}</details>" if controls else ""
        measures = "".join(f"<dt>{escape(name.replace('_', ' '))}</dt><dd>{escape(words)}</dd>" for name, words in task["measures"].items())
        parts.append(f'<section class="card" id="task-{escape(task["name"])}"><h2>{escape(task["title"])} <small>{kind}</small></h2>'
                     f"<p>{escape(task['asks'])}</p>{origin}<p>Score: {escape(task['score'])}. {chance}{task['units']:,} units, "
                     f"drawn by {escape(task['unit'])}, on {escape(', '.join(task['data']))}.</p>{known}{shown}"
                     f"{published(snapshot, links, task)}"
                     f"<details><summary>Measures</summary><dl>{measures}</dl></details></section>")
    rows = []
    for name, fingerprint in snapshot.facts["suite"]["data"]:
        known_set = data.DATASETS.get(name)
        rows.append([escape(name), escape(known_set.title if known_set else ""), escape(known_set.licence if known_set else ""),
                     escape(known_set.citation if known_set else ""),
                     escape(known_set.stands_for or "") if known_set else "", "yes" if known_set and known_set.displayable else "no",
                     f"<code>{escape(fingerprint[:12])}</code>"])
    return "".join(parts) + f"<h2>Data</h2>{table(['Name', 'What', 'Licence', 'From', 'Stands for', 'Texts may be shown', 'Fingerprint'], rows, 'Data', words=True)}"


def chance_of(snapshot: Snapshot, task: Mapping[str, Any]) -> str:
    """What chance scores: of tasks whose data decide it, as computed from what was asked."""
    found = {f"{entry['tasks'][task['name']]['chance']:.2g}" for entry in snapshot.entries(task["track"])
             if task["name"] in entry["tasks"] and entry["tasks"][task["name"]]["score"]}
    return " to ".join(sorted(found, key=float)[::max(1, len(found) - 1)]) if found else f"{task['chance']:.2g}"


def named(paper: Paper) -> str:
    return f"{paper.authors[0].split(',')[0]} et al. {paper.year}: {paper.title}"


@cache
def example() -> str:
    """The README's first metric."""
    block, *_ = re.findall(r"^```python\n(.*?)^```", (PROJECT / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return f'<pre tabindex="0" role="region" aria-label="A whole metric"><code>{escape(block)}</code></pre>'


def submit(links: Links) -> str:
    """How a metric gets onto the board."""
    states = "".join(f"<dt>{name}</dt><dd>{words}</dd>" for name, words in STATES.items())
    return f"""<h1>Submit a metric</h1><p class="lede">A metric is one Python file: a header that says what it is, and a function. No base class, nothing
to import.</p><ol><li>Write a file, for instance <code>shared_words.py</code>:{example()}</li>
<li><code>touchstone check shared_words.py</code> asks it a few things behind the walls it will be asked behind, in seconds.</li>
<li><code>touchstone submit shared_words.py</code> asks it all of core on your machine and makes a bundle: the file, the report, its signature.</li>
<li>Send the bundle as a pull request against <code>submissions/</code>. It is asked again there; what comes out must agree.</li></ol>
<h2>What may become of it</h2><dl>{states}</dl>"""


def about(snapshot: Snapshot, links: Links) -> str:
    """What this is, how to cite it, and how machines read it."""
    named = "".join(f'<li><a href="?release={escape(name)}">{escape(name)}</a></li>' if not links.static else f"<li>{escape(name)}</li>"
                    for name in reversed(releases())) or "<li>There is no release yet.</li>"
    return f"""<h1>About and cite</h1><p class="lede">Touchstone measures metrics of text similarity: each one answers the same questions, alone, behind walls,
and every answer is kept.</p>
<p>Scores are corrected for chance: 0 is chance, 1 is perfect. Intervals are 95% and speak of new draws from these datasets, not of new datasets. Metrics
are parted by a test of all pairs at once (step-down max-T, 5%). The data is public, so a metric's model may have seen it; submissions name what they were
trained on as far as they know. All data is English.</p>
<h2>Cite a number</h2><pre tabindex=0>touchstone cite fid --task known_similarity --format bibtex</pre>
<p>Quote the release and the signature with it: they say which questions, which data and which version of the metric a number belongs to.</p>
<h2>Releases</h2><ul>{named}</ul><p>A release is never written again. What is found wrong with one is said in its errata.</p>
<h2 id="api">For machines</h2><dl><dt><code>/api/board</code></dt><dd>everything that is shown, as JSON, with an ETag; <code>?release=</code> or <code>?suite=</code> for another one</dd>
<dt><code>/api/board.csv</code>, <code>.parquet</code>, <code>.tex</code>, <code>.md</code></dt><dd>the table of a <code>track</code>; <code>names</code>,
<code>columns</code>, <code>order</code> and <code>weights</code> choose what is in it</dd>
<dt><code>/api/card/NAME</code></dt><dd>all about one metric</dd><dt><code>/api/compare?metrics=A,B</code></dt><dd>paired differences</dd>
<dt><code>/api/cite?metric=&amp;task=&amp;format=</code></dt><dd>a citation of a release</dd><dt><code>/api/releases</code>, <code>/api/suites</code></dt><dd>what there is</dd><dt><code>/api/releases/NAME/FILE</code></dt><dd>a file of a release</dd>
<dt><code>/openapi.json</code></dt><dd>all of this as OpenAPI</dd></dl>
<p>Code Apache-2.0, results CC0-1.0. Harness {escape(str(snapshot.facts['harness']['version']))}, commit {escape(str(snapshot.facts['harness']['commit'])[:12])}.</p>"""


def missing(what: str, links: Links, heading: str) -> str:
    """What is said where an address names nothing."""
    return f'<h1>{escape(heading)}</h1><p role="alert">{escape(what)}</p><p><a href="{escape(links.to())}">All metrics</a></p>'
