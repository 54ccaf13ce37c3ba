package layering

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// impure are packages whose import alone makes a package impure: those that
// wait, share, remember outside of values, draw lots, or reach the world.
var impure = []string{
	"context", "sync", "log", "os", "net", "syscall", "unsafe", "runtime", "io/fs", "io/ioutil", "path/filepath",
	"math/rand", "crypto/rand", "testing", "expvar", "plugin", "database", "embed", "iter/pull", "flag",
}

// clocks are the functions of package time that read a clock or wait. The
// types of time are values, and welcome.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// Purity reports what the code of pure packages does that a deterministic
// value cannot: a cluster of them must run the same way twice from one seed.
// Tests and generated files may do as they like.
func (t *Tree) Purity(table []Layer) (bad []string) {
	for _, p := range t.Packages {
		layer := layerOf(table, p.Path)
		if layer == nil || !layer.Pure {
			continue
		}
		for _, f := range p.Files {
			if f.Test || f.Generated || forTests(p.Path) {
				continue
			}
			bad = append(bad, t.impureImports(p, f)...)
			bad = append(bad, t.impureCode(p, f)...)
		}
	}
	return bad
}

func (t *Tree) impureImports(p *Package, f *File) (bad []string) {
	imports := f.imports()
	for _, imported := range slices.Sorted(maps.Keys(imports)) {
		if slices.ContainsFunc(impure, func(prefix string) bool { return under(imported, prefix) }) {
			bad = append(bad, t.at(imports[imported], "%s is pure, and must not import %s", p.Path, imported))
		}
	}
	return bad
}

// impureCode finds goroutines, channels and clocks.
func (t *Tree) impureCode(p *Package, f *File) (bad []string) {
	clock := localName(f, "time")
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			bad = append(bad, t.at(n.Pos(), "%s is pure, and must not start a goroutine", p.Path))
		case *ast.SelectStmt, *ast.SendStmt:
			bad = append(bad, t.at(n.Pos(), "%s is pure, and must not use channels", p.Path))
		case *ast.ChanType:
			bad = append(bad, t.at(n.Pos(), "%s is pure, and must not use channels", p.Path))
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && clock != "" && x.Name == clock && slices.Contains(clocks, n.Sel.Name) {
				bad = append(bad, t.at(n.Pos(), "%s is pure, and must not call time.%s; time is an argument", p.Path, n.Sel.Name))
			}
		}
		return true
	})
	return bad
}

// localName is under which name a file knows an import, empty if it does not.
func localName(f *File, imported string) string {
	for _, spec := range f.Syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return imported[strings.LastIndex(imported, "/")+1:]
	}
	return ""
}

// NoRace reports packages that a Makefile leaves out of what runs with the race
// detector, although they have something to race with, and do not crash file systems (engine, raftlog).
func (t *Tree) NoRace(makefile string) (bad []string) {
	line := regexp.MustCompile(`(?m)^NO_RACE := (.*)$`).FindStringSubmatch(makefile)
	if line == nil {
		return []string{"the Makefile has no NO_RACE"}
	}
	for _, name := range strings.Fields(line[1]) {
		in, n := "pkg/"+name, 0
		for _, p := range t.Packages {
			if !under(p.Path, in) {
				continue
			}
			n++
			if name != "engine" && name != "raftlog" && !forTests(p.Path) && t.shares(p) {
				bad = append(bad, p.Path+" may have races, and NO_RACE of the Makefile keeps it from the race detector")
			}
		}
		if n == 0 {
			bad = append(bad, in+" is in NO_RACE of the Makefile, and there is no such package")
		}
	}
	return append(bad, t.noRaceTests(makefile)...)
}

// noRaceTests reports tests that a Makefile leaves out of what runs with the race detector, and runs nowhere else.
func (t *Tree) noRaceTests(makefile string) (bad []string) {
	names := regexp.MustCompile(`(?m)^NO_RACE_TESTS \?= ((?:.*\\\n)*.*)$`).FindStringSubmatch(makefile)
	in := regexp.MustCompile(`(?m)^NO_RACE_TEST_PKGS \?= (.*)$`).FindStringSubmatch(makefile)
	if names == nil || in == nil {
		return []string{"the Makefile has no NO_RACE_TESTS, or no NO_RACE_TEST_PKGS"}
	}
	for _, name := range strings.Fields(strings.ReplaceAll(names[1], "\\\n", " ")) {
		test, n := regexp.MustCompile(`(?m)^func Test`+name+`\(`), 0
		for _, p := range t.Packages {
			for _, f := range p.Files {
				if !f.Test || !under(p.Path, "pkg") || !test.MatchString(f.Text) {
					continue
				}
				n++
				if !slices.Contains(strings.Fields(in[1]), "./"+p.Path) {
					bad = append(bad, f.Path+" has Test"+name+" of NO_RACE_TESTS, and its package is not in NO_RACE_TEST_PKGS")
				}
			}
		}
		if n == 0 {
			bad = append(bad, "Test"+name+" is in NO_RACE_TESTS of the Makefile, and there is no such test")
		}
	}
	return bad
}

// shares reports whether the code of a package may share memory with other goroutines: it starts them, has channels or
// locks, or reaches the world, where others may. Random numbers come from sources that belong to callers.
func (t *Tree) shares(p *Package) bool {
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		if len(t.impureCode(p, f)) > 0 {
			return true
		}
		for imported := range f.imports() {
			impures := func(prefix string) bool { return prefix != "math/rand" && under(imported, prefix) }
			if slices.ContainsFunc(impure, impures) {
				return true
			}
		}
	}
	return false
}
