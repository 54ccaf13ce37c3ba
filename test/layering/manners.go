package layering

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// maxLines is how long a file may be that no program wrote. One that grows
// this far is usually two ideas.
const maxLines = 600

// usefulness are names that say that a package is useful and not what for.
var usefulness = []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib"}

// Files reports files that are too long.
func (t *Tree) Files() (bad []string) {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if !f.Generated && f.Lines > maxLines {
				bad = append(bad, fmt.Sprintf("%s has %d lines, and at most %d are read", f.Path, f.Lines, maxLines))
			}
		}
	}
	return bad
}

// Names reports packages that are named after their usefulness.
func (t *Tree) Names() (bad []string) {
	for _, p := range t.Packages {
		for _, name := range []string{path.Base(p.Path), strings.TrimSuffix(p.Files[0].Syntax.Name.Name, "_test")} {
			if slices.Contains(usefulness, name) {
				bad = append(bad, fmt.Sprintf("%s: name the package after what it knows, not %q", p.Path, name))
				break
			}
		}
	}
	return bad
}

// Comments reports packages without a package comment.
func (t *Tree) Comments() (bad []string) {
	for _, p := range t.Packages {
		says := func(f *File) bool { return f.Syntax.Doc != nil && !isDirective(f.Syntax.Doc) && !f.Generated }
		if !slices.ContainsFunc(p.Files, says) {
			bad = append(bad, p.Path+" has no package comment")
		}
	}
	return bad
}

// isDirective reports whether a comment is for the compiler only.
func isDirective(c *ast.CommentGroup) bool { return strings.TrimSpace(c.Text()) == "" }

// Dependencies reports modules that go.mod requires directly, or runs as a
// tool, and that docs/dependencies.md gives no reason for; reasons for what
// go.mod does not have; and modules that are imported and said not to be.
func (t *Tree) Dependencies() (bad []string, err error) {
	raw, err := os.ReadFile(filepath.Join(t.Root, "go.mod"))
	if err != nil {
		return nil, err
	}
	mod, err := modfile.Parse("go.mod", raw, nil)
	if err != nil {
		return nil, err
	}
	doc, err := os.ReadFile(filepath.Join(t.Root, "docs", "dependencies.md"))
	if err != nil {
		return nil, err
	}
	reasons := explained(string(doc))
	wanted := map[string]bool{}
	outside := t.outside()
	for _, r := range mod.Require {
		isTool := slices.ContainsFunc(mod.Tool, func(tool *modfile.Tool) bool { return under(tool.Path, r.Mod.Path) })
		isImported := slices.ContainsFunc(outside, func(imported string) bool { return under(imported, r.Mod.Path) })
		if r.Indirect && isImported && !nested(mod, r.Mod.Path, outside) {
			bad = append(bad, fmt.Sprintf("go.mod: %s is imported, and marked as indirect", r.Mod.Path))
		}
		if r.Indirect && !isTool {
			continue
		}
		wanted[r.Mod.Path] = true
		if reasons[r.Mod.Path] == "" {
			bad = append(bad, fmt.Sprintf("docs/dependencies.md: no line `| %s | reason |`", r.Mod.Path))
		}
	}
	for _, line := range strings.Split(string(doc), "\n") {
		if name, _, ok := row(line); ok && !wanted[name] {
			bad = append(bad, fmt.Sprintf("docs/dependencies.md: go.mod does not require %s", name))
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

// explained reads the rows of the tables in the page.
func explained(doc string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(doc, "\n") {
		if name, reason, ok := row(line); ok {
			out[name] = reason
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
