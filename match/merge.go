package match

import (
	"fmt"
	"slices"
	"strings"
)

// Merge puts several rules files together, in order. Each file's stop defaults
// are filled into its own rules already; names must be unique over all files.
func Merge(files []*Rules) (*Rules, error) {
	if len(files) == 1 {
		return files[0], nil
	}
	all := &Rules{}
	from := map[string]string{}
	var sources []string
	for _, f := range files {
		for _, r := range f.Rules {
			if other, twice := from[r.Name]; twice {
				return nil, fmt.Errorf("rule %q stands in %s and in %s: rename one", r.Name, other, f.Source)
			}
			from[r.Name] = f.Source
		}
		sources = append(sources, f.Source)
		all.Rules = append(all.Rules, f.Rules...)
		all.Adopters = append(all.Adopters, f.Adopters...)
		all.Protect = append(all.Protect, f.Protect...)
		all.followed = append(all.followed, f.FollowNames()...)
	}
	all.Source = strings.Join(slices.Compact(sources), ", ")
	return all, nil
}
