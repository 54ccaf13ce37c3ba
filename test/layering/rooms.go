package layering

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what a reader can hold in mind at once. Somewhat arbitrary: what
// etcd's raft, the model for a state machine, stays below.
const (
	// maxMethods and maxFields are those of one type.
	maxMethods, maxFields = 45, 25
	// maxCircle is how many files of one package may call each other in a circle.
	maxCircle = 8
	// maxColumns is how long a line may be; a tab counts as one column.
	maxColumns = 120
)

// eachOwn visits the files of a package that no program wrote and that are not tests.
func (p *Package) eachOwn(visit func(*File)) {
	for _, f := range p.Files {
		if !f.Generated && !f.Test {
			visit(f)
		}
	}
}

// Types reports types with too many methods or fields.
func (t *Tree) Types() (bad []string) {
	for _, p := range t.Packages {
		methods := map[string]int{}
		p.eachOwn(func(f *File) {
			for _, d := range f.Syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
					methods[receiver(fn)]++
				}
			}
		})
		p.eachOwn(func(f *File) {
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				name := spec.Name.Name
				if n := methods[name]; n > maxMethods {
					bad = append(bad, t.at(spec.Pos(), "%s has %d methods, and at most %d are read", name, n, maxMethods))
				}
				if s, ok := spec.Type.(*ast.StructType); ok && s.Fields.NumFields() > maxFields {
					bad = append(bad, t.at(spec.Pos(), "%s has %d fields, and at most %d are read", name, s.Fields.NumFields(),
						maxFields))
				}
				return true
			})
		})
	}
	return bad
}

// receiver is the name of the type that a method is of.
func receiver(fn *ast.FuncDecl) string {
	x := fn.Recv.List[0].Type
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y.Name
		default:
			return ""
		}
	}
}

// Inits reports assignments to variables of before in the init of an if: a reader looks for a
// condition there, and not for a change. A variable that is declared there is gone after it.
func (t *Tree) Inits() (bad []string) {
	for _, p := range t.Packages {
		p.eachOwn(func(f *File) {
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				s, ok := n.(*ast.IfStmt)
				if !ok || s.Init == nil {
					return true
				}
				a, assigns := s.Init.(*ast.AssignStmt)
				if !assigns || a.Tok != token.DEFINE {
					bad = append(bad, t.at(s.Pos(), "an assignment in the init of an if; put it on a line of its own"))
				}
				return true
			})
		})
	}
	return bad
}

// Columns reports lines that are too long.
func (t *Tree) Columns() (bad []string) {
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if f.Generated {
				continue
			}
			for i, line := range strings.Split(f.Text, "\n") {
				if n := utf8.RuneCountInString(line); n > maxColumns {
					bad = append(bad, fmt.Sprintf("%s:%d: %d columns, and at most %d are read", f.Path, i+1, n, maxColumns))
				}
			}
		}
	}
	return bad
}

// Circles reports packages in which more files than maxCircle call each other, directly or by
// way of others.
func (t *Tree) Circles() (bad []string) {
	for _, p := range t.Packages {
		for _, circle := range circles(t.calls(p)) {
			if len(circle) > maxCircle {
				bad = append(bad, fmt.Sprintf("%s: %d files call each other in a circle, and at most %d may: %s",
					p.Path, len(circle), maxCircle, strings.Join(circle, " ")))
			}
		}
	}
	return bad
}

// Straight are the packages of the commit path, in which no function reaches itself: a reader meets each
// once. What continues is a loop (agent.LastAgent.OnStep).
var Straight = []string{"pkg/shard", "pkg/shard/agent", "pkg/shard/interactive", "pkg/shard/exec", "pkg/shard/attempt",
	"pkg/shard/record", "pkg/shard/outcome"}

// Recursions reports functions of Straight packages that reach themselves, directly or by way of others of
// their package.
func (t *Tree) Recursions() (bad []string) {
	for _, p := range t.Packages {
		if !slices.Contains(Straight, p.Path) {
			continue
		}
		graph := t.uses(p, t.function)
		for _, circle := range circles(graph) {
			if len(circle) > 1 || graph[circle[0]][circle[0]] {
				bad = append(bad, fmt.Sprintf("%s: a function reaches itself: %s", p.Path, strings.Join(circle, " ")))
			}
		}
	}
	return bad
}

// function is the name of the function that a position is in, with its receiver; "" if it is in none.
func (t *Tree) function(f *ast.File, at token.Pos) string {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Pos() <= at && at < fn.End() {
			if fn.Recv != nil {
				return receiver(fn) + "." + fn.Name.Name
			}
			return fn.Name.Name
		}
	}
	return ""
}

// calls returns which files of a package use functions and methods of which others.
func (t *Tree) calls(p *Package) map[string]map[string]bool {
	graph := t.uses(p, func(_ *ast.File, at token.Pos) string { return path.Base(t.fset.Position(at).Filename) })
	for from, to := range graph {
		delete(to, from)
	}
	return graph
}

// uses returns from where to where a package uses its functions and methods, by the names of positions. The
// package is type-checked alone: what it imports is unknown, and that does not matter for its own.
func (t *Tree) uses(p *Package, name func(*ast.File, token.Pos) string) map[string]map[string]bool {
	var files []*ast.File
	p.eachOwn(func(f *File) { files = append(files, f.Syntax) })
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: nothing{}, Error: func(error) {}, DisableUnusedImportCheck: true}
	pkg, _ := conf.Check(p.Path, t.fset, files, info)
	named := func(at token.Pos) string {
		i := slices.IndexFunc(files, func(f *ast.File) bool { return f.FileStart <= at && at < f.FileEnd })
		return name(files[i], at)
	}
	out := map[string]map[string]bool{}
	for id, obj := range info.Uses {
		fn, ok := obj.(*types.Func)
		if !ok || fn.Pkg() != pkg {
			continue
		}
		from, to := named(id.Pos()), named(fn.Pos())
		if out[from] == nil {
			out[from] = map[string]bool{}
		}
		out[from][to] = true
	}
	return out
}

// nothing imports nothing.
type nothing struct{}

func (nothing) Import(string) (*types.Package, error) { return nil, fmt.Errorf("not read") }

// circles are the strongly connected parts of a graph, by Tarjan's algorithm.
func circles(graph map[string]map[string]bool) (out [][]string) {
	index, low, on := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack, on[v] = append(stack, v), true
		for w := range graph[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		i := slices.Index(stack, v)
		part := slices.Sorted(slices.Values(stack[i:]))
		for _, w := range part {
			on[w] = false
		}
		stack = stack[:i]
		out = append(out, part)
	}
	for v := range graph {
		if index[v] == 0 {
			visit(v)
		}
	}
	return out
}
