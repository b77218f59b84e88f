//go:build linux

package test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const reportSchemaFile = "../sweep/report.schema.json"

// reportSchema is the published schema of the documents.
var reportSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	return jsonschema.NewCompiler().Compile(reportSchemaFile)
})

// explainSchema is the published schema of what a document says of one named process.
var explainSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	return jsonschema.NewCompiler().Compile("../sweep/explain.schema.json")
})

// bySchema says what the schema finds wrong with a document.
func bySchema(document []byte) error {
	schema, err := reportSchema()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return err
	}
	each, err := explainSchema()
	if err != nil {
		return err
	}
	explained, _ := value.(map[string]any)["explained"].([]any)
	for _, x := range explained {
		if err := each.Validate(x); err != nil {
			return err
		}
	}
	return nil
}

// Guards the published schema: it refuses what a document never is. What each
// sweep of these tests prints is held against it too.
func TestReportSchemaRefuses(t *testing.T) {
	lab := newLab(t)
	lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...)
	lab.OrphanLeader([]string{lab.Mark(lab.Live())}, lab.Sleep(901)...)
	res := lab.DryRun()
	for _, change := range [][2]string{
		{`"schema": 1`, `"schema": 2`},
		{`"would-stop"`, `"would-reap"`},
		{`"parent-running"`, `"just so"`},
		{`"by": "group"`, `"by": "name"`},
		{`"left_behind": []`, `"left_behind": null`},
		{`"exit": 0`, `"exit": 7`},
		{`"totals": {`, `"totals": {"more": 1, `},
	} {
		changed := strings.Replace(res.Stdout, change[0], change[1], 1)
		if changed == res.Stdout || bySchema([]byte(changed)) == nil {
			t.Errorf("%s is accepted, or %s is not there", change[1], change[0])
		}
	}
	if err := bySchema([]byte(res.Stdout)); err != nil {
		t.Error(err)
	}
}

// Guards the schema's keys against those that the tests know: none is missing
// that a document seldom has.
func TestReportSchemaHasAllKeys(t *testing.T) {
	raw := readAll(t, reportSchemaFile)
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	definitions := schema["definitions"].(map[string]any)
	child := func(of any, name string) any { return of.(map[string]any)["properties"].(map[string]any)[name] }
	for _, place := range []struct {
		what   any
		schema any
	}{
		{Doc{}, schema}, {DocCensus{}, child(schema, "census")}, {Totals{}, child(schema, "totals")}, {Orphan{}, definitions["orphan"]},
		{Why{}, child(definitions["orphan"], "why")}, {Member{}, definitions["member"]}, {Spared{}, definitions["spared"]}, {Left{}, definitions["left"]},
	} {
		var optional, all, required []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(place.what)) {
			name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			if all = append(all, name); option != "" {
				optional = append(optional, name)
			} else {
				required = append(required, name)
			}
		}
		object := place.schema.(map[string]any)
		for name := range object["properties"].(map[string]any) {
			if name != "explained" && name != "gone" && !slices.Contains(all, name) {
				t.Errorf("%T has no %s", place.what, name)
			}
		}
		for _, name := range all {
			if child(object, name) == nil || slices.Contains(optional, name) == slices.Contains(object["required"].([]any), any(name)) {
				t.Errorf("%T: %s is missing, or not as optional", place.what, name)
			}
		}
		if len(required) != len(object["required"].([]any)) {
			t.Errorf("%T: required %v, in the schema %v", place.what, required, object["required"])
		}
	}
}

// Guards the published schema of an explained process: it holds every key of the
// documents, and refuses what they never have.
func TestExplainSchemaRefuses(t *testing.T) {
	lab := newLab(t)
	lab.Rules(lab.DefaultRule() + "  - {name: bound, marker: [" + lab.Parent + "], orphan: [over: 1TiB], older_than: 1h}\n")
	orphan := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...)
	res := lab.Run(Run{Command: "explain", Args: []string{"--json", "--rules", lab.rules, itoa(orphan.PID), "1", itoa(lab.Dead())}, Text: true, Status: 0})
	if err := bySchema([]byte(res.Stdout)); err != nil {
		t.Error(err)
	}
	for _, change := range [][2]string{
		{`"verdict": "orphan"`, `"verdict": "guilty"`},
		{`"state": "sleeping"`, `"state": "asleep"`},
		{`"matches": "yes"`, `"matches": true`},
		{`"answer": "yes"`, `"answer": "perhaps"`},
		{`"leader": "itself"`, `"leader": "him"`},
		{`"top": "root"`, `"top": "bottom"`},
		{`"followers": []`, `"followers": null`},
		{`"otherwise": {`, `"otherwise": {"more": 1, `},
		{`"is": "adopter"`, `"is": 1`},
		{`"gone": [`, `"gone": [7, `},
	} {
		changed := strings.Replace(res.Stdout, change[0], change[1], 1)
		if changed == res.Stdout || bySchema([]byte(changed)) == nil {
			t.Errorf("%s is accepted, or %s is not there", change[1], change[0])
		}
	}
}
