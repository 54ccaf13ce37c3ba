// Command typesdoc writes docs/types.md, the page of the data types, from their
// declarations.
//
//	go run ./tools/typesdoc           write it
//	go run ./tools/typesdoc -check    write nothing, and fail if it is stale
//
// It must be run in the module's root.
package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/adt/check"
	"github.com/linchpindb/linchpin/tools/generated"
)

const page = "docs/types.md"

func main() {
	generated.Main("typesdoc", func(check bool) error { return run(page, adt.All(), check) })
}

func run(path string, all []*adt.Type, compare bool) error {
	text, err := write(all)
	if err != nil {
		return err
	}
	return generated.File(path, []byte(text), compare)
}

const head = `# Data types

<!-- Made from the declarations by tools/typesdoc: change those, and run "make generate". -->

A value is of one type, which the operation that makes it decides. The generic call names the key, the type, the method and its
arguments. Every method needs a lock of a kind, and which kinds may be held beside each other is the type's table: transactions
whose locks go together run together, whatever the key. A method may need another lock depending on what the key holds; the
tables below list those that it can need, and the one that it registers with where the value is not known comes first.

In the tables of locks, **x** stands for always, **y** for different parts of the value only (other members, other fields), and a
dot for never. Locks marked with ` + "`*`" + ` are for changes. Two others always go together.

What the tables say is held against random values and transactions by ` + "`linchpin check-types`" + `, at length in ` + "`make test`" + `, and for
a moment whenever a server starts. [own-types.md](own-types.md) tells how to declare a type of your own.
`

// write makes the page.
func write(all []*adt.Type) (string, error) {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("\n| type | number | |\n|---|---|---|\n")
	for _, t := range all {
		fmt.Fprintf(&b, "| [%s](#%s) | %d | %s |\n", t.Name, t.Name, t.ID, t.Doc)
	}
	for _, t := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", t.Name, t.Doc)
		needs, err := needsOf(t)
		if err != nil {
			return "", err
		}
		b.WriteString("| method | locks | |\n|---|---|---|\n")
		for i, m := range t.Methods {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.Usage(), strings.Join(needs[i], ", "), m.Doc)
		}
		b.WriteString("\n")
		locks(&b, t)
	}
	return b.String(), nil
}

// rounds are enough to see every lock that a method can need.
const rounds = 2000

// needsOf lists the locks that methods need, the declared one first.
func needsOf(t *adt.Type) ([][]string, error) {
	out := make([][]string, len(t.Methods))
	for i, m := range t.Methods {
		out[i] = []string{t.Kinds[m.Kind-1].Name}
	}
	if t.ID < 2 { // the store's own operations
		return out, nil
	}
	report, err := check.Examine(t, 1, rounds)
	if err != nil {
		return nil, err
	}
	for i, m := range t.Methods {
		if len(report.Needs[i]) > 0 && !slices.Contains(report.Needs[i], m.Kind) {
			out[i][0] += " (not known)"
		}
		for _, k := range report.Needs[i] {
			if k != m.Kind {
				out[i] = append(out[i], t.Kinds[k-1].Name)
			}
		}
	}
	return out, nil
}

// locks writes the table of what goes together.
func locks(b *strings.Builder, t *adt.Type) {
	name := func(k int) string {
		if t.Kinds[k].Changes {
			return t.Kinds[k].Name + "`*`"
		}
		return t.Kinds[k].Name
	}
	b.WriteString("| lock |")
	for i := range t.Kinds {
		b.WriteString(" " + name(i) + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(t.Kinds)) + "\n")
	for i := range t.Kinds {
		b.WriteString("| " + name(i) + " |")
		for j := range t.Kinds {
			b.WriteString(map[adt.When]string{adt.Always: " x |", adt.OtherPart: " y |", 0: " . |"}[t.Relation(adt.Kind(i+1), adt.Kind(j+1))])
		}
		b.WriteString("\n")
	}
}
