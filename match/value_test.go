package match

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseFollowed(t *testing.T) {
	const maxPID = 1 << 22
	for value, want := range map[string]string{
		"2":                         "2",
		"4242":                      "4242",
		"4194304":                   "4194304", // the last one on Linux
		"4242@1":                    "4242@1",
		"4242@36561":                "4242@36561",
		"4242@18446744073709551615": "4242@18446744073709551615",

		"":                          "",
		"0":                         "",
		"1":                         "", // adopts, and owns nothing
		"4194305":                   "",
		"99999999999":               "",
		"99999999999999999999":      "",
		"18446744073709551618":      "", // 2 in 64 bits
		"02":                        "",
		"+2":                        "",
		"-2":                        "",
		" 2":                        "",
		"2 ":                        "",
		"2\n":                       "",
		"2.0":                       "",
		"2e3":                       "",
		"0x2":                       "",
		"2_0":                       "",
		"２":                         "", // digits, but not ASCII's
		"٢":                         "",
		"two":                       "",
		"2@":                        "",
		"@2":                        "",
		"@":                         "",
		"2@0":                       "",
		"2@01":                      "",
		"2@+1":                      "",
		"2@-1":                      "",
		"2@ 1":                      "",
		"2 @1":                      "",
		"2@1@1":                     "",
		"2@@1":                      "",
		"2@x":                       "",
		"1@5":                       "",
		"02@5":                      "",
		"4242@18446744073709551616": "",
	} {
		pid, start, hasStart, ok := ParseFollowed(value, maxPID)
		got := ""
		switch {
		case ok && hasStart:
			got = fmt.Sprintf("%d@%d", pid, start)
		case ok:
			got = fmt.Sprint(pid)
		case pid != 0 || start != 0 || hasStart:
			t.Errorf("%q is no pid, and yet %d, %d, %v", value, pid, start, hasStart)
		}
		if got != want {
			t.Errorf("ParseFollowed(%q) = %q, want %q", value, got, want)
		}
	}
}

func TestParseFollowedKeepsToTheSystemsLimit(t *testing.T) {
	if _, _, _, ok := ParseFollowed("99999", 99999); !ok {
		t.Error("macOS can issue 99999")
	}
	if _, _, _, ok := ParseFollowed("100000", 99999); ok {
		t.Error("macOS cannot issue 100000")
	}
}

func TestParseFollowedReadsWhatIsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pid, start := rapid.IntRange(2, 1<<22).Draw(t, "pid"), rapid.Uint64Min(1).Draw(t, "start")
		gotPID, gotStart, hasStart, ok := ParseFollowed(fmt.Sprintf("%d@%d", pid, start), 1<<22)
		if gotPID != pid || gotStart != start || !hasStart || !ok {
			t.Fatalf("%d@%d is read as %d@%d, %v, %v", pid, start, gotPID, gotStart, hasStart, ok)
		}
	})
}

