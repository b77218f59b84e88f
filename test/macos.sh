#!/bin/sh
# Settles on a real Mac what was only read in Apple's sources. Needs Go, and node
# for two of the tests. It starts a few processes of its own, stops nothing else,
# and prints a block to paste into an issue.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d) || exit 1
trap '[ ! -s "$work/pid" ] || kill "$(cat "$work/pid")" 2>/dev/null; rm -rf "$work"' EXIT
[ "$(uname)" = Darwin ] || { echo "this is for macOS" >&2; exit 1; }

# A program that is not Apple's, so that its environment is shown.
cat >"$work/idle.go" <<'GO'
package main

import "time"

func main() { time.Sleep(2 * time.Minute) }
GO

sweep() {
	dead=$(sh -c 'echo $$')
	printf 'version: 1\nrules: [{name: mac, marker: [REAPER_MAC_SWEEP], orphan: [follows: REAPER_MAC_SWEEP]}]\n' >"$work/rules.yaml"
	go build -o "$work/reaper" . && go build -o "$work/idle" "$work/idle.go" || return 1
	orphan=$(REAPER_MAC_SWEEP=$dead sh -c "'$work/idle' >/dev/null 2>&1 & echo \$!")
	echo "$orphan" >"$work/pid"
	sleep 1
	"$work/reaper" sweep --rules "$work/rules.yaml" --dry-run --verbose --color never
	"$work/reaper" explain --rules "$work/rules.yaml" --color never "$orphan"
	time "$work/reaper" sweep --rules "$work/rules.yaml" --verbose --color never
	echo "exit status $?"
	if kill -0 "$orphan" 2>/dev/null; then echo "FAIL: $orphan still runs"; else echo "the orphan is gone"; rm "$work/pid"; fi
}

{
	echo '```'
	sw_vers
	uname -mr
	csrutil status
	go version
	echo "node: $(node --version 2>&1)"
	echo '--- what the kernel says'
	go test -count=1 -v -run OnAMac ./platform
	echo '--- all tests'
	go test -count=1 ./platform ./match ./sweep 2>&1
	echo '--- a whole sweep'
	sweep
	echo '```'
} 2>&1 | sed "s|$HOME|~|g" | tee "$work/report"
echo "Paste what stands between the two lines of backquotes into an issue." >&2
