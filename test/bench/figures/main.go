// Command figures writes the figures that pages quote, and the plot of the README, from what was
// measured: the files in docs/figures.
//
//	go run ./test/bench/figures           write them
//	go run ./test/bench/figures -check    write nothing, and fail if one is stale
//
// The same table stands in README.md and in docs/manual/comparison.md, between two comments; the
// longer table of one counter stands in the comparison only. `make figures` measures anew, which
// takes 20 minutes on a quiet machine. The command must be run in the module's root.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/linchpindb/linchpin/pkg/load/experiment/hotornot"
	"github.com/linchpindb/linchpin/test/bench/rounds"
	"github.com/linchpindb/linchpin/tools/generated"
)

// dir has what was measured.
const dir = "docs/figures"

// pages are those with tables, and which they have.
var pages = []struct {
	path   string
	tables []string
}{
	{"README.md", []string{"figures"}},
	{"docs/manual/comparison.md", []string{"figures", "counter"}},
}

func main() {
	generated.Main("figures", func(check bool) error { return run(".", check) })
}

// measured is what the files have.
type measured struct {
	compare, hot rounds.Figures
	skew         hotornot.Result
}

func run(root string, check bool) error {
	m, err := load(root)
	if err != nil {
		return err
	}
	tables, err := m.tables()
	if err != nil {
		return err
	}
	for _, p := range pages {
		if err := rewrite(filepath.Join(root, p.path), p.tables, tables, check); err != nil {
			return err
		}
	}
	for _, theme := range hotornot.Themes {
		var b bytes.Buffer
		if err := m.skew.WriteFigure(&b, theme); err != nil {
			return err
		}
		name := filepath.Join(root, "docs", "hot-or-not-"+theme.Name+".svg")
		if err := generated.File(name, b.Bytes(), check); err != nil {
			return err
		}
	}
	return nil
}

func load(root string) (*measured, error) {
	var m measured
	for name, to := range map[string]any{"compare.json": &m.compare, "hot.json": &m.hot, "hot-or-not.json": &m.skew} {
		path := filepath.Join(root, dir, name)
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w; run: make figures", path, err)
		}
	}
	return &m, nil
}

// rewrite puts tables between their comments on a page.
func rewrite(path string, names []string, tables map[string]string, check bool) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, name := range names {
		begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- end of "+name+" -->")
		from, till := bytes.Index(text, begin), bytes.Index(text, end)
		if from < 0 || till < from {
			return fmt.Errorf("%s lacks %q followed by %q", path, bytes.TrimSpace(begin), end)
		}
		from += len(begin)
		text = bytes.Join([][]byte{text[:from], []byte(tables[name]), text[till:]}, nil)
	}
	return generated.File(path, text, check)
}
