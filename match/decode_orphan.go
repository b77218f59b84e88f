package match

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// testForms are the tests of `orphan` as they are written.
var testForms = map[TestKind]string{
	Follows: "follows: NAME",
	Adopted: "adopted",
	Unowned: "unowned: PATTERN",
	Gone:    "gone: NAME",
	Over:    "over: SIZE",
}

func (d *decoder) tests(n *yaml.Node) []Test {
	var tests []Test
	var final TestKind // the test that always answers, once it was seen
	for _, entry := range d.list(n, "orphan") {
		test := d.test(entry)
		if final != "" && test.Kind != "" {
			d.problem(entry, fmt.Sprintf("never reached: `%s` before it always answers", final), "move it up, or remove it")
		}
		if test.Kind == Adopted || test.Kind == Unowned {
			final = test.Kind
		}
		tests = append(tests, test)
	}
	return tests
}

// test reads one entry: the word `adopted`, or a mapping with one key.
func (d *decoder) test(n *yaml.Node) Test {
	switch {
	case d.refused(n):
		return Test{}
	case n.Kind == yaml.ScalarNode && !isNull(n):
		return d.bareTest(n)
	case n.Kind != yaml.MappingNode:
		d.problem(n, fmt.Sprintf("a test is not %s", kindOf(n)), "write "+allTestForms())
		return Test{}
	case len(n.Content) != 2:
		d.problem(n, "a test has one key", "put a `-` before each test")
		return Test{}
	}
	key, value := n.Content[0], n.Content[1]
	if d.refused(key) {
		return Test{}
	}
	return d.testWithValue(key, value)
}

func (d *decoder) bareTest(n *yaml.Node) Test {
	kind := TestKind(n.Value)
	if kind == Adopted {
		return Test{Kind: Adopted}
	}
	d.unknownTest(n)
	return Test{}
}

func (d *decoder) unknownTest(n *yaml.Node) {
	if form, ok := testForms[TestKind(n.Value)]; ok {
		d.problem(n, fmt.Sprintf("`%s` is not complete", n.Value), "write `"+form+"`")
		return
	}
	var known []string
	for kind := range testForms {
		known = append(known, string(kind))
	}
	d.problem(n, fmt.Sprintf("unknown test %s", quoted(n.Value)), suggestion(n.Value, known, "write "+allTestForms()))
}

func allTestForms() string {
	return strings.Join([]string{testForms[Follows], testForms[Adopted], testForms[Unowned], testForms[Gone], "or " + testForms[Over]}, ", ")
}

func (d *decoder) testWithValue(key, value *yaml.Node) Test {
	switch kind := TestKind(key.Value); kind {
	case Follows, Gone:
		name, ok := d.text(value, "`"+key.Value+"`")
		if ok {
			d.variable(value, name)
		}
		return Test{Kind: kind, Name: name}
	case Adopted:
		d.problem(value, "`adopted` takes no value", "write `- adopted`")
		return Test{Kind: Adopted}
	case Unowned:
		return Test{Kind: Unowned, Owner: d.pattern(value)}
	case Over:
		return Test{Kind: Over, Over: d.bound(value)}
	}
	d.unknownTest(key)
	return Test{}
}

// minBareBound is what `over` takes for a slip where no unit is written: `over: 2`.
const minBareBound = 1 << 20

func (d *decoder) bound(n *yaml.Node) uint64 {
	text, ok := d.text(n, "`over`")
	if !ok {
		return 0
	}
	size, err := ParseSize(text)
	switch {
	case err != nil:
		d.problemOf(n, "`over`", err)
	case size == 0:
		d.problem(n, "`over: 0` is over in every process", "write a bound, as in 2GiB")
	case size < minBareBound && allDigits(text):
		d.problem(n, "`over: "+strconv.FormatUint(size, 10)+"` is in bytes, and over in nearly every process", "write a unit, as in 2GiB")
	}
	return size
}
