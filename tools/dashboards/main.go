// Command dashboards writes the Grafana dashboards in deploy/grafana. They are
// declared here, in one file each: rows of graphs, with their queries, and with
// what each shows and what to do about it.
//
//	go run ./tools/dashboards           write them
//	go run ./tools/dashboards -check    write nothing, and fail if one is stale
//
// It must be run in the module's root. What the queries name is held against the
// program's metrics by test/dashboards, which also asks a real Prometheus each of
// them.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/linchpindb/linchpin/tools/generated"
)

const folder = "deploy/grafana"

var boards = []*board{&overview, &contention, &hotShard, &readers, &storage, &node}

func main() {
	generated.Main("dashboards", func(check bool) error { return run(folder, check) })
}

func run(dir string, check bool) error {
	var names []string
	for _, b := range boards {
		text, err := b.json()
		if err != nil {
			return err
		}
		name := filepath.Join(dir, b.uid+".json")
		names = append(names, name)
		if err := generated.File(name, text, check); err != nil {
			return err
		}
	}
	there, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, name := range there {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%s is none of the dashboards; delete it", name)
		}
	}
	return nil
}

// json is the dashboard as Grafana imports it.
func (b *board) json() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(b.build())
	return out.Bytes(), err
}
