# /// script
# [tool.touchstone]
# name = "shared_words_perl"
# title = "Shared words, in Perl"
# summary = "Share of distinct words that two texts have in common."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# command = ["perl"]
# ///
use strict;
use warnings;

$| = 1;                                 # every answer is sent at once
my $json = (eval { require JSON::XS } ? 'JSON::XS' : do { require JSON::PP; 'JSON::PP' })->new->utf8;     # XS: 40 times as fast

while (my $line = <STDIN>) {
    my $call = $json->decode($line);
    my $value = $call->{call} eq 'setup' ? ['similarity'] : similarity(@{$call->{arguments}});
    print $json->encode({n => $call->{n}, value => $value}), "\n";
}

sub similarity {
    my ($a, $b) = @_;
    return [map { shared($a->[$_], $b->[$_]) } 0 .. $#$a];
}

sub shared {
    my ($x, $y) = map { { map { $_ => 1 } split(' ', lc $_) } } @_;
    my $common = grep { $y->{$_} } keys %$x;
    my $all = keys(%$x) + keys(%$y) - $common;
    return $all ? $common / $all : 1;
}
