package match

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"reaper/platform"
)

// ParseFollowed reads the value of a followed variable: "PID", or "PID@START"
// with the start token that `reaper id` prints. A pid is ASCII digits without
// sign, blank or leading zero, above 1 and no more than maxPID; a start token is
// digits likewise. Anything else is no pid, and the variable counts as absent.
func ParseFollowed(value string, maxPID int) (pid int, start uint64, hasStart, ok bool) {
	id, ok := ParseIdentity(value)
	if !ok || id.PID <= 1 || id.PID > maxPID {
		return 0, 0, false, false
	}
	return id.PID, id.Start, id.Start != 0, true
}

// ParseIdentity reads "PID", whose Start is 0 then, or "PID@START".
func ParseIdentity(s string) (id platform.Identity, ok bool) {
	digits, token, hasStart := strings.Cut(s, "@")
	if id.PID, ok = platform.ParsePID(digits); ok && hasStart {
		id.Start, ok = parseStart(token)
	}
	if !ok {
		return platform.Identity{}, false
	}
	return id, true
}

func parseStart(s string) (uint64, bool) {
	if s == "" || s[0] == '0' || !allDigits(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// ParseSize reads an amount of memory: a whole number of bytes, or a decimal
// number with a unit, 2GiB (powers of 1024) or 1.5GB (powers of 1000). A part of
// a byte is cut off.
func ParseSize(text string) (uint64, error) {
	number := strings.TrimRight(text, "KMGTkiB")
	factor, ok := sizeUnit(text[len(number):])
	whole, fraction, dotted := strings.Cut(number, ".")
	if !ok || !allDigits(whole) || dotted && !allDigits(fraction) {
		return 0, &advised{quoted(text) + " is no size", sizeHint(text)}
	}
	if dotted && factor == 1 {
		return 0, &advised{quoted(text) + " is a part of a byte", "write a unit, as in 1.5GiB"}
	}
	n, err := strconv.ParseUint(whole, 10, 64)
	high, low := bits.Mul64(n, factor)
	part, carry := bits.Add64(low, fractionOf(fraction, factor), 0)
	if err != nil || high != 0 || carry != 0 {
		return 0, fmt.Errorf("%s is more than 64 bits can count", quoted(text))
	}
	return part, nil
}

// fractionOf is 0.DIGITS of factor, exact for as many digits as matter: a
// seventeenth digit of a TiB is less than a byte.
func fractionOf(digits string, factor uint64) uint64 {
	digits = digits[:min(len(digits), 18)]
	if digits == "" {
		return 0
	}
	n, _ := strconv.ParseUint(digits, 10, 64)
	high, low := bits.Mul64(n, factor)
	part, _ := bits.Div64(high, low, uint64(math.Pow10(len(digits))))
	return part
}

func sizeUnit(unit string) (factor uint64, ok bool) {
	switch unit {
	case "", "B":
		return 1, true
	case "KiB":
		return 1 << 10, true
	case "MiB":
		return 1 << 20, true
	case "GiB":
		return 1 << 30, true
	case "TiB":
		return 1 << 40, true
	case "kB", "KB":
		return 1e3, true
	case "MB":
		return 1e6, true
	case "GB":
		return 1e9, true
	case "TB":
		return 1e12, true
	}
	return 0, false
}

// sizeHint guesses what was meant: 2G, 2gb and "2 GiB" are common.
func sizeHint(text string) string {
	number := strings.TrimRight(text, "kmgtibKMGTIB \t")
	unit := strings.ToUpper(strings.TrimSpace(text[len(number):]))
	if number == "" || unit == "" || strings.Trim(number, "0123456789.") != "" || !strings.Contains("KMGT", unit[:1]) {
		return "write a number and a unit, as in 500MiB, 2GiB or 1.5GB"
	}
	return fmt.Sprintf("write %s%ciB (powers of 1024) or %s%cB (powers of 1000)", number, unit[0], number, unit[0])
}

const day = 24 * time.Hour

// ParseDuration reads a span of time in Go's syntax with days before it: 90s,
// 1h30m, 2d, 2d3h. It is never negative.
func ParseDuration(text string) (time.Duration, error) {
	days, rest, err := cutDays(text)
	if err != nil {
		return 0, err
	}
	if rest == "" {
		return days, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || strings.ContainsAny(rest, "+-") {
		return 0, badDuration(text)
	}
	if d > math.MaxInt64-days {
		return 0, tooLong(text)
	}
	return days + d, nil
}

// cutDays splits "2d3h" into two days and "3h".
func cutDays(text string) (days time.Duration, rest string, err error) {
	number, rest, found := strings.Cut(text, "d")
	if !found {
		if text == "" {
			return 0, "", badDuration(text)
		}
		return 0, text, nil
	}
	if !allDigits(strings.Replace(number, ".", "", 1)) {
		return 0, "", badDuration(text)
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, "", badDuration(text)
	}
	if n *= float64(day); n >= math.MaxInt64 {
		return 0, "", tooLong(text)
	}
	return time.Duration(n), rest, nil
}

func badDuration(text string) error {
	if strings.HasPrefix(text, "-") {
		return &advised{quoted(text) + " is negative", "write a span of time, as in 30s"}
	}
	if allDigits(text) && len(text) < 10 {
		return &advised{quoted(text) + " has no unit", fmt.Sprintf("write %ss, %sm, %sh or %sd", text, text, text, text)}
	}
	return &advised{quoted(text) + " is no duration", "write numbers with units, as in 500ms, 90s, 1h30m or 2d"}
}

func tooLong(text string) error {
	return fmt.Errorf("%s is longer than 292 years", quoted(text))
}
