package adt_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// builtin are the files of linchpin's own types and of their shared functions.
var builtin = map[string]bool{
	"set.go": true, "map.go": true, "map_plan.go": true, "sorted.go": true, "sorted_plan.go": true, "list.go": true,
	"collection.go": true, "patches.go": true, "sorted_pages.go": true,
	"topk.go": true, "summary.go": true, "bounded.go": true, "ids.go": true, "decimal.go": true, "pending.go": true,
}

// TestBuiltInTypesUseExportedAPIOnly: linchpin's own types use only exported declarations of this
// package. So a type that is declared in another program can do everything that they can.
func TestBuiltInTypesUseExportedAPIOnly(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	machinery, theirs, files := map[string]bool{}, map[string]bool{}, map[string]*ast.File{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		into := machinery
		if builtin[path] {
			files[path], into = f, theirs
		}
		unexported(f, into)
	}
	require.Len(t, files, len(builtin))
	require.Greater(t, len(machinery), 50)
	for path, f := range files {
		for _, id := range f.Unresolved { // of another file, or predeclared
			require.False(t, machinery[id.Name], "%s uses %s, which users' types cannot", path, id.Name)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && !ast.IsExported(s.Sel.Name) {
				require.False(t, machinery[s.Sel.Name] && !theirs[s.Sel.Name], "%s uses a %s, which users' types cannot", path,
					s.Sel.Name)
			}
			return true
		})
	}
}

// unexported adds the unexported names that a file declares, including methods and fields.
func unexported(f *ast.File, into map[string]bool) {
	note := func(id *ast.Ident) {
		if !id.IsExported() && id.Name != "_" && id.Name != "init" {
			into[id.Name] = true
		}
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			note(fn.Name)
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				note(n.Name)
			case *ast.ValueSpec:
				for _, id := range n.Names {
					note(id)
				}
			case *ast.StructType:
				for _, field := range n.Fields.List {
					for _, id := range field.Names {
						note(id)
					}
				}
			}
			return true
		})
	}
}
