// Package layering holds the source tree against its architecture: which
// package may import which, what pure packages must not do, how long a file
// may be, and that every package and every dependency is explained.
//
// It reads the files themselves and not what a build selects, so that code
// behind a build tag is held to the same rules. table.go is the architecture;
// the other files are the rules that make it hold. The tests run them over the
// module, and over small trees with one violation each, to see it found.
package layering

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the module whose tree is read.
const Module = "github.com/linchpindb/linchpin"

// File is one Go file.
type File struct {
	// Path is relative to the module's root, with slashes.
	Path string
	// Test says that it is compiled into tests only.
	Test bool
	// Generated says that a program wrote it.
	Generated bool
	Lines     int
	Text      string
	Syntax    *ast.File
}

// Package is a directory with Go files.
type Package struct {
	// Path is relative to the module's root, as in "pkg/kv".
	Path  string
	Files []*File
}

// Tree is all packages of a module, in the order of their paths.
type Tree struct {
	Root     string
	Packages []*Package
	// Nested are the directories of other modules within, relative to Root.
	Nested []string
	fset   *token.FileSet
}

// Load reads the module at root. Directories that belong to another module,
// and those that the go tool skips, are left out.
func Load(root string) (*Tree, error) {
	t := &Tree{Root: root, fset: token.NewFileSet()}
	byDir := map[string]*Package{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return t.enter(p, d.Name())
		}
		if filepath.Ext(p) != ".go" {
			return nil
		}
		f, err := t.read(p)
		if err != nil {
			return err
		}
		dir := path.Dir(f.Path)
		if byDir[dir] == nil {
			byDir[dir] = &Package{Path: dir}
			t.Packages = append(t.Packages, byDir[dir])
		}
		byDir[dir].Files = append(byDir[dir].Files, f)
		return nil
	})
	slices.SortFunc(t.Packages, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	return t, err
}

// enter says whether a directory is read.
func (t *Tree) enter(p, name string) error {
	if p == t.Root {
		return nil
	}
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
		rel, err := filepath.Rel(t.Root, p)
		if err != nil {
			return err
		}
		t.Nested = append(t.Nested, filepath.ToSlash(rel))
		return fs.SkipDir
	}
	return nil
}

func (t *Tree) read(p string) (*File, error) {
	src, err := os.ReadFile(p)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(t.Root, p)
	if err != nil {
		return nil, err
	}
	rel = filepath.ToSlash(rel)
	syntax, err := parser.ParseFile(t.fset, rel, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("layering: %w", err)
	}
	return &File{Path: rel, Test: strings.HasSuffix(rel, "_test.go"), Generated: ast.IsGenerated(syntax),
		Lines: strings.Count(string(src), "\n"), Text: string(src), Syntax: syntax}, nil
}

// imports gives what a file imports, with where.
func (f *File) imports() map[string]token.Pos {
	out := map[string]token.Pos{}
	for _, spec := range f.Syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = spec.Pos()
		}
	}
	return out
}

// own gives the path of an import inside the module; false for all others.
func own(imported string) (string, bool) {
	return strings.CutPrefix(imported, Module+"/")
}

// isStd reports whether an import is of the standard library, whose paths have
// no dot in their first element.
func isStd(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// under reports whether a path is prefix or below it.
func under(p, prefix string) bool { return p == prefix || strings.HasPrefix(p, prefix+"/") }

// at makes a violation with its place.
func (t *Tree) at(pos token.Pos, format string, args ...any) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...))
}
