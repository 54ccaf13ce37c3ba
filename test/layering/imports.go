package layering

import (
	"go/token"
	"maps"
	"slices"
)

// Imports reports every import that the table does not allow.
func (t *Tree) Imports(table []Layer) (bad []string) {
	for _, p := range t.Packages {
		layer := layerOf(table, p.Path)
		if layer == nil {
			bad = append(bad, p.Path+": no layer has this package; say in test/layering/table.go where it belongs")
			continue
		}
		for _, f := range p.Files {
			imports := f.imports()
			for _, imported := range slices.Sorted(maps.Keys(imports)) {
				bad = append(bad, t.checkImport(table, layer, p, f, imported, imports[imported])...)
			}
		}
	}
	return bad
}

func (t *Tree) checkImport(table []Layer, from *Layer, p *Package, f *File, imported string,
	pos token.Pos) (bad []string) {
	say := func(format string, args ...any) { bad = append(bad, t.at(pos, format, args...)) }
	target, inside := own(imported)
	if !inside {
		if !isStd(imported) {
			t.checkOutside(from, p, f, imported, say)
		}
		return bad
	}
	if f.Test || forTests(p.Path) {
		// Tests may look down and sideways as they like. What is not Go's to
		// forbid is left to their authors.
		return nil
	}
	if forTests(target) && !under(target, "pkg/history") {
		say("%s is for tests, and this is not one", target)
		return bad
	}
	to := layerOf(table, target)
	switch {
	case to == nil:
		say("%s has no layer", target)
	case !slices.Contains(from.Imports, to.Name):
		say("%s (%s) must not import %s (%s)", p.Path, from.Name, target, to.Name)
	case from.OwnFamily && from == to && family(p.Path) != family(target):
		say("%s must not import %s: packages of layer %s know only their own family", p.Path, target, from.Name)
	}
	return bad
}

// checkOutside holds the imports of other modules against the layer and the
// module's home.
func (t *Tree) checkOutside(from *Layer, p *Package, f *File, imported string, say func(string, ...any)) {
	below := func(prefix string) bool { return under(imported, prefix) }
	for _, module := range slices.Sorted(maps.Keys(Homes)) {
		home := func(dir string) bool { return under(p.Path, dir) }
		if below(module) && !slices.ContainsFunc(Homes[module], home) {
			say("%s is at home in %v only", module, Homes[module])
		}
	}
	if f.Test || forTests(p.Path) || under(p.Path, "tools") {
		return
	}
	if slices.ContainsFunc(TestOnly, below) {
		say("%s is for tests, and this is not one", imported)
	}
	if from.Outside != nil && !slices.ContainsFunc(from.Outside, below) {
		say("%s (%s) must not import %s", p.Path, from.Name, imported)
	}
}
