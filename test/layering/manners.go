package layering

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
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

// Mutants reports product files that mention a mutant: a reader of the protocol meets none. What enforces a rule is a
// predicate or a method with a name of its own, in the file rules.go of its package. Other files carry the Set only.
func (t *Tree) Mutants() (bad []string) {
	for _, p := range t.Packages {
		if verifies(p.Path) {
			continue
		}
		for _, f := range p.Files {
			name := localName(f, Module+"/pkg/mutant")
			if f.Test || name == "" || path.Base(f.Path) == "rules.go" {
				continue
			}
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if ok && s.Sel.Name != "Set" && isIdent(s.X, name) {
					bad = append(bad, t.at(n.Pos(), "%s belongs into the rules.go of its package", s.Sel.Name))
				}
				return true
			})
		}
	}
	return bad
}

func isIdent(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// isDirective reports whether a comment is for the compiler only.
func isDirective(c *ast.CommentGroup) bool { return strings.TrimSpace(c.Text()) == "" }
