#!/bin/sh
# Settles on a real Mac what was only read in Apple's sources: sh test/macos.sh
# Needs Go, and node for two of the tests. It starts a few processes of its own,
# stops nothing else, and prints a block to paste into an issue. `sh test/macos.sh
# short` leaves out the tests that need no Mac; REAPER_BIN is a program that is built
# already. Status 1: something is not as it was read.
set -u
cd "$(dirname "$0")/.." || exit 1
[ "$(uname)" = Darwin ] || { echo "this is for macOS" >&2; exit 1; }
short=${1:-}
reaper=${REAPER_BIN:-}
work=$(mktemp -d) || exit 1
trap '[ ! -s "$work/pid" ] || kill "$(cat "$work/pid")" 2>/dev/null; rm -rf "$work"' EXIT

failed() { echo "FAIL: $*" | tee -a "$work/failed"; }

# A program that is not Apple's, so that its environment is shown.
cat >"$work/idle.go" <<'GO'
package main

import "time"

func main() { time.Sleep(2 * time.Minute) }
GO

sweep() {
	go build -o "$work/idle" "$work/idle.go" || return 1
	[ -n "$reaper" ] || { reaper=$work/reaper && go build -o "$reaper" .; } || return 1
	dead=$(sh -c 'echo $$')
	printf 'version: 1\nrules: [{name: mac, marker: [REAPER_MAC_SWEEP], orphan: [follows: REAPER_MAC_SWEEP]}]\n' >"$work/rules.yaml"
	orphan=$(REAPER_MAC_SWEEP=$dead sh -c '"$0" >/dev/null 2>&1 & echo $!' "$work/idle")
	echo "$orphan" >"$work/pid"
	sleep 1
	set -- --rules "$work/rules.yaml" --color never
	"$reaper" sweep "$@" --dry-run --verbose
	"$reaper" explain "$@" "$orphan"
	"$reaper" sweep "$@" --verbose || failed "the sweep's status is $?"
	if kill -0 "$orphan" 2>/dev/null; then
		failed "the orphan $orphan still runs"
		return
	fi
	echo "the orphan is gone"
	rm "$work/pid"
}

# A run follows the shell that ends before it, and ends its command then.
run() {
	sh -c '"$0" run -- "$1" >/dev/null 2>"$2" & echo $!; sleep 1' "$reaper" "$work/idle" "$work/said" >"$work/run"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		kill -0 "$(cat "$work/run")" 2>/dev/null || break
		sleep 1
	done
	cat "$work/said"
	grep -q 'which was followed, has exited: stopped 1 process' "$work/said" || failed "the run did not end with its parent"
}

{
	echo '```'
	sw_vers
	uname -mr
	csrutil status
	go version
	echo "node: $(node --version 2>&1)"
	echo '--- what the kernel says'
	go test -count=1 -v -run OnAMac ./platform || failed "the kernel does not say what was read of it"
	if [ "$short" != short ]; then
		echo '--- all tests'
		go test -count=1 ./... || failed "go test"
	fi
	echo '--- a whole sweep'
	sweep || failed "no program"
	echo '--- a run'
	run
	echo '```'
} 2>&1 | sed "s|${HOME:-/nowhere}|~|g"
[ -s "$work/failed" ] && exit 1
echo "Paste what stands between the two lines of backquotes into an issue." >&2
