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

<!-- Generated from the declarations by tools/typesdoc: change those, and run "make generate". -->

The first write of a key decides its data type; ` + "`delete`" + ` frees it. [Choosing a type](manual/data-types.md) ` +
	`compares the types, [API](api.md) has the call, and
[user-defined types](own-types.md) describes how to declare one.

Each method acquires a lock of one of the kinds listed beside it. ` +
	`Which one depends on the value and the arguments. The first one applies if the value is not
known; with "(else)", only then. Operations whose locks are compatible commute and never block each other.

In the tables, **x** is compatible, **y** compatible on different parts of the value (members, fields), and a ` +
	`dot incompatible. ` + "`*`" + ` marks updates. Columns are in
the order of rows. [` + "`linchpin check-types`" + `](cli.md) tests the tables with random values and transactions.
`

// write makes the page.
func write(all []*adt.Type) (string, error) {
	var b strings.Builder
	b.WriteString(head)
	for _, t := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s Type number %d.\n\n", t.Name, t.Doc, t.ID)
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

// needsOf lists the locks that each method can need, the declared one first.
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
			out[i][0] += " (else)"
		}
		for _, k := range report.Needs[i] {
			if k != m.Kind {
				out[i] = append(out[i], t.Kinds[k-1].Name)
			}
		}
	}
	return out, nil
}

// locks writes the table of compatible locks.
func locks(b *strings.Builder, t *adt.Type) {
	width := 0
	for _, k := range t.Kinds {
		width = max(width, len(k.Name)+1)
	}
	b.WriteString("```text\n")
	for i, k := range t.Kinds {
		name := k.Name
		if k.Changes {
			name += "*"
		}
		fmt.Fprintf(b, "%-*s ", width, name)
		for j := range t.Kinds {
			b.WriteString(map[adt.When]string{adt.Always: "x", adt.OtherPart: "y",
				0: "."}[t.Relation(adt.Kind(i+1), adt.Kind(j+1))])
		}
		b.WriteString("\n")
	}
	b.WriteString("```\n")
}
