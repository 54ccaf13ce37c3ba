package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// maxFile bounds a file of settings.
const maxFile = 1 << 20

// readFile sets flags from a file, except those that have a value already.
func readFile(flags *pflag.FlagSet, name string, o Options, from map[string]string) (errs []error) {
	raw, err := o.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return []error{fmt.Errorf("the configuration file %s does not exist", name)}
	} else if err != nil {
		return []error{fmt.Errorf("the configuration file cannot be read: %w", err)}
	}
	if len(raw) > maxFile {
		return []error{fmt.Errorf("%s has %d bytes; a configuration file has at most %d", name, len(raw), maxFile)}
	}
	entries, err := parse(name, raw)
	if err != nil {
		return []error{err}
	}
	seen := map[string]int{}
	for _, e := range entries {
		at := fmt.Sprintf("%s:%d", name, e.line)
		f := flags.Lookup(e.name)
		switch {
		case f == nil || neither(e.name):
			errs = append(errs, fmt.Errorf("%s: there is no setting %q%s", at, e.name, nearest(flags, e.name)))
			continue
		case seen[e.name] > 0:
			errs = append(errs, fmt.Errorf("%s: %s is already set in line %d", at, e.name, seen[e.name]))
			continue
		}
		seen[e.name] = e.line
		list, many := f.Value.(pflag.SliceValue)
		if e.list && !many {
			errs = append(errs, fmt.Errorf("%s: %s takes one value, not a list", at, e.name))
			continue
		}
		if from[e.name] != "" {
			continue
		}
		from[e.name] = at
		if _, path := f.Annotations[pathMark]; path {
			e.values = []string{beside(name, e.values[0])}
		}
		if many {
			err = list.Replace(e.values)
			f.Changed = true
		} else {
			err = flags.Set(e.name, e.values[0])
		}
		if err != nil {
			errs = append(errs, wrong(f, at+": "+f.Name, strings.Join(e.values, ", "), err))
		}
	}
	return errs
}

// beside is a path in a file: relative to the directory of the file.
func beside(file, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// entry is a setting in a file.
type entry struct {
	name   string
	values []string
	list   bool
	line   int
}

func parse(name string, raw []byte) (out []entry, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if doc.Kind == 0 {
		return nil, nil // an empty file
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil // nothing but comments
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: want settings, one a line, as in \"cache-mb: 512\"", name, root.Line)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		e := entry{name: key.Value, line: key.Line}
		switch value.Kind {
		case yaml.ScalarNode:
			e.values = []string{scalar(value)}
		case yaml.SequenceNode:
			e.list, e.values = true, []string{}
			for _, v := range value.Content {
				if v.Kind != yaml.ScalarNode {
					return nil, fmt.Errorf("%s:%d: an element of %s is not a plain value", name, v.Line, e.name)
				}
				e.values = append(e.values, scalar(v))
			}
		default:
			return nil, fmt.Errorf("%s:%d: the value of %s is neither plain nor a list; settings do not nest", name, value.Line,
				e.name)
		}
		out = append(out, e)
	}
	return out, nil
}

// scalar is a value as on the command line: "null" is empty.
func scalar(n *yaml.Node) string {
	if n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// nearest suggests a name.
func nearest(flags *pflag.FlagSet, name string) string {
	best, at := "", len(name)/2+2
	flags.VisitAll(func(f *pflag.Flag) {
		d := Distance(strings.ReplaceAll(name, "_", "-"), f.Name)
		if !neither(f.Name) && d < at {
			best, at = f.Name, d
		}
	})
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// Distance is the least number of letters to insert, delete, change or swap with a neighbour that
// makes one word of the other.
func Distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
