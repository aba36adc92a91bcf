"""Metrics that are programs: what the exchange of JSON lines costs on batches of 1,000 pairs."""

from __future__ import annotations

import subprocess
import time

import pytest

from harness.base.paths import PROJECT
from harness.evaluation.open_metric import open_metric
from leaderboard.workflows.parity import make_pairs

pytestmark = pytest.mark.benchmark

PAIRS, ROUNDS = 1_000, 20
# The same computation in Perl alone, on texts that it already has: the best of the rounds, in seconds.
ALONE = r"""
use Time::HiRes 'time';
my (@a, @b);
while (<STDIN>) { chomp; my ($x, $y) = split /\t/; push @a, $x; push @b, $y }
my $best = 9;
for (1 .. %d) { my $start = time; my $v = [map { shared($a[$_], $b[$_]) } 0 .. $#a]; my $t = time - $start; $best = $t if $t < $best }
print $best;
"""


def test_a_perl_metric_takes_at_most_twice_as_long_as_perl_alone():
    if subprocess.run(["perl", "-MJSON::XS", "-e", "1"], capture_output=True, check=False).returncode:
        pytest.skip("needs JSON::XS (apt-get install libjson-xs-perl); JSON::PP takes 35 ms more")
    a, b = make_pairs(PAIRS)
    source = (PROJECT / "examples" / "shared_words.pl").read_text()
    shared = source[source.index("sub shared"):]
    alone = float(subprocess.run(["perl", "-e", ALONE % ROUNDS + shared], input="\n".join(f"{x}\t{y}" for x, y in zip(a, b, strict=True)),
                                 capture_output=True, text=True, check=True).stdout)
    with open_metric(PROJECT / "examples" / "shared_words.pl") as metric:
        seconds = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            metric.pair_scores(a, b)
            seconds.append(time.perf_counter() - started)
    print(f"alone {alone * 1000:.1f} ms, as a metric {min(seconds) * 1000:.1f} ms")
    assert min(seconds) < 2 * alone
