package match

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("rules.schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("rules.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// accepts says whether an editor with the schema would find no mistake.
func accepts(t *testing.T, s *jsonschema.Schema, text string) bool {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return false
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return false
	}
	value, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value) == nil
}

// decoderKeys are the keys that the decoder reads at a place, which is %; it
// lists them when it finds another one.
func decoderKeys(t *testing.T, text string) []string {
	t.Helper()
	_, err := Load("x", []byte(strings.Replace(text, "%", "zzzzzzzzzz: 1", 1)))
	var problems *Problems
	if !errors.As(err, &problems) {
		t.Fatalf("%v", err)
	}
	_, list, _ := strings.Cut(err.Error(), "the keys are ")
	list, _, _ = strings.Cut(list, "\n")
	keys := strings.Split(strings.TrimRight(list, ")"), ", ")
	slices.Sort(keys)
	return keys
}

// Guards that the schema has each key of the grammar, and no other.
func TestSchemaHasTheGrammarsKeys(t *testing.T) {
	var s struct {
		Properties  map[string]any
		Definitions map[string]struct {
			Properties map[string]any
			OneOf      []struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(Schema, &s); err != nil {
		t.Fatal(err)
	}
	for _, place := range []struct {
		name, text string
		keys       map[string]any
	}{
		{"file", "%\n", s.Properties},
		{"rule", "version: 1\nrules: [{%}]\n", s.Definitions["rule"].Properties},
		{"stop", "version: 1\nrules: [{name: a, marker: [A], orphan: [adopted]}]\nstop: {%}\n", s.Definitions["stop"].Properties},
	} {
		if keys := slices.Sorted(maps.Keys(place.keys)); !slices.Equal(keys, decoderKeys(t, place.text)) {
			t.Errorf("%s: %v in the schema, %v in the decoder", place.name, keys, decoderKeys(t, place.text))
		}
	}
	tests := []string{string(Adopted)}
	for key := range s.Definitions["test"].OneOf[1].Properties {
		tests = append(tests, key)
	}
	for _, test := range tests {
		if _, ok := testForms[TestKind(test)]; !ok {
			t.Errorf("the schema has a test %q", test)
		}
	}
	if len(tests) != len(testForms) {
		t.Errorf("tests %v in the schema, %d in the decoder", tests, len(testForms))
	}
}

// Guards that the schema and the decoder agree on what is a rules file.
func TestSchemaAgreesWithTheDecoder(t *testing.T) {
	s := schema(t)
	rule := func(text string) string { return "version: 1\nrules:\n  - " + text + "\n" }
	for _, text := range []string{
		rule("{name: a, marker: [A], orphan: [adopted]}"),
		rule("{name: a.b_c-1, marker: [A=<tmp>/x-*, B], command: ['re:^x', a b], orphan: [follows: A, gone: B, over: 2GiB, adopted]}"),
		rule("{name: a, marker: none, command: [x], orphan: [unowned: y z], older_than: 1d2h30m, action: report, stop: {grace: 500ms}}"),
		rule("{name: é, marker: [A], orphan: [{over: 2097152}]}"),
		"version: 1\nadopters: [x]\nprotect: ['*/y']\nstop: {grace: 1m, confirm: 0s}\nrules: [{name: a, marker: [npm_config_a-b], orphan: [adopted]}]\n",
	} {
		if _, err := Load("x", []byte(text)); err != nil || !accepts(t, s, text) {
			t.Errorf("decoder: %v, schema: %t\n%s", err, accepts(t, s, text), text)
		}
	}
	for _, text := range []string{
		"version: 2\nrules: [{name: a, marker: [A], orphan: [adopted]}]\n",
		"rules: [{name: a, marker: [A], orphan: [adopted]}]\n",
		"version: 1\nrules: []\n",
		"version: 1\nadopters: [a/b]\nrules: [{name: a, marker: [A], orphan: [adopted]}]\n",
		rule("{marker: [A], orphan: [adopted]}"),
		rule("{name: -a, marker: [A], orphan: [adopted]}"),
		rule("{name: a b, marker: [A], orphan: [adopted]}"),
		rule("{name: a, marker: [A]}"),
		rule("{name: a, command: [x], orphan: [adopted]}"),
		rule("{name: a, marker: none, orphan: [adopted]}"),
		rule("{name: a, marker: [none], orphan: [adopted]}"),
		rule("{name: a, marker: A, orphan: [adopted]}"),
		rule("{name: a, marker: [], orphan: [adopted]}"),
		rule("{name: a, marker: [$A], orphan: [adopted]}"),
		rule("{name: a, marker: [A=], orphan: [adopted]}"),
		rule("{name: a, marker: [A*], orphan: [adopted]}"),
		rule("{name: a, marker: [A], orphan: []}"),
		rule("{name: a, marker: [A], orphan: adopted}"),
		rule("{name: a, marker: [A], orphan: [adpoted]}"),
		rule("{name: a, marker: [A], orphan: [follows]}"),
		rule("{name: a, marker: [A], orphan: [{adopted: yes}]}"),
		rule("{name: a, marker: [A], orphan: [{follows: A, gone: B}]}"),
		rule("{name: a, marker: [A], orphan: [over: 2G]}"),
		rule("{name: a, marker: [A], orphan: [over: 2]}"),
		rule("{name: a, marker: [A], orphan: [adopted], older_than: 5}"),
		rule("{name: a, marker: [A], orphan: [adopted], older_than: -5s}"),
		rule("{name: a, marker: [A], orphan: [adopted], action: kill}"),
		rule("{name: a, marker: [A], orphan: [adopted], stop: {gracee: 1s}}"),
	} {
		if _, err := Load("x", []byte(text)); err == nil || accepts(t, s, text) {
			t.Errorf("decoder: %v, schema: %t\n%s", err, accepts(t, s, text), text)
		}
	}
}

// Guards the files that are shipped, and that the example names its schema.
func TestSchemaAcceptsWhatIsShipped(t *testing.T) {
	s := schema(t)
	for _, file := range []string{"default.yaml", "../rules.example.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil || !accepts(t, s, string(text)) {
			t.Errorf("%s: %v, not by the schema", file, err)
		}
		if file == "default.yaml" {
			continue
		}
		line, _, _ := strings.Cut(string(text), "\n")
		path, ok := strings.CutPrefix(line, "# yaml-language-server: $schema=")
		if there, err := os.ReadFile(filepath.Join("..", path)); !ok || err != nil || !bytes.Equal(there, Schema) {
			t.Errorf("%s begins %q: %v", file, line, err)
		}
	}
}
