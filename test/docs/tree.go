package docs

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/test/layering"
)

// Tree is what pages may name.
type Tree struct {
	// Tests has "package.Test" and ".Test" for each test.
	Tests map[string]bool
	// Mutants are the exported constants of package mutant.
	Mutants map[string]bool
	// Flags are the strings that the programs are made with: the names of
	// their flags among them.
	Flags map[string]bool
}

var isTest = regexp.MustCompile(`^(Test|Fuzz|Example)[A-Z]`)

// NewTree collects the names of a module.
func NewTree(m *layering.Tree) *Tree {
	t := &Tree{Tests: map[string]bool{}, Mutants: map[string]bool{}, Flags: map[string]bool{"help": true}}
	for _, pkg := range m.Packages {
		program := strings.HasPrefix(pkg.Path, "cmd/") || pkg.Path == "pkg/cli" || pkg.Path == "pkg/cli/identity" ||
			pkg.Path == "pkg/program"
		for _, f := range pkg.Files {
			if f.Test {
				t.addTests(pkg.Path, f.Syntax)
				continue
			}
			if pkg.Path == "pkg/mutant" {
				t.addConstants(f.Syntax)
			}
			if program {
				t.addStrings(f.Syntax)
			}
		}
	}
	return t
}

func (t *Tree) addTests(pkg string, f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && isTest.MatchString(fn.Name.Name) {
			t.Tests[pkg+"."+fn.Name.Name] = true
			t.Tests["."+fn.Name.Name] = true
		}
	}
}

func (t *Tree) addConstants(f *ast.File) {
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, s := range decl.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				if name.IsExported() {
					t.Mutants[name.Name] = true
				}
			}
		}
	}
}

func (t *Tree) addStrings(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				t.Flags[s] = true
			}
		}
		return true
	})
}
