// Command dashboards generates the Grafana dashboards in deploy/grafana. Each dashboard is
// declared in one file of this directory: rows of graphs, with their queries and
// descriptions.
//
//	go run ./tools/dashboards           write the dashboards
//	go run ./tools/dashboards -check    fail if a dashboard is stale
//
// It must be run in the module's root. test/dashboards checks the queries against the
// metrics of the program, and runs each query on a real Prometheus.
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
			return fmt.Errorf("%s is not a dashboard of tools/dashboards; delete it", name)
		}
	}
	return nil
}

// json returns the dashboard in the format that Grafana imports.
func (b *board) json() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(b.build())
	return out.Bytes(), err
}
