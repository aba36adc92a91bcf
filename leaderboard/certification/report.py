"""Reports of certificates: Markdown, JUnit for continuous integration, and a matrix of libraries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from leaderboard.certification.checks import Certificate, Verdict

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
CELLS = {Verdict.PASSED: "passed", Verdict.FAILED: "**failed**", Verdict.INFORMATION: ""}


def to_markdown(certificate: Certificate) -> str:
    """Return the report of one metric as Markdown."""
    lines = [f"# {certificate.metric} of {certificate.library}", "", "| check | verdict | result |", "|---|---|---|"]
    lines += [f"| {result.check} | {result.verdict.value} | {in_cell(result.sentence)} |" for result in certificate.results]
    for result in certificate.failures:
        if result.code:
            lines += ["", f"{result.check}:", "", "```python", result.code, "```"]
    return "\n".join(lines) + "\n"


def to_junit(certificates: Sequence[Certificate]) -> str:
    """Return the reports as JUnit XML, one test suite per metric and one test case per check."""
    root = ElementTree.Element("testsuites")
    for certificate in certificates:
        name = f"{certificate.library}:{certificate.metric}"
        suite = ElementTree.SubElement(root, "testsuite", name=name, tests=str(len(certificate.results)),
                                       failures=str(len(certificate.failures)))
        for result in certificate.results:
            case = ElementTree.SubElement(suite, "testcase", classname=name, name=result.check)
            message = NOT_XML.sub("\ufffd", result.sentence)
            if result.verdict is Verdict.FAILED:
                ElementTree.SubElement(case, "failure", message=message).text = NOT_XML.sub("\ufffd", result.code)
            else:
                ElementTree.SubElement(case, "system-out").text = message
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def to_matrix(certificates: Sequence[Certificate]) -> str:
    """Return a table of metrics and checks as Markdown, followed by the failures."""
    checks = list(dict.fromkeys(result.check for certificate in certificates for result in certificate.results
                                if result.verdict is not Verdict.INFORMATION))
    lines = [f"| library | metric | {' | '.join(checks)} |", "|---|---|" + "---|" * len(checks)]
    for certificate in certificates:
        verdicts = {result.check: CELLS[result.verdict] for result in certificate.results}
        cells = " | ".join(verdicts.get(check, "") for check in checks)
        lines.append(f"| {certificate.library} | {certificate.metric} | {cells} |")
    for certificate in certificates:
        lines += [f"\n**{certificate.library} {certificate.metric}, {result.check}**: {in_cell(result.sentence)}"
                  for result in certificate.failures]
    return "\n".join(lines) + "\n"


def in_cell(text: str) -> str:
    """Return a text for a cell of a table in Markdown."""
    return re.sub(r"([\\|<>*_`\[\]])", r"\\\1", text.replace("\n", " "))
