package dashboards

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Board is the part of a dashboard file that the tests use.
type Board struct {
	File          string `json:"-"`
	UID           string
	Title         string
	SchemaVersion int
	Tags          []string
	Links         []struct{ Type string }
	Templating    struct{ List []Variable }
	Panels        []Panel
}

// Variable is a selection at the top of a dashboard.
type Variable struct {
	Name, Type string
	// Query is a string, or an object that contains one.
	Query any
	Multi bool
}

// Panel is a graph, or the title of a row.
type Panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               *struct{ UID string }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []Target
}

// Target is a query of a panel.
type Target struct {
	RefID        string
	Expr         string
	LegendFormat string
	// Instant: the query is evaluated for now, not for the displayed time range.
	Instant    bool
	Datasource *struct{ UID string }
}

// LoadBoards reads all dashboards of a directory.
func LoadBoards(dir string) (boards []*Board, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		b := &Board{File: filepath.Base(f)}
		if err := json.Unmarshal(raw, b); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		boards = append(boards, b)
	}
	return boards, nil
}

// Variable returns the variable with a name, or nil.
func (b *Board) Variable(name string) *Variable {
	i := slices.IndexFunc(b.Templating.List, func(v Variable) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &b.Templating.List[i]
}

// Choice is the values of the variables of a dashboard.
type Choice struct{ Job, Instance, RateInterval string }

// With returns the query as Grafana sends it.
func (t *Target) With(c Choice) string {
	return strings.NewReplacer("$__rate_interval", c.RateInterval, "$job", c.Job, "$instance", c.Instance).Replace(t.Expr)
}
