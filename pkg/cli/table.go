package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table writes rows in columns. On a terminal they are made to fit: long cells are
// cut, and end in "…"; the last column, in which sentences stand, is set in lines.
type table struct {
	out  io.Writer
	rows [][]string
	// columns is the width of the terminal, 0 for any.
	columns int
}

const (
	// gap stands between two columns.
	gap = 2
	// leastCell and leastLast are what a column, and the last one, are not made
	// narrower than. Somewhat arbitrary: a number, a word, and a few words.
	leastCell, leastLast = 8, 24
	cut                  = "…"
)

func (p *printer) table(head ...string) *table {
	t := &table{out: p.out}
	if p.columns != nil {
		t.columns = p.columns()
	}
	if len(head) > 0 {
		t.row(head...)
	}
	return t
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// flush writes the rows that there are; the next ones find widths of their own.
func (t *table) flush() error {
	w := tabwriter.NewWriter(t.out, 0, 0, gap, ' ', 0)
	widths := t.widths()
	for _, row := range t.rows {
		for _, line := range fitted(row, widths) {
			fmt.Fprintln(w, strings.Join(line, "\t"))
		}
	}
	t.rows = nil
	return w.Flush()
}

// widths are those of the columns, so that the table fits; nil if it does.
func (t *table) widths() []int {
	var of []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(of) {
				of = append(of, 0)
			}
			of[i] = max(of[i], utf8.RuneCountInString(cell))
		}
	}
	over := gap*(len(of)-1) - t.columns
	for _, w := range of {
		over += w
	}
	if t.columns == 0 || over <= 0 {
		return nil
	}
	last := len(of) - 1
	if less := min(over, of[last]-leastLast); less > 0 {
		of[last], over = of[last]-less, over-less
	}
	for ; over > 0; over-- {
		widest := 0
		for i := range of {
			if of[i] > of[widest] {
				widest = i
			}
		}
		if of[widest] <= leastCell {
			break // it does not fit
		}
		of[widest]--
	}
	return of
}

// fitted is a row as lines of the widths.
func fitted(row []string, widths []int) [][]string {
	last := len(row) - 1
	if widths == nil || last < 0 {
		return [][]string{row}
	}
	lines := [][]string{append([]string(nil), row...)}
	for i := range lines[0] {
		if i < last || i < len(widths)-1 {
			lines[0][i] = shortened(row[i], widths[i])
			continue
		}
		for n, text := range wrap(row[i], widths[i]) {
			if n > 0 {
				lines = append(lines, make([]string, len(row)))
			}
			lines[n][i] = text
		}
	}
	return lines
}

// shortened is a cell of a width at most.
func shortened(cell string, width int) string {
	if utf8.RuneCountInString(cell) <= width {
		return cell
	}
	return string([]rune(cell)[:width-1]) + cut
}

// wrap sets words in lines. A word that is longer than a line is cut.
func wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		line := &lines[len(lines)-1]
		word = shortened(word, width)
		switch {
		case *line == "":
			*line = word
		case utf8.RuneCountInString(*line)+1+utf8.RuneCountInString(word) <= width:
			*line += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
