package client_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/linchpindb/linchpin"

// public are the packages that users import.
var public = []string{module + "/pkg/client", module + "/pkg/client/admin", module + "/pkg/linchpintest"}

// exports returns the files with the types of packages and of all that they import.
func exports(t *testing.T, packages ...string) map[string]string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"},
		packages...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	require.NoError(t, err)
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files
}

// typesOf imports packages.
func typesOf(files map[string]string) types.Importer {
	return importer.ForCompiler(token.NewFileSet(), "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}

// TestTheAPIHasOnlyItsOwnTypes: no exported signature or field mentions a type of another package than
// the standard library's and those of the API.
func TestTheAPIHasOnlyItsOwnTypes(t *testing.T) {
	var packages []string
	for _, p := range public {
		if _, err := os.Stat("../.." + strings.TrimPrefix(p, module)); err == nil {
			packages = append(packages, p)
		}
	}
	require.Contains(t, packages, module+"/pkg/client")
	files := exports(t, packages...)
	imports := typesOf(files)
	for _, path := range packages {
		p, err := imports.Import(path)
		require.NoError(t, err)
		require.Empty(t, foreign(p))
	}

	// Planted, of each kind.
	const planted = `package planted
import "` + module + `/pkg/kv"
type Fine struct{ hidden kv.Version }
func (Fine) hiddenMethod(kv.Version) {}
func hiddenFunction(kv.Version) {}
func Good(f Fine, s []string) (map[string]*Fine, error) { return nil, nil }
type Field struct{ K kv.Kind }
type embedded struct{}
func (embedded) Promoted() *kv.Error { return nil }
type Promotes struct{ embedded }
type Method struct{}
func (*Method) M(func(...[]kv.Kind)) {}
type Interface interface{ I() map[string]kv.Version }
type Defined map[kv.Version]bool
type Alias = kv.Kind
func Function(x chan kv.Kind) {}
type Generic[T any] struct{ V T }
func Instance() Generic[kv.Kind] { panic(0) }
const Constant = kv.KindOK
var Variable kv.Kind
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "planted.go", planted, 0)
	require.NoError(t, err)
	more := exports(t, module+"/pkg/kv")
	config := types.Config{Importer: typesOf(more)}
	p, err := config.Check("planted", fset, []*ast.File{f}, nil)
	require.NoError(t, err)
	found := strings.Join(foreign(p), "\n")
	for _, name := range []string{"Field", "Promotes", "Method", "Interface", "Defined", "Alias", "Function", "Instance",
		"Constant", "Variable"} {
		require.Contains(t, found, "planted."+name, name)
	}
	require.NotContains(t, found, "Fine")
	require.NotContains(t, found, "Good")
	require.NotContains(t, strings.ToLower(found), "hidden")
}

// foreign lists what is exported and mentions a type of another package.
func foreign(p *types.Package) []string {
	w := &walker{of: p, seen: make(map[types.Type]bool)}
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		w.at = p.Name() + "." + name
		w.declared(o)
	}
	slices.Sort(w.bad)
	return slices.Compact(w.bad)
}

// walker goes through types.
type walker struct {
	of   *types.Package
	at   string
	seen map[types.Type]bool
	bad  []string
}

func (w *walker) declared(o types.Object) {
	name, ok := o.(*types.TypeName)
	if !ok || name.IsAlias() {
		w.mention(o.Type())
		return
	}
	w.members(name.Type())
}

// members goes through what a type of the package exports: fields and methods, promoted ones too.
func (w *walker) members(t types.Type) {
	set := types.NewMethodSet(types.NewPointer(t))
	if types.IsInterface(t) {
		set = types.NewMethodSet(t)
	}
	for m := range set.Methods() {
		if m.Obj().Exported() {
			w.mention(m.Type())
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if f.Exported() {
				w.mention(f.Type())
			}
		}
	case *types.Interface: // its methods are done
	default:
		w.mention(u)
	}
}

// mention goes through a type that a signature mentions.
func (w *walker) mention(t types.Type) {
	if w.seen[t] {
		return
	}
	if _, named := t.(*types.Named); !named {
		w.seen[t] = true
		defer delete(w.seen, t)
	}
	switch t := t.(type) {
	case *types.Alias:
		w.owner(t.Obj())
		w.mention(types.Unalias(t))
	case *types.Named:
		w.owner(t.Obj())
		for a := range t.TypeArgs().Types() {
			w.mention(a)
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, maps and channels
		w.mention(t.Elem())
		if m, ok := t.(*types.Map); ok {
			w.mention(m.Key())
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.mention(v.Type())
		}
		for v := range t.Results().Variables() {
			w.mention(v.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			w.mention(f.Type())
		}
	case *types.Interface:
		for m := range t.Methods() {
			w.mention(m.Type())
		}
	}
}

// owner notes a type of another package than the API's and the standard library's.
func (w *walker) owner(o *types.TypeName) {
	p := o.Pkg()
	if p == nil || p == w.of || slices.Contains(public, p.Path()) || !strings.Contains(strings.SplitN(p.Path(), "/", 2)[0],
		".") {
		return
	}
	w.bad = append(w.bad, fmt.Sprintf("%s mentions %s.%s", w.at, p.Path(), o.Name()))
}

// TestEachExportedNameIsDocumented in the API's packages.
func TestEachExportedNameIsDocumented(t *testing.T) {
	var bare []string
	for _, dir := range []string{".", "admin", "../linchpintest"} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, d := range f.Decls {
				bare = append(bare, undocumented(d)...)
			}
		}
	}
	require.Empty(t, bare)
	planted, err := parser.ParseFile(token.NewFileSet(), "planted.go",
		"package p\nfunc F() {}\ntype T int\nfunc (t *T) M() {}\nfunc (hidden) M() {}", 0)
	require.NoError(t, err)
	for _, d := range planted.Decls {
		bare = append(bare, undocumented(d)...)
	}
	require.Equal(t, []string{"F", "T", "M"}, bare)
}

// undocumented returns the exported functions, methods and types of a declaration without a comment.
func undocumented(d ast.Decl) (bare []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
			bare = append(bare, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() && t.Doc == nil && d.Doc == nil {
				bare = append(bare, t.Name.Name)
			}
		}
	}
	return bare
}

func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	switch x := typ.(type) {
	case *ast.IndexExpr:
		typ = x.X
	case *ast.IndexListExpr:
		typ = x.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}
