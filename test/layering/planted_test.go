package layering_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/test/layering"
)

// clean is a tree in which everything is as it should be; each test below
// changes one file of it.
var clean = map[string]string{
	"go.mod": "module " + layering.Module + "\n\ngo 1.26.0\n\nrequire (\n\texample.com/good v1.0.0\n" +
		"\texample.com/far v1.0.0 // indirect\n\texample.com/made v1.0.0 // indirect\n)\n\ntool example.com/made/cmd/x\n",
	"docs/dependencies.md": "| module | why |\n|---|---|\n| example.com/good | it is |\n| `example.com/made` | makes |\n",
	"pkg/kv/kv.go":         "// Package kv is words.\npackage kv\n\nimport \"time\"\n\nconst Age = time.Second\n",
	"pkg/snapshot/a.go":    "// Package snapshot is a part.\npackage snapshot\n\nimport _ \"MODULE/pkg/kv\"\n",
	"pkg/shard/shard.go":   "// Package shard is the whole.\npackage shard\n\nimport _ \"MODULE/pkg/snapshot\"\n",
	"pkg/shard/x_test.go": "package shard\n\nimport (\n\t_ \"sync\"\n\t_ \"MODULE/test/sim\"\n\t_ " +
		"\"github.com/stretchr/testify/require\"\n)\n",
	"pkg/engine/engine.go": "// Package engine is world.\npackage engine\n\nimport (\n\t_ \"sync\"\n\t_ " +
		"\"MODULE/pkg/kv\"\n)\n",
	"pkg/clock/clock.go": "// Package clock is world.\npackage clock\n\nfunc f() { go f() }\n",
	"pkg/node/node.go": "// Package node is a shell.\npackage node\n\nimport (\n\t_ \"MODULE/pkg/engine\"\n\t_ " +
		"\"MODULE/pkg/shard\"\n)\n",
	"cmd/x/main.go":   "// Command x is wiring.\npackage main\n\nimport _ \"MODULE/pkg/node\"\n",
	"test/sim/sim.go": "// Package sim is a test.\npackage sim\n\nimport _ \"MODULE/pkg/node\"\n",
}

// plant writes the clean tree with some files changed.
func plant(t *testing.T, changed map[string]string) *layering.Tree {
	root := t.TempDir()
	files := map[string]string{}
	for _, m := range []map[string]string{clean, changed} {
		for name, text := range m {
			files[name] = text
		}
	}
	for name, text := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(strings.ReplaceAll(text, "MODULE", layering.Module)), 0o644))
	}
	tree, err := layering.Load(root)
	require.NoError(t, err)
	return tree
}

// all runs every rule.
func all(t *testing.T, tree *layering.Tree) []string {
	bad, err := tree.Dependencies()
	require.NoError(t, err)
	bad = append(bad, tree.Imports(layering.Table)...)
	bad = append(bad, tree.Purity(layering.Table)...)
	bad = append(bad, tree.Files()...)
	bad = append(bad, tree.Names()...)
	bad = append(bad, tree.Types()...)
	bad = append(bad, tree.Mutants()...)
	bad = append(bad, tree.Inits()...)
	bad = append(bad, tree.Columns()...)
	bad = append(bad, tree.Circles()...)
	bad = append(bad, tree.Recursions()...)
	return append(bad, tree.Comments()...)
}

func TestTheCleanTreeIsClean(t *testing.T) { require.Empty(t, all(t, plant(t, nil))) }

