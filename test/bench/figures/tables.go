package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/linchpindb/linchpin/pkg/load/experiment/hotornot"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// The names of the variants that the tables quote, as the comparisons call them.
const (
	hotLast, parallel = "hot-last, increments that return", "parallel, increments that return"
	counter           = "linchpin, add"
)

// beside are the stores that the short table quotes, and what it calls them.
var beside = []struct{ name, label string }{
	{"PostgreSQL", "PostgreSQL"}, {"etcd, get and compare", "etcd CAS"}, {"Redis", "Redis"},
}

// tables are the texts of all tables by name.
func (m *measured) tables() (map[string]string, error) {
	figures, err := m.figures()
	if err != nil {
		return nil, err
	}
	return map[string]string{"figures": figures, "counter": m.counter()}, nil
}

// figures is the short table.
func (m *measured) figures() (string, error) {
	skew, err := m.latency()
	if err != nil {
		return "", err
	}
	hot, err := row(m.hot, hotLast)
	if err != nil {
		return "", err
	}
	orders, err := row(m.hot, parallel)
	if err != nil {
		return "", err
	}
	add, err := row(m.compare, counter)
	if err != nil {
		return "", err
	}
	var others []string
	for _, o := range beside {
		r, err := row(m.compare, o.name)
		if err != nil {
			return "", err
		}
		others = append(others, fmt.Sprintf("%s × %s", ratio(r.Times), o.label))
	}
	var b strings.Builder
	b.WriteString("| workload | linchpin | compared with | command |\n|---|---|---|---|\n")
	fmt.Fprintf(&b, "| one hot key in every transaction, 64 clients | %s/s | %s × two-phase commit | `%s` |\n",
		rate(hot.Per), ratio(orders.Times), m.hot.Command)
	fmt.Fprintf(&b, "%s\n", skew)
	fmt.Fprintf(&b, "| one durable counter, 64 clients | %s/s | %s | `%s` |\n", rate(add.Per), strings.Join(others, ", "),
		m.compare.Command)
	fmt.Fprintf(&b, "\nMedians of interleaved rounds on %d shared cores; 1 ms between nodes in the first two rows; %s.\n",
		m.compare.CPUs, m.compare.Measured)
	return b.String(), nil
}

// latency is the line of the plot's last skew.
func (m *measured) latency() (string, error) {
	all := m.skew.Measured()
	if len(all) == 0 {
		return "", fmt.Errorf("nothing was measured of latency by skew")
	}
	last := all[len(all)-1].Skew
	var own, base *hotornot.Point
	for _, p := range all {
		switch {
		case p.Skew == last && p.Mode.Auto:
			own = p
		case p.Skew == last && p.Mode.TwoPhaseCommit:
			base = p
		}
	}
	if own == nil || base == nil {
		return "", fmt.Errorf("skew %v was not measured in the modes auto and 2pc", last)
	}
	return fmt.Sprintf("| p50, ten keys per transaction, Zipf %v | %.3g ms | two-phase commit: %.3g ms | `%s` |",
		last, own.Median.P50, base.Median.P50, "zetaload experiment hot-or-not"), nil
}

// counter is the long table of one counter.
func (m *measured) counter() string {
	var b strings.Builder
	b.WriteString("| one counter, 64 clients, fsync on | increments/s (least to most) | linchpin does |\n|---|---|---|\n")
	for _, r := range m.compare.Rows {
		times := ""
		if r.Times > 0 {
			times = fmt.Sprintf("%s times (%s to %s)", ratio(r.Times), ratio(r.TimesLeast), ratio(r.TimesMost))
		}
		fmt.Fprintf(&b, "| %s | %s (%s to %s) | %s |\n", r.Name, rate(r.Per), rate(r.Least), rate(r.Most), times)
	}
	fmt.Fprintf(&b, "\nMedians of %d interleaved rounds on %d shared cores, %s: `%s`.\n",
		m.compare.Rounds, m.compare.CPUs, m.compare.Measured, m.compare.Command)
	return b.String()
}

// row finds a variant.
func row(f rounds.Figures, name string) (rounds.Figure, error) {
	for _, r := range f.Rows {
		if r.Name == name {
			return r, nil
		}
	}
	return rounds.Figure{}, fmt.Errorf("%q was not measured by %q", name, f.Command)
}

// rate prints a number a second with three digits that matter and separators of thousands.
func rate(x float64) string {
	if x >= 100 {
		step := math.Pow(10, math.Floor(math.Log10(x))-2)
		x = math.Round(x/step) * step
	}
	text := fmt.Sprintf("%.0f", x)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// ratio prints a ratio with two digits that matter.
func ratio(x float64) string {
	switch {
	case x >= 10:
		return fmt.Sprintf("%.0f", x)
	case x >= 2:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}
