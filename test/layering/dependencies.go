package layering

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Dependencies reports modules that a go.mod requires directly, or runs as a
// tool, and that docs/dependencies.md gives no reason for; reasons for what
// go.mod does not have; and modules that are imported and said not to be.
func (t *Tree) Dependencies() (bad []string, err error) {
	doc, err := os.ReadFile(filepath.Join(t.Root, "docs", "dependencies.md"))
	if err != nil {
		return nil, err
	}
	reasons := explained(string(doc), t.Nested)
	bad, err = t.dependencies("", reasons[""])
	for _, dir := range t.Nested {
		if err != nil {
			return bad, err
		}
		inner, e := Load(filepath.Join(t.Root, filepath.FromSlash(dir)))
		if e != nil {
			return bad, e
		}
		var more []string
		more, err = inner.dependencies(dir, reasons[dir])
		bad = append(bad, more...)
	}
	return bad, err
}

// dependencies holds the go.mod of the tree, which is dir within the whole,
// against the reasons for it.
func (t *Tree) dependencies(dir string, reasons map[string]string) (bad []string, err error) {
	raw, err := os.ReadFile(filepath.Join(t.Root, "go.mod"))
	if err != nil {
		return nil, err
	}
	mod, err := modfile.Parse("go.mod", raw, nil)
	if err != nil {
		return nil, err
	}
	file := path.Join(dir, "go.mod")
	wanted := map[string]bool{}
	outside := t.outside()
	for _, r := range mod.Require {
		isTool := slices.ContainsFunc(mod.Tool, func(tool *modfile.Tool) bool { return under(tool.Path, r.Mod.Path) })
		isImported := slices.ContainsFunc(outside, func(imported string) bool { return under(imported, r.Mod.Path) })
		if r.Indirect && isImported && !nested(mod, r.Mod.Path, outside) {
			bad = append(bad, fmt.Sprintf("%s: %s is imported, and marked as indirect", file, r.Mod.Path))
		}
		if r.Indirect && !isTool || r.Mod.Path == Module {
			continue
		}
		wanted[r.Mod.Path] = true
		if reasons[r.Mod.Path] == "" {
			bad = append(bad, fmt.Sprintf("docs/dependencies.md: no line `| %s | reason |` for %s", r.Mod.Path, file))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		if !wanted[name] {
			bad = append(bad, fmt.Sprintf("docs/dependencies.md: %s does not require %s", file, name))
		}
	}
	return bad, nil
}

// outside gives what the tree imports of other modules.
func (t *Tree) outside() (all []string) {
	seen := map[string]bool{}
	for _, p := range t.Packages {
		for _, f := range p.Files {
			for imported := range f.imports() {
				if _, inside := own(imported); !inside && !isStd(imported) {
					seen[imported] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// nested reports whether all that is imported from below path belongs to
// modules whose own paths lie below it.
func nested(mod *modfile.File, path string, outside []string) bool {
	for _, imported := range outside {
		if !under(imported, path) {
			continue
		}
		inner := func(r *modfile.Require) bool {
			return r.Mod.Path != path && under(r.Mod.Path, path) && under(imported, r.Mod.Path)
		}
		if !slices.ContainsFunc(mod.Require, inner) {
			return false
		}
	}
	return true
}

// explained reads the rows of the tables in the page: those of the module, and
// those of each nested one, which are below a heading that names its directory.
func explained(doc string, nested []string) map[string]map[string]string {
	out := map[string]map[string]string{"": {}}
	at := ""
	for _, line := range strings.Split(doc, "\n") {
		if strings.HasPrefix(line, "#") {
			at = ""
			for _, dir := range nested {
				if strings.Contains(line, "`"+dir+"`") {
					at = dir
				}
			}
		}
		if out[at] == nil {
			out[at] = map[string]string{}
		}
		if name, reason, ok := row(line); ok {
			out[at][name] = reason
		}
	}
	return out
}

// row reads a table row `| module | reason |`.
func row(line string) (name, reason string, ok bool) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	if !strings.HasPrefix(line, "|") || len(cells) < 2 {
		return "", "", false
	}
	name, reason = strings.Trim(strings.TrimSpace(cells[0]), "`"), strings.TrimSpace(cells[1])
	return name, reason, strings.Contains(name, ".") && strings.Contains(name, "/")
}
