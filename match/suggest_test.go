package match

import (
	"strings"
	"testing"
)

func TestDidYouMean(t *testing.T) {
	keys := []string{"name", "command", "marker", "orphan", "older_than", "action", "stop"}
	for word, want := range map[string]string{
		"comand":                        "command", // dropped
		"ccommand":                      "command", // added
		"cimmand":                       "command", // changed
		"ocmmand":                       "command", // swapped
		"commands":                      "command",
		"Command":                       "command",
		"NAME":                          "name",
		"older":                         "older_than", // its beginning
		"olderthan":                     "older_than",
		"older-tan":                     "older_than",
		"top":                           "stop",
		"sotp":                          "stop",
		"x":                             "",
		"ol":                            "",
		"":                              "",
		"colour":                        "",
		"adopters":                      "",
		strings.Repeat("stop", 100_000): "",
	} {
		if got := DidYouMean(word, keys); got != want {
			t.Errorf("DidYouMean(%.20q) = %q, want %q", word, got, want)
		}
	}
}

func TestDidYouMeanTakesTheNearest(t *testing.T) {
	if got := DidYouMean("follow", []string{"fallows", "follows", "hollows"}); got != "follows" {
		t.Errorf("got %q", got)
	}
	if got := DidYouMean("x", nil); got != "" {
		t.Errorf("of no words, it took %q", got)
	}
}

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"ab", "ba", 1}, {"ca", "abc", 3}, {"naïve", "naive", 1}, {"kitten", "sitting", 3},
	} {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("%q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
		if got := editDistance(test.b, test.a); got != test.want {
			t.Errorf("%q to %q: %d, want %d", test.b, test.a, got, test.want)
		}
	}
}