func TestPlantedViolationsAreFound(t *testing.T) {
	txn := func(imports, body string) map[string]string {
		return map[string]string{"pkg/snapshot/a.go": "// Package snapshot is a part.\npackage snapshot\n\n" +
			"import (\n" + imports + "\n)\n\n" + body}
	}
	for name, c := range map[string]struct {
		changed map[string]string
		want    string
	}{
		"a part imports the whole": {txn("_ \"MODULE/pkg/shard\"", ""),
			"pkg/snapshot/a.go:5: pkg/snapshot (parts) must not import pkg/shard (whole)"},
		"words import a part": {map[string]string{"pkg/kv/more.go": "package kv\n\nimport _ \"MODULE/pkg/snapshot\"\n"},
			"pkg/kv/more.go:3: pkg/kv (words) must not import pkg/snapshot (parts)"},
		"a violation behind a build tag": {map[string]string{"pkg/kv/more.go": "//go:build mutants\n\npackage " +
			"kv\n\nimport _ \"MODULE/pkg/snapshot\"\n"},
			"pkg/kv/more.go:5: pkg/kv (words) must not import pkg/snapshot (parts)"},
		"the world imports a shell": {map[string]string{"pkg/engine/more.go": "package engine\n\nimport _ " +
			"\"MODULE/pkg/node\"\n"},
			"must not import pkg/node (shells)"},
		"an engine knows the clock": {map[string]string{"pkg/engine/more.go": "package engine\n\nimport _ " +
			"\"MODULE/pkg/clock\"\n"},
			"pkg/engine must not import pkg/clock: packages of layer world know only their own family"},
		"a shell imports a command": {map[string]string{"pkg/node/more.go": "package node\n\nimport _ \"MODULE/cmd/x\"\n"},
			"must not import cmd/x (wiring)"},
		"a shell imports a test": {map[string]string{"pkg/node/more.go": "package node\n\nimport _ \"MODULE/test/sim\"\n"},
			"test/sim is for tests"},
		"a package without a place": {map[string]string{"pkg/surprise/s.go": "// Package surprise is new.\npackage " +
			"surprise\n"},
			"pkg/surprise: no layer has this package"},
		"words import a module": {map[string]string{"pkg/kv/more.go": "package kv\n\nimport _ " +
			"\"github.com/gogo/protobuf/proto\"\n"},
			"pkg/kv (words) must not import github.com/gogo/protobuf/proto"},
		"pebble away from home": {map[string]string{"pkg/node/more.go": "package node\n\nimport _ " +
			"\"github.com/cockroachdb/pebble/v2\"\n"},
			"github.com/cockroachdb/pebble/v2 is at home in"},
		"testify outside of tests": {map[string]string{"pkg/node/more.go": "package node\n\nimport _ " +
			"\"github.com/stretchr/testify/require\"\n"},
			"is for tests, and this is not one"},

		"a pure package shares": {txn("_ \"sync/atomic\"", ""),
			"pkg/snapshot is pure, and must not import sync/atomic"},
		"a pure package has contexts":       {txn("_ \"context\"", ""), "must not import context"},
		"a pure package draws lots":         {txn("_ \"math/rand/v2\"", ""), "must not import math/rand/v2"},
		"a pure package logs":               {txn("_ \"log/slog\"", ""), "must not import log/slog"},
		"a pure package reaches the system": {txn("_ \"os/exec\"", ""), "must not import os/exec"},
		"a pure package reads a clock": {txn("\"time\"", "func f() { _ = time.Now() }"),
			"pkg/snapshot/a.go:8: pkg/snapshot is pure, and must not call time.Now"},
		"a clock under another name":       {txn("clk \"time\"", "var f = clk.Since"), "must not call time.Since"},
		"a pure package starts goroutines": {txn("", "func f() { go f() }"), "must not start a goroutine"},
		"a pure package has channels":      {txn("", "var c chan int"), "must not use channels"},
		"a pure package selects":           {txn("", "func f() { select {} }"), "must not use channels"},

		"a mutant in the protocol": {map[string]string{
			"pkg/mutant/mutant.go": "// Package mutant is words.\npackage mutant\n",
			"pkg/pins/more.go": "package pins\n\nimport m \"MODULE/pkg/mutant\"\n\nvar s m.Set\n\n" +
				"var x = s.Has(m.NoPush)\n",
			"pkg/pins/rules.go": "package pins\n\nimport \"MODULE/pkg/mutant\"\n\nvar y = s.Has(mutant.NoWound)\n"},
			"pkg/pins/more.go:7: NoPush belongs into the rules.go of its package"},

		"a file that is too long": {map[string]string{"pkg/kv/long.go": "package kv\n" + strings.Repeat("\n", 600)},
			"pkg/kv/long.go has 601 lines"},
		"a type with too many methods": {map[string]string{"pkg/kv/many.go": "package kv\n\ntype many struct{}\n" +
			methods(46)},
			"pkg/kv/many.go:3: many has 46 methods"},
		"methods in several files": {map[string]string{
			"pkg/kv/many.go": "package kv\n\ntype many struct{}\n" + methods(30),
			"pkg/kv/more.go": "package kv\n" + methods(16)},
			"many has 46 methods"},
		"a type with too many fields": {map[string]string{"pkg/kv/many.go": "package kv\n\ntype many struct {\n" +
			strings.Repeat("\ta, b int\n", 13) + "}\n"},
			"many has 26 fields"},
		"an assignment in an if": {map[string]string{"pkg/kv/if.go": "package kv\n\nfunc f(a int) {\n\tif a = 2; a > 1 " +
			"{\n\t}\n}\n"},
			"pkg/kv/if.go:4: an assignment in the init of an if"},
		"a count in an if": {map[string]string{"pkg/kv/if.go": "package kv\n\nfunc f(a int) {\n\tif a++; a > 1 {\n\t}\n}\n"},
			"an assignment in the init of an if"},
		"a line that is too long": {map[string]string{"pkg/kv/wide_test.go": "package kv\n\n// " + strings.Repeat("ä", 118) +
			"\n"},
			"pkg/kv/wide_test.go:3: 121 columns"},
		"a function that reaches itself": {recursive,
			"pkg/shard/agent: a function reaches itself: T.a b"},
		"files that call each other in a circle": {circle(9), "pkg/kv: 9 files call each other in a circle"},
		"a package called util": {map[string]string{"pkg/node/util/u.go": "// Package util is " +
			"useful.\npackage util\n"}, "name the package after what it knows"},
		"helpers in a directory of another name": {map[string]string{"pkg/node/x/u.go": "// Package helpers " +
			"helps.\npackage helpers\n"},
			`not "helpers"`},
		"a package without a comment": {map[string]string{"pkg/node/node.go": "package node\n"},
			"pkg/node has no package comment"},
		"a build tag is no comment": {map[string]string{"pkg/node/node.go": "//go:build linux\npackage node\n"},
			"pkg/node has no package comment"},
		"a generated comment is none": {map[string]string{"pkg/node/node.go": "// Code generated by x. DO NOT " +
			"EDIT.\n\n// Package node is.\npackage node\n"},
			"pkg/node has no package comment"},
		"a dependency without a reason": {map[string]string{"docs/dependencies.md": "| example.com/made | makes |\n"},
			"| example.com/good | reason |"},
		"a tool without a reason": {map[string]string{"docs/dependencies.md": "| example.com/good | is |\n"},
			"| example.com/made | reason |"},
		"an import that is said to be none": {map[string]string{"pkg/node/more.go": "package node\n\nimport _ " +
			"\"example.com/far/sub\"\n"},
			"example.com/far is imported, and marked as indirect"},
		"a reason for nothing": {map[string]string{"docs/dependencies.md": clean["docs/dependencies.md"] +
			"| example.com/gone/v2 | was |\n"},
			"go.mod does not require example.com/gone/v2"},
		"a nested module's dependency without a reason": {map[string]string{
			"test/other/go.mod":    "module MODULE/test/other\n\nrequire (\n\tMODULE v0.0.0\n\texample.com/theirs v1.0.0\n)\n",
			"docs/dependencies.md": clean["docs/dependencies.md"] + "\n## In `test/other`\n\n| example.com/mine | is |\n"},
			"no line `| example.com/theirs | reason |` for test/other/go.mod"},
		"a nested module's reason among the others": {map[string]string{
			"test/other/go.mod":    "module MODULE/test/other\n\nrequire example.com/theirs v1.0.0\n",
			"docs/dependencies.md": clean["docs/dependencies.md"] + "| example.com/theirs | is |\n"},
			"docs/dependencies.md: go.mod does not require example.com/theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := all(t, plant(t, c.changed))
			require.NotEmpty(t, bad)
			require.Contains(t, strings.Join(bad, "\n"), strings.ReplaceAll(c.want, "MODULE", layering.Module))
		})
	}
}

