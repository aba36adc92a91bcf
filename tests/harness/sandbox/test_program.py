"""Metrics that are programs: their answers, what they do wrong, and what they cannot do, each attack with a control outside of the sandbox."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT
from harness.environments.programs import find_program
from harness.evaluation.open_metric import open_metric
from harness.sandbox.faults import Fault, FaultKind
from harness.sandbox.layers import CONFINING, NO_SANDBOX
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.sandbox.supervisor import Supervisor, default_environment
from harness.sandbox.worker_client import Worker
from leaderboard.workflows.parity import make_pairs
from tests.support.processes import alive, descendants

pytestmark = pytest.mark.sandbox

PERL = find_program("perl", "a test", None)
LOOP = """
use strict; use JSON::PP; use Socket; use POSIX (); $| = 1;
my $json = JSON::PP->new->utf8->allow_nonref;
sub reply {{ print $json->encode({{n => $_[0]->{{n}}, value => $_[1]}}), "\\n" }}
while (my $line = <STDIN>) {{
    my $call = $json->decode($line);
    if ($call->{{call}} eq 'setup') {{ reply($call, ['distance', 'fit', {more}]); next }}
    {body}
}}
"""
TWIN = '''
# /// script
# [tool.touchstone]
# name = "twin"
# title = "Shared words, in Python"
# summary = "Share of distinct words that two texts have in common."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# license = "Apache-2.0"
# ///
def similarity(a, b):
    pairs = [(set(x.lower().split()), set(y.lower().split())) for x, y in zip(a, b, strict=True)]
    return [len(x & y) / len(x | y) if x | y else 1.0 for x, y in pairs]
'''


def supervisor(layers, **limits) -> Supervisor:
    return Supervisor(layers, Limits(**limits), default_environment(executable=PERL.executable))


@pytest.fixture(scope="module", params=["all layers", "required layers"])
def confined(request) -> Iterator[Supervisor]:
    host = supervisor(probe_sandbox() if request.param == "all layers" else CONFINING)
    yield host
    host.close()


@pytest.fixture(scope="module")
def unconfined() -> Iterator[Supervisor]:
    host = supervisor(NO_SANDBOX)
    yield host
    host.close()


def loaded(host: Supervisor, body: str, more: str = "'similarity'", source: str | None = None) -> Worker:
    worker = host.fork()
    program = LOOP.format(body=body, more=more) if source is None else source
    worker.load(program.encode(), "metric.pl", {}, {}, command=[PERL.path])
    worker.deadline, worker.time_limit = time.monotonic() + 10, "10 seconds"
    return worker


def ask(host: Supervisor, body: str) -> float:
    worker = loaded(host, body)
    try:
        return worker.call("distance", [["a"], ["b"]], 1)
    finally:
        worker.close()


# ---- answers -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["shared_words.pl", "shared_words.js"])
def test_a_program_answers_like_its_twin_in_python(name, tmp_path):
    twin = tmp_path / "twin.py"
    twin.write_text(TWIN.lstrip())
    a, b = (list(side) for side in make_pairs())
    a += ["", "Ωmega ナ\u2028 \U0001f600 \"quoted\" \\ back", "x" * 200_000]
    b += ["", "ωmega ナ \U0001f600", "x y"]
    with open_metric(PROJECT / "examples" / name) as program, open_metric(twin) as python:
        expected = python.pair_scores(a, b)
        assert np.ptp(expected) == 1
        np.testing.assert_allclose(program.pair_scores(a, b), expected, rtol=0, atol=1e-12)
        assert program.pair_scores([], []).size == 0


def test_corpora_are_passed_once_if_the_program_prepares_them(confined):
    worker = loaded(confined, """
        our %sums;
        if ($call->{call} eq 'prepare') { my $sum = 0; $sum += $_->[0] for @{$call->{arguments}[0]}; $sums{$call->{corpus}} = $sum; reply($call, undef) }
        elsif ($call->{call} eq 'clear') { %sums = (); reply($call, undef) }
        else { my ($p, $q) = map { $sums{$_->{corpus}} } @{$call->{arguments}}; reply($call, $p - $q + $call->{seed} + 1000 * keys %sums) }
    """, more="'prepare'")
    worker.store_corpus(7, np.array([[1.5, 0], [2, 0]], np.float32), 0)
    worker.store_corpus(9, np.array([[1, 0]], np.float32), 0)
    assert worker.call("distance", [7, 9], 100) == 2102.5
    assert worker.call_many("distance", [((7, 9), 1), ((9, 7), 2)]) == [2003.5, 1999.5]
    worker.clear_corpora()
    worker.store_corpus(1, np.ones((1, 1), np.float32), 0)
    assert worker.call("distance", [1, 1], 0) == 1000
    worker.close()


def test_without_prepare_every_call_has_the_corpora(confined):
    worker = loaded(confined, "reply($call, scalar(@{$call->{arguments}[0]}) - @{$call->{arguments}[1]} + 0.5)")
    worker.store_corpus(1, ["a", "b", "c"], 0)
    worker.store_corpus(2, [["a"], ["b"]], 0)
    assert worker.call("distance", [1, 2], 0) == 1.5
    worker.close()


# ---- what goes wrong ---------------------------------------------------------------------------------------------------

WRONG = {
    "garbage": (r'print "no JSON\n";', FaultKind.FORM, "its answer to `distance` is not a line of JSON: 'no JSON'"),
    "binary garbage": (r'print "\xff\x00\n";', FaultKind.FORM, "not a line of JSON"),
    "deep nesting": (r'print "[" x 100000, "\n";', FaultKind.FORM, "not a line of JSON"),
    "a number alone": (r'print "3\n";', FaultKind.FORM, "does not carry the number `n` of the call"),
    "an old number": (r'print qq({"n": 1, "value": 3}\n);', FaultKind.FORM, "does not carry the number `n` of the call"),
    "no value": (r'print qq({"n": $call->{n}}\n);', FaultKind.FORM, "its answer to `distance` has no `value`"),
    "a text": (r'reply($call, "near");', FaultKind.FORM, "must return one number"),
    "an error": (r'print qq({"n": $call->{n}, "error": "no such word"}\n);', FaultKind.RAISED, "raised ProgramError: no such word"),
    "two lines": (r'print qq({"n": $call->{n}, "value": 1}\n) x 2; sleep 5', FaultKind.FORM, "more than one line in answer to `distance`"),
    "too much": (r'print "x" x 1_000_000 for 1 .. 80; sleep 5', FaultKind.FORM, "longer than 64 MB"),
    "half a line and its end": (r'print qq({"n": ); exit 3', FaultKind.DIED, "ended with exit code 3 during a call"),
    "its end": ("exit 0", FaultKind.DIED, "ended with exit code 0 during a call"),
    "an exception": ("die 'out of words'", FaultKind.DIED, "ended with exit code"),
    "a signal": ("kill 'SEGV', $$; sleep 5", FaultKind.DIED, "was killed by SIGSEGV"),
    "half a line": (r'print qq({"n": ); sleep 60', FaultKind.TIME, "its limit is 1 second"),
    "nothing": ("sleep 60", FaultKind.TIME, "its limit is 1 second"),
    "closing its output": ("close STDOUT; sleep 60", FaultKind.DIED, "ended with exit code 0"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_a_program_does_wrong_is_a_clear_failure(what, confined):
    body, kind, sentence = WRONG[what]
    worker = loaded(confined, body)
    if kind is FaultKind.TIME:
        worker.deadline, worker.time_limit = time.monotonic() + 1, "1 second"
    started = time.monotonic()
    with pytest.raises(Fault) as caught:
        worker.call("distance", [["a"], ["b"]], 1)
    assert (caught.value.kind, sentence in caught.value.sentence) == (kind, True), caught.value.sentence
    assert not caught.value.places          # no lines of the harness
    assert time.monotonic() - started < 8
    if worker.alive and kind is FaultKind.FORM and what != "a text":           # later lines cannot be attributed to a call
        with pytest.raises(Fault):
            worker.call("distance", [["a"], ["b"]], 1)
    worker.close()


def test_a_line_that_comes_late_is_not_the_answer_to_the_next_call(confined):
    worker = loaded(confined, r'reply($call, 1); select(undef, undef, undef, 0.3); reply($call, 2)')
    assert worker.call("distance", [["a"], ["b"]], 1) == 1
    time.sleep(0.6)
    with pytest.raises(Fault, match="more than one line|does not carry the number"):
        worker.call("distance", [["a"], ["b"]], 1)
    worker.close()


def test_what_a_program_printed_is_in_the_record(confined):
    with pytest.raises(Fault) as caught:
        ask(confined, "die 'out of words'")
    assert "out of words at metric.pl" in caught.value.output


@pytest.mark.parametrize(("source", "sentence"), [
    ("exit 0;", "ended with exit code 0"), ("this is no Perl {", "ended with exit code 255"),
    ('print "hello\\n"; <STDIN>;', "its answer to `setup`"), ('$| = 1; <STDIN> =~ /"n": (\\d+)/; print qq({"n": $1, "value": 3}\\n); <STDIN>', "must be a list of its functions")])
def test_a_program_that_does_not_start_is_a_clear_failure(source, sentence, confined):
    with pytest.raises(Fault, match=sentence):
        loaded(confined, "", source=source).close()


def test_a_program_that_needs_too_much_memory_is_a_clear_failure():
    host = supervisor(probe_sandbox(), memory_bytes=400_000_000)
    try:
        with pytest.raises(Fault) as caught:
            ask(host, "my $x = 'x' x 900_000_000; reply($call, length $x)")
        assert "ended with exit code 1" in caught.value.sentence or "memory" in caught.value.sentence
        assert "Out of memory" in caught.value.output or "memory" in caught.value.sentence
    finally:
        host.close()


def test_a_large_input_does_not_deadlock_with_a_program_that_writes_before_it_reads(confined):
    worker = loaded(confined, "reply($call, length $call->{arguments}[0][0])")
    assert worker.call("distance", [["x" * 5_000_000], ["b"]], 1) == 5_000_000
    worker.close()


# ---- what it cannot do -------------------------------------------------------------------------------------------------

ATTACKS = {
    "read /etc/passwd": "open(my $f, '<', '/etc/passwd') or return 0; return length <$f>",
    "read a file of ours": "open(my $f, '<', \"$TARGET/secret\") or return 0; return length <$f>",
    "write beside us": "open(my $f, '>', \"$TARGET/marker\") or return 0; print $f 'x'; return close $f",
    "delete a file of ours": "return unlink \"$TARGET/secret\"",
    "list the root": "opendir(my $d, '/') or return 0; return scalar(my @all = readdir $d)",
    "the harness's environment": "open(my $f, '<', \"/proc/$HARNESS/environ\") or return 0; return length <$f>",
    "the worker's memory": "return open(my $f, '<', '/proc/' . getppid() . '/mem')",
    "the worker's descriptors": "opendir(my $d, '/proc/' . getppid() . '/fd') or return 0; return scalar(my @all = readdir $d)",
    "a socket": "return socket(my $s, AF_INET, SOCK_STREAM, 0)",
    "a unix socket": "return socket(my $s, AF_UNIX, SOCK_STREAM, 0)",
    "fork": "my $pid = fork; if (defined $pid && !$pid) { POSIX::_exit(0) } waitpid $pid, 0 if $pid; return defined $pid",
    "another program": "my $said = `/bin/echo yes 2>/dev/null`; return $said =~ /yes/",
    "a program of its own": "open(my $f, '>', 'own') or return 0; print $f \"#!/usr/bin/perl\\n\"; close $f; chmod 0755, 'own'; return -x 'own' && system('./own') == 0",
    "a signal to the worker": "return kill 0, getppid()",
    "a signal to the harness": "return kill 0, $HARNESS",
    "another session": "return POSIX::setsid() > 0",
    "a symbolic link": "return symlink '/etc/passwd', 'link'",
    "be root": "return $> == 0",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_that_succeeds_without_the_sandbox_fails_in_it(attack, confined, unconfined, tmp_path):
    (tmp_path / "secret").write_text("of ours")
    body = f"my ($TARGET, $HARNESS) = ('{tmp_path}', {os.getpid()}); reply($call, (sub {{ {ATTACKS[attack]} }})->() ? 1 : 0);"
    assert ask(confined, body) == 0
    if attack == "be root" and os.getuid() != 0:
        pytest.skip("not root here")
    assert ask(unconfined, body) == 1


def test_executing_its_interpreter_again_frees_nothing(confined, unconfined):
    body = r'''exec $^X, '-e', 'open(my $f, "<", "/etc/passwd") and exit 42; exit 43';'''
    for host, code in ((confined, 43), (unconfined, 42)):
        with pytest.raises(Fault, match=f"ended with exit code {code}"):
            ask(host, body)


def test_a_program_has_no_descriptor_but_its_standard_streams(confined):
    assert ask(confined, "my $n = 0; for (3 .. 255) { my $d = POSIX::dup($_); $n++ if defined $d } reply($call, $n)") == 0


def test_a_program_ends_with_its_worker():
    host = supervisor(CONFINING)
    worker = loaded(host, "sleep 600")
    below = [process for process in descendants(os.getpid()) if b"metric.pl" in Path(f"/proc/{process}/cmdline").read_bytes()]
    assert len(below) == 1
    assert (worker.peak_memory() or 0) > 1_000_000
    worker.close()
    until = time.monotonic() + 5
    while any(map(alive, below)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(map(alive, below))
    host.close()


def test_the_program_of_a_command_is_found(tmp_path):
    assert PERL.lock.startswith(f"{PERL.path} --hash=sha256:")
    with pytest.raises(TouchstoneError, match=r"x\.pl runs with no-such-program, which is not installed in"):
        find_program("no-such-program", "x.pl", None)
    with pytest.raises(TouchstoneError, match="without a folder"):
        find_program("../perl", "x.pl", None)
    script = tmp_path / "bin" / "script"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    with pytest.raises(TouchstoneError, match="is a script"):
        find_program("script", "x.pl", tmp_path)
