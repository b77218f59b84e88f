//go:build linux

package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Doc is the JSON document of a sweep.
type Doc struct {
	Schema       int       `json:"schema"`
	Version      string    `json:"version"`
	DryRun       bool      `json:"dry_run"`
	Rules        string    `json:"rules"`
	BootID       string    `json:"boot_id"`
	PIDNamespace string    `json:"pid_namespace"`
	Started      string    `json:"started"`
	TookMS       float64   `json:"took_ms"`
	Census       DocCensus `json:"census"`
	Cut          bool      `json:"census_cut,omitempty"`
	Orphans      []Orphan  `json:"orphans"`
	Spared       []Spared  `json:"spared"`
	LeftBehind   []Left    `json:"left_behind"`
	Totals       Totals    `json:"totals"`
	Refused      string    `json:"refused,omitempty"`
	Exit         int       `json:"exit"`
}

type DocCensus struct {
	Processes      int `json:"processes"`
	Unreadable     int `json:"unreadable"`
	OtherNamespace int `json:"other_namespace"`
	Overwritten    int `json:"overwritten"`
	Vanished       int `json:"vanished"`
	Withheld       int `json:"withheld,omitempty"`
}

type Orphan struct {
	Rule      string            `json:"rule"`
	PID       int               `json:"pid"`
	Start     uint64            `json:"start"`
	PPID      int               `json:"ppid"`
	PGID      int               `json:"pgid"`
	SID       int               `json:"sid"`
	User      string            `json:"user"`
	AgeS      float64           `json:"age_s"`
	Command   []string          `json:"command"`
	Markers   map[string]string `json:"markers"`
	Why       Why               `json:"why"`
	Action    string            `json:"action"`
	Outcome   string            `json:"outcome"`
	RSSBytes  uint64            `json:"rss_bytes"`
	SwapBytes uint64            `json:"swap_bytes"`
	Members   []Member          `json:"members"`
}

type Why struct {
	Test   string `json:"test"`
	Detail string `json:"detail"`
}

type Member struct {
	PID      int      `json:"pid"`
	Start    uint64   `json:"start"`
	PPID     int      `json:"ppid"`
	PGID     int      `json:"pgid"`
	AgeS     float64  `json:"age_s"`
	Command  []string `json:"command"`
	RSSBytes uint64   `json:"rss_bytes"`
	By       string   `json:"by"`
	Signals  []string `json:"signals"`
	Outcome  string   `json:"outcome"`
	TookMS   *float64 `json:"took_ms,omitempty"`
	Detail   string   `json:"detail,omitempty"`
}

type Spared struct {
	PID     int      `json:"pid"`
	Start   uint64   `json:"start"`
	Rule    string   `json:"rule"`
	Reason  string   `json:"reason"`
	Detail  string   `json:"detail"`
	Command []string `json:"command"`
}

type Left struct {
	PID     int      `json:"pid"`
	Start   uint64   `json:"start"`
	Orphan  int      `json:"orphan"`
	Reason  string   `json:"reason"`
	Detail  string   `json:"detail"`
	Command []string `json:"command"`
}

type Totals struct {
	Orphans     int    `json:"orphans"`
	Processes   int    `json:"processes"`
	Stopped     int    `json:"stopped"`
	Unconfirmed int    `json:"unconfirmed"`
	Denied      int    `json:"denied"`
	RSSBytes    uint64 `json:"rss_bytes"`
}

// decodeDoc accepts exactly one document with exactly these keys.
func decodeDoc(raw []byte) (*Doc, error) {
	doc := &Doc{}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(doc); err != nil {
		return nil, fmt.Errorf("no document: %w", err)
	}
	if strict.More() {
		return nil, fmt.Errorf("more than one document")
	}
	again, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var given, back any
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, fmt.Errorf("no document: %w", err)
	}
	if err := json.Unmarshal(again, &back); err != nil {
		return nil, err
	}
	return doc, sameKeys("", given, back)
}

// sameKeys finds keys that the document lacks, and lists that are null.
func sameKeys(path string, given, want any) error {
	switch want := want.(type) {
	case map[string]any:
		object, _ := given.(map[string]any)
		for key := range want {
			value, ok := object[key]
			if !ok {
				return fmt.Errorf("the document lacks %s.%s", path, key)
			}
			if err := sameKeys(path+"."+key, value, want[key]); err != nil {
				return err
			}
		}
	case []any:
		list, _ := given.([]any)
		for i := range want {
			if err := sameKeys(fmt.Sprintf("%s[%d]", path, i), list[i], want[i]); err != nil {
				return err
			}
		}
	case nil:
		return fmt.Errorf("%s is null", path)
	default:
		if !reflect.DeepEqual(given, want) {
			return fmt.Errorf("%s is %v", path, given)
		}
	}
	return nil
}

// members are those of all orphans.
func (d *Doc) members() []Member {
	var all []Member
	for _, o := range d.Orphans {
		all = append(all, o.Members...)
	}
	return all
}