func TestLongGeneratedFilesAndOtherModulesAreLeftAlone(t *testing.T) {
	tree := plant(t, map[string]string{
		"pkg/kv/long.pb.go":    "// Code generated by x. DO NOT EDIT.\n\npackage kv\n" + strings.Repeat("\n", 700),
		"test/compare/go.mod":  "module example.com/compare\n",
		"test/compare/main.go": "package util\n",
		"test/other/go.mod":    "module MODULE/test/other\n\nrequire (\n\tMODULE v0.0.0\n\texample.com/theirs v1.0.0\n)\n",
		"docs/dependencies.md": clean["docs/dependencies.md"] +
			"\n## In `test/other`\n\n| module | why |\n|---|---|\n| example.com/theirs | is |\n",
		"pkg/kv/testdata/broken.go": "this is not Go",
	})
	require.Empty(t, all(t, tree))
}

func TestWhatCannotBeParsedIsAnError(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "x.go"), []byte("package"), 0o644))
	_, err := layering.Load(root)
	require.ErrorContains(t, err, "x.go")
}

// methods are so many of a type called many.
func methods(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "\nfunc (x *many) m%d() {}\n", i)
	}
	return out.String()
}

// recursive is a method that reaches itself by way of a function and a closure.
var recursive = map[string]string{"pkg/shard/agent/a.go": `// Package agent is.
package agent

type T struct{}

func (t T) a() { b(t) }

func b(t T) { func() { t.a() }() }
`}

// circle is so many files of which each calls the next, some by a method.
func circle(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		next := fmt.Sprintf("f%d()", (i+1)%n)
		if i%2 == 0 {
			next = fmt.Sprintf("t%d{}.f()", (i+1)%n)
		}
		files[fmt.Sprintf("pkg/kv/c%d.go", i)] = fmt.Sprintf(
			"package kv\n\ntype t%[1]d struct{}\n\nfunc (t%[1]d) f() { f%[1]d() }\n\nfunc f%[1]d() { %[2]s }\n", i, next)
	}
	return files
}

// TestWhatIsSmallEnoughIsLeftAlone: a circle of as many files as may be, a line of as many
// columns, a variable that is declared in an if.
func TestWhatIsSmallEnoughIsLeftAlone(t *testing.T) {
	files := circle(8)
	files["pkg/kv/if.go"] = "package kv\n\nfunc f(a int) {\n\tif b := a; b > 1 {\n\t}\n}\n"
	files["pkg/kv/wide.go"] = "package kv\n\n// " + strings.Repeat("ä", 117) + "\n"
	files["pkg/kv/many.go"] = "package kv\n\ntype many struct{}\n" + methods(45)
	require.Empty(t, all(t, plant(t, files)))
}
