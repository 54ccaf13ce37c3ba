package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table writes rows in columns. Keys and ids are never cut; one column, if shrink names it, is cut
// where the row does not fit the terminal, and a cut cell ends in "…".
type table struct {
	out  io.Writer
	rows [][]string
	// columns is the width of the terminal in characters, 0 for any.
	columns int
	// shrink is the number of the column that may be cut, from 0; below 0 there is none.
	shrink int
}

const (
	// gap is the number of spaces between two columns.
	gap = 2
	// leastCell is the width below which a column is not cut: a few words. Somewhat arbitrary.
	leastCell = 16
	cut       = "…"
)

func (p *printer) table(head ...string) *table {
	t := &table{out: p.out, shrink: -1}
	if p.columns != nil {
		t.columns = p.columns()
	}
	if len(head) > 0 {
		t.row(head...)
	}
	return t
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// flush writes the rows; those that follow get widths of their own.
func (t *table) flush() error {
	w := tabwriter.NewWriter(t.out, 0, 0, gap, ' ', 0)
	width := t.shrunk()
	for _, row := range t.rows {
		if width > 0 && t.shrink < len(row) {
			row[t.shrink] = shortened(row[t.shrink], width)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	t.rows = nil
	return w.Flush()
}

// shrunk is the width of the column that is cut, 0 if no row is too long.
func (t *table) shrunk() int {
	if t.columns == 0 || t.shrink < 0 {
		return 0
	}
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	over := gap*(len(widths)-1) - t.columns
	for _, w := range widths {
		over += w
	}
	if over <= 0 || t.shrink >= len(widths) {
		return 0
	}
	return max(widths[t.shrink]-over, leastCell)
}

// shortened is a cell of at most width characters.
func shortened(cell string, width int) string {
	if utf8.RuneCountInString(cell) <= width {
		return cell
	}
	return string([]rune(cell)[:width-1]) + cut
}
