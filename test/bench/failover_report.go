package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// failoverMeasure is one line of the table: a number for each fault.
type failoverMeasure struct {
	Name string `json:"name"`
	// Unit is ms, s, % or empty for a count.
	Unit string `json:"unit,omitempty"`
	// Count is the number of faults. P50 and Worst are over them; the worst is the least if LessIsWorse.
	Count       int     `json:"count"`
	P50         float64 `json:"p50"`
	Worst       float64 `json:"worst"`
	LessIsWorse bool    `json:"less_is_worse,omitempty"`
	// P50Target and WorstTarget are bounds, nil for none.
	P50Target   *float64 `json:"p50_target,omitempty"`
	WorstTarget *float64 `json:"worst_target,omitempty"`

	got []float64
}

// summarize sets the numbers of a measure.
func (m *failoverMeasure) summarize() {
	m.Count, m.P50 = len(m.got), rounds.Median(m.got)
	m.Worst = slices.Max(m.got)
	if m.LessIsWorse {
		m.Worst = slices.Min(m.got)
	}
}

func (m *failoverMeasure) meets(x float64, target *float64) bool {
	return target == nil || x <= *target && !m.LessIsWorse || x >= *target && m.LessIsWorse
}

// verdict is "met", "MISSED", or "-" without a target.
func (m *failoverMeasure) verdict() string {
	switch {
	case m.P50Target == nil && m.WorstTarget == nil:
		return "-"
	case m.meets(m.P50, m.P50Target) && m.meets(m.Worst, m.WorstTarget):
		return "met"
	}
	return "MISSED"
}

// asked are the bounds in words.
func (m *failoverMeasure) asked() (out string) {
	sign := "<="
	if m.LessIsWorse {
		sign = ">="
	}
	if m.P50Target != nil {
		out += fmt.Sprintf("p50 %s %s ", sign, m.number(*m.P50Target))
	}
	if m.WorstTarget != nil {
		out += fmt.Sprintf("worst %s %s ", sign, m.number(*m.WorstTarget))
	}
	return out + m.verdict()
}

func (m *failoverMeasure) number(x float64) string {
	switch m.Unit {
	case "s":
		return fmt.Sprintf("%.1f s", x)
	case "":
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.0f %s", x, m.Unit)
}

// failoverReport has the lines of the table.
type failoverReport struct {
	lines []*failoverMeasure
	// failures counts the errors of clients by their text.
	failures map[string]int
}

// add adds a number to a line, which the first number makes.
func (r *failoverReport) add(line failoverMeasure, x float64) {
	for _, m := range r.lines {
		if m.Name == line.Name {
			m.got = append(m.got, x)
			return
		}
	}
	line.got = []float64{x}
	r.lines = append(r.lines, &line)
}

func bound(x float64) *float64 { return &x }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (r *failoverReport) addKill(k *killed, hot bool) {
	of := "ordinary shard killed: "
	if hot {
		of = "hot shard killed: "
	}
	r.add(failoverMeasure{Name: of + "first commit", Unit: "ms", P50Target: bound(1200), WorstTarget: bound(2500)},
		millis(k.first))
	r.add(failoverMeasure{Name: of + "last shard of the node", Unit: "ms"}, millis(k.all))
	if k.kept > 0 { // other nodes lead shards
		r.add(failoverMeasure{Name: of + "rate kept, other shards", Unit: "%", LessIsWorse: true, P50Target: bound(95)},
			100*k.kept)
		r.add(failoverMeasure{Name: of + "longest request, other shards", Unit: "ms"}, millis(k.others))
		r.add(failoverMeasure{Name: of + "longest request there, before", Unit: "ms"}, millis(k.before))
	}
	r.add(failoverMeasure{Name: of + "whole after the start", Unit: "ms"}, millis(k.whole))
	r.add(failoverMeasure{Name: of + "failed requests", WorstTarget: bound(0)}, float64(r.fail(k.failures)))
	r.add(lostLine(), 0)
}

func (r *failoverReport) addDrain(d *drained) {
	r.add(failoverMeasure{Name: "drain: longest request, other clients", Unit: "ms", WorstTarget: bound(200)},
		millis(d.others))
	r.add(failoverMeasure{Name: "drain: longest request, its clients", Unit: "ms", WorstTarget: bound(200)}, millis(d.own))
	r.add(failoverMeasure{Name: "drain: longest request before", Unit: "ms"}, millis(d.before))
	r.add(failoverMeasure{Name: "drain: time", Unit: "ms"}, millis(d.took))
	r.add(failoverMeasure{Name: "drain: failed requests", WorstTarget: bound(0)}, float64(r.fail(d.failures)))
	r.add(lostLine(), 0)
}

func (r *failoverReport) addWipe(x *wiped) {
	r.add(failoverMeasure{Name: "emptied disk: replica of all shards", Unit: "s"}, x.whole.Seconds())
	r.add(failoverMeasure{Name: "emptied disk: rate kept meanwhile", Unit: "%", LessIsWorse: true, P50Target: bound(80)},
		100*x.meanwhile/x.before)
	r.add(failoverMeasure{Name: "emptied disk: failed requests", WorstTarget: bound(0)}, float64(r.fail(x.failures)))
	r.add(lostLine(), 0)
}

// lostLine is the line of lost increments. A fault that loses one ends the measurement with an error.
func lostLine() failoverMeasure {
	return failoverMeasure{Name: "acknowledged increments lost", WorstTarget: bound(0)}
}

func (r *failoverReport) fail(errs []error) int {
	for _, err := range errs {
		r.failures[err.Error()]++
	}
	return len(errs)
}

func (r *failoverReport) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "\nMEASURE\tFAULTS\tP50\tWORST\tASKED\n")
	for _, m := range r.lines {
		m.summarize()
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\n", m.Name, m.Count, m.number(m.P50), m.number(m.Worst), m.asked())
	}
	for _, text := range slices.Sorted(maps.Keys(r.failures)) {
		fmt.Fprintf(tw, "%d requests failed:\t%s\n", r.failures[text], text)
	}
	return tw.Flush()
}

// write writes the table to a file as JSON; an empty path writes nothing.
func (r *failoverReport) write(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(struct {
		Command  string             `json:"command"`
		Measured string             `json:"measured"`
		CPUs     int                `json:"cpus"`
		Lines    []*failoverMeasure `json:"lines"`
	}{"go run ./test/bench failover", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), r.lines}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