func FuzzParseFollowed(f *testing.F) {
	for _, seed := range []string{"2", "4242@36561", "1", "02", "2@", "@", "+2", "99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		pid, start, hasStart, ok := ParseFollowed(value, 1<<22)
		if !ok {
			return
		}
		printed := fmt.Sprint(pid)
		if hasStart {
			printed = fmt.Sprintf("%d@%d", pid, start)
		}
		if printed != value || pid < 2 || pid > 1<<22 {
			t.Fatalf("%q is read as %s", value, printed)
		}
	})
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "1": 1, "4096": 4096, "7B": 7, "0KiB": 0,
		"1KiB": 1 << 10, "500MiB": 500 << 20, "2GiB": 2 << 30, "3TiB": 3 << 40,
		"1kB": 1e3, "1KB": 1e3, "5MB": 5e6, "1GB": 1e9, "2TB": 2e12,
		"1.5GB": 15e8, "1.5GiB": 3 << 29, "0.1GB": 1e8, "0.001kB": 1, "0.0001kB": 0, "2.50KiB": 2560, "0.3GiB": 322122547,
		"0.9999999999999999999999kB": 999,
		"18446744073709551615":       math.MaxUint64,
		"16777215.99TiB":             18446744062714435338,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestParseSizeRefuses(t *testing.T) {
	const anyUnit = " is no size; write a number and a unit, as in 500MiB, 2GiB or 1.5GB"
	for text, want := range map[string]string{
		"":                     `""` + anyUnit,
		"GiB":                  `"GiB"` + anyUnit,
		"-1GiB":                `"-1GiB"` + anyUnit,
		"+1GiB":                `"+1GiB"` + anyUnit,
		"1e9":                  `"1e9"` + anyUnit,
		"1_000":                `"1_000"` + anyUnit,
		"1,5GiB":               `"1,5GiB"` + anyUnit,
		".5GiB":                `".5GiB" is no size; write .5GiB (powers of 1024) or .5GB (powers of 1000)`,
		"1.GiB":                `"1.GiB" is no size; write 1.GiB (powers of 1024) or 1.GB (powers of 1000)`,
		"1PiB":                 `"1PiB"` + anyUnit,
		"lots":                 `"lots"` + anyUnit,
		"٢GiB":                 `"٢GiB"` + anyUnit,
		"2G":                   `"2G" is no size; write 2GiB (powers of 1024) or 2GB (powers of 1000)`,
		"2gb":                  `"2gb" is no size; write 2GiB (powers of 1024) or 2GB (powers of 1000)`,
		"500 MiB":              `"500 MiB" is no size; write 500MiB (powers of 1024) or 500MB (powers of 1000)`,
		"1.5k":                 `"1.5k" is no size; write 1.5KiB (powers of 1024) or 1.5KB (powers of 1000)`,
		"2GiBGiB":              `"2GiBGiB" is no size; write 2GiB (powers of 1024) or 2GB (powers of 1000)`,
		"1.5":                  `"1.5" is a part of a byte; write a unit, as in 1.5GiB`,
		"18446744073709551616": `"18446744073709551616" is more than 64 bits can count`,
		"16777216TiB":          `"16777216TiB" is more than 64 bits can count`,
	} {
		if got, err := ParseSize(text); err == nil || err.Error() != want || got != 0 {
			t.Errorf("ParseSize(%q) = %d, %v, want %s", text, got, err, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "500ms": 500 * time.Millisecond, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute,
		"2d": 48 * time.Hour, "2d3h": 51 * time.Hour, "0.5d": 12 * time.Hour, "0d1ns": 1, "10µs": 10 * time.Microsecond,
		"106751d23h47m16.854775807s": math.MaxInt64,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestParseDurationRefuses(t *testing.T) {
	const noDuration = " is no duration; write numbers with units, as in 500ms, 90s, 1h30m or 2d"
	for text, want := range map[string]string{
		"":                             `""` + noDuration,
		"d":                            `"d"` + noDuration,
		".d":                           `".d"` + noDuration,
		"soon":                         `"soon"` + noDuration,
		"1w":                           `"1w"` + noDuration,
		"3h2d":                         `"3h2d"` + noDuration,
		"1d1d":                         `"1d1d"` + noDuration,
		"1d-3h":                        `"1d-3h"` + noDuration,
		"+1h":                          `"+1h"` + noDuration,
		"1 h":                          `"1 h"` + noDuration,
		"2d ":                          `"2d "` + noDuration,
		"1e3s":                         `"1e3s"` + noDuration,
		"1e3d":                         `"1e3d"` + noDuration,
		"infd":                         `"infd"` + noDuration,
		"30":                           `"30" has no unit; write 30s, 30m, 30h or 30d`,
		"-30s":                         `"-30s" is negative; write a span of time, as in 30s`,
		"-1d":                          `"-1d" is negative; write a span of time, as in 30s`,
		"106752d":                      `"106752d" is longer than 292 years`,
		"106751d24h":                   `"106751d24h" is longer than 292 years`,
		"9999999999d":                  `"9999999999d" is longer than 292 years`,
		strings.Repeat("9", 400) + "d": `"` + strings.Repeat("9", 60) + `…"` + noDuration,
	} {
		if got, err := ParseDuration(text); err == nil || err.Error() != want || got != 0 {
			t.Errorf("ParseDuration(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
}

func FuzzParseValues(f *testing.F) {
	for _, seed := range []string{"2GiB", "1.5GB", "0.0001kB", "18446744073709551616", "2d3h", "1.5d", "-1s", "106751d24h", "1e9d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseDuration(text); d < 0 || err != nil && d != 0 {
			t.Fatalf("ParseDuration(%q) = %v, %v", text, d, err)
		}
		size, err := ParseSize(text)
		if err != nil && size != 0 {
			t.Fatalf("ParseSize(%q) = %d, %v", text, size, err)
		}
		if err == nil && (strings.ContainsAny(text, "+-_eE \n") || !strings.ContainsAny(text, "0123456789")) {
			t.Fatalf("ParseSize(%q) = %d", text, size)
		}
	})
}
