# living.pl MARK NOTES ROUNDS: a live run. It starts processes in every way that
# programs do, as fast as it can, all following it or one another, and notes every
# signal that reaches one of them and every end that was not its own.
use strict;
use POSIX qw(setsid setpgid _exit);
my ($mark, $notes, $rounds, $kind, @rest) = @ARGV;
sub note {
    open(my $f, '>>', $notes) or die "$notes: $!";
    syswrite($f, "@_\n");
}
for my $s (qw(TERM INT HUP QUIT USR1 USR2 CONT)) {
    $SIG{$s} = sub { note("hit $s $$ kind " . ($kind // 'run')) };
}
sub nap { select(undef, undef, undef, rand(0.012)) }
sub image { $ENV{$mark} = shift; exec($^X, $0, $mark, $notes, $rounds, @_) or _exit(9) }

if (defined $kind) { # one that was started: a short life
    note("born $$ $kind") if $kind eq 'daemon';
    if ($kind eq 'restamp') { image($$, 'leaf') }
    if ($kind eq 'chain') { my $n = shift @rest; image($ENV{$mark}, $n ? ('chain', $n - 1) : 'leaf') }
    if ($kind eq 'title') { my $name = "daemon/main.ts " x 3; { local $0 = $name; nap() } }
    if ($kind eq 'owner') {
        my $me = $$;
        my $pid = fork() // _exit(8);
        if (!$pid) { setsid(); image($me, 'leaf') }
        waitpid($pid, 0);
        note("ended by a signal $? below an owner") if $? & 127;
    }
    nap();
    note("done $$ daemon") if $kind eq 'daemon';
    _exit(0);
}
my @ways = qw(leaf session group daemon restamp title owner chain storm);
for my $i (1 .. $rounds) {
    my $way = $ways[$i % @ways];
    my $me = $$;
    my $pid = fork() // die "fork: $!";
    if (!$pid) {
        if ($way eq 'storm') {
            for (1 .. 4) { my $p = fork(); if (defined $p && !$p) { _exit(0) } }
            1 while wait() > 0;
            _exit(0);
        }
        setsid() if $way eq 'session';
        setpgid(0, 0) if $way eq 'group';
        if ($way eq 'daemon') { setsid(); _exit(0) if fork() }
        image($me, $way eq 'chain' ? ('chain', 3) : $way eq 'session' || $way eq 'group' ? 'leaf' : $way);
    }
    waitpid($pid, 0);
    note("ended by signal " . ($? & 127) . ": $way") if $? & 127;
    note("status " . ($? >> 8) . ": $way") if $? >> 8;
}
note("finished $$");
sleep(900) while 1;
