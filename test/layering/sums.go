package layering

import (
	"go/ast"
	"go/token"
	"strings"
)

// Sums measure the tree's hand-written Go. They only go down.
type Sums struct {
	// Product and Verification are lines: of what is built into programs and imported by users, with the
	// tools; and of tests, checkers, benches and what only these import.
	Product, Verification int
	// Wide are lines of more than 120 columns.
	Wide int
	// OldWords are lines of comments, and names, with an old word (see OldWords), tests included.
	OldWords int
}

// Sums counts.
func (t *Tree) Sums() (s Sums) {
	s.Wide = len(t.Columns())
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if f.Generated {
				continue
			}
			if f.Test || verifies(p.Path) {
				s.Verification += f.Lines
			} else {
				s.Product += f.Lines
			}
			s.OldWords += len(BadWords(t.Inside(f)))
		}
	}
	return s
}

// verifies reports whether only tests and benches import a package.
func verifies(path string) bool {
	return under(path, "test") || under(path, "pkg/history") || strings.HasSuffix(path, "test") &&
		path != "pkg/linchpintest" ||
		under(path, "pkg/mutant")
}

// Inside are the texts of a file that only developers read: its comments, and the names that it declares.
func (t *Tree) Inside(f *File) (texts []Text) {
	add := func(n ast.Node, text string) {
		texts = append(texts, Text{f.Path, t.fset.Position(n.Pos()).Line, text})
	}
	for _, c := range f.Syntax.Comments {
		add(c, c.Text())
	}
	name := func(names ...*ast.Ident) {
		for _, n := range names {
			add(n, n.Name)
		}
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			name(n.Name)
		case *ast.TypeSpec:
			name(n.Name)
		case *ast.ValueSpec:
			name(n.Names...)
		case *ast.Field:
			name(n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, l := range n.Lhs {
					if id, ok := l.(*ast.Ident); ok {
						name(id)
					}
				}
			}
		}
		return true
	})
	return texts
}
