package layering

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// maxSpine bounds the functions that a reader has to follow through the shard from a Put to its response.
const maxSpine = 20

// spined is a function of the list, with those below it that it calls.
type spined struct {
	name     string
	depth    int
	children []string
}

// Spine reports in which way the functions do not call each other as the list on a page says: lines of four
// spaces, two for each level, and package.Type.Function. A function calls those one level below it, in this
// order, and no other one of the list, so that none is entered twice.
func (t *Tree) Spine(page string) (bad []string) {
	var list []*spined
	for _, line := range strings.Split(page, "\n") {
		name := strings.TrimLeft(line, " ")
		if len(line) < len(name)+4 || strings.Count(name, ".") != 2 || strings.Contains(name, " ") {
			continue
		}
		x := &spined{name: name, depth: (len(line) - len(name) - 4) / 2}
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].depth < x.depth {
				list[i].children = append(list[i].children, last(name))
				break
			}
		}
		list = append(list, x)
	}
	if len(list) < maxSpine/2 || len(list) > maxSpine {
		bad = append(bad, fmt.Sprintf("the spine has %d functions", len(list)))
	}
	for _, x := range list {
		fn := t.find(x.name)
		if fn == nil {
			bad = append(bad, "no function "+x.name)
			continue
		}
		at := token.NoPos
		for _, child := range x.children {
			end := callOf(fn, child)
			if end <= at {
				bad = append(bad, fmt.Sprintf("%s does not call %s, or not in the order of the list", x.name, child))
			}
			at = end
		}
		for _, other := range list {
			if !slices.Contains(x.children, last(other.name)) && callOf(fn, last(other.name)).IsValid() {
				bad = append(bad, fmt.Sprintf("%s calls %s, too", x.name, other.name))
			}
		}
	}
	return bad
}

// last is the last word of a name.
func last(name string) string { return name[strings.LastIndex(name, ".")+1:] }

// find returns a function by the last element of its package's path, its receiver and its name.
func (t *Tree) find(name string) (found *ast.FuncDecl) {
	for _, p := range t.Packages {
		if !under(p.Path, "pkg/shard") {
			continue
		}
		p.eachOwn(func(f *File) {
			for _, d := range f.Syntax.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if ok && fn.Recv != nil && f.Syntax.Name.Name+"."+receiver(fn)+"."+fn.Name.Name == name {
					found = fn
				}
			}
		})
	}
	return found
}

// callOf returns where the first call of a method with a name ends in a function.
func callOf(fn *ast.FuncDecl, method string) (end token.Pos) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		x, ok := call.Fun.(*ast.SelectorExpr)
		if ok && x.Sel.Name == method && (!end.IsValid() || call.Rparen < end) {
			end = call.Rparen
		}
		return true
	})
	return end
}
