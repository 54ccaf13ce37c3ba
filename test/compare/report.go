package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/linchpindb/linchpin/test/bench/rounds"
	"github.com/linchpindb/linchpin/test/compare/stores"
)

// heads are the columns of the table.
var heads = []string{"counter", "increments/s", "least", "most", "p50 ms", "p99 ms", "server µs", "client µs",
	"linchpin does", "asked"}

// report prints the table, and that all counters held what they had to.
func report(w io.Writer, o *options, s rounds.Series, meters []*meter) error {
	table := [][]string{heads}
	for _, m := range meters {
		table = append(table, row(s, m))
	}
	fmt.Fprintf(w, "\nMedians of %d interleaved rounds. Latencies are those of whole increments, tries that lost "+
		"included; µs are of processor time\n"+
		"for each increment, of the server and of the client's side. The last columns are how many times as many "+
		"linchpin's blind adds\n"+
		"were as this, in the median of the rounds and between them, and what is asked of that.\n\n", o.rounds)
	write := plain
	if o.markdown {
		write = markdown
	}
	if err := write(w, table); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nEach counter was read after each round, and held what had been acknowledged:")
	for _, m := range meters {
		fmt.Fprintf(w, "  %s: %d acknowledged, %d unknown\n", m.way.Name, m.acknowledged.Load(), m.unknown.Load())
	}
	return nil
}

// figures are the rates, and how many times as many linchpin's blind adds were.
func figures(o *options, s rounds.Series, meters []*meter) rounds.Figures {
	var names []string
	for _, m := range meters {
		names = append(names, m.way.Name)
	}
	return rounds.NewFigures("make compare", o.rounds, s, func(string) string { return stores.LinchpinName }, names...)
}

// row is the line of one way to count.
func row(s rounds.Series, m *meter) []string {
	rates := s[m.way.Name]
	out := []string{m.way.Name, rounds.Number(rounds.Median(rates)), rounds.Number(slices.Min(rates)),
		rounds.Number(slices.Max(rates))}
	for _, xs := range [][]float64{m.p50, m.p99, m.serverCPU, m.clientCPU} {
		out = append(out, rounds.Number(rounds.Median(xs)))
	}
	times, asked := against(s, m.way)
	return append(out, times, asked)
}

// against holds linchpin's blind adds against a way to count.
func against(s rounds.Series, way stores.Way) (times, asked string) {
	ratio, low, high := s.Ratio(stores.LinchpinName, way.Name)
	if ratio == 0 || way.Name == stores.LinchpinName {
		return "", "" // linchpin was not run, or is this one
	}
	times = fmt.Sprintf("%s× (%s to %s)", rounds.Number(ratio), rounds.Number(low), rounds.Number(high))
	switch {
	case way.AtLeast == 0:
		return times, ""
	case ratio >= way.AtLeast:
		return times, fmt.Sprintf("≥ %g, met", way.AtLeast)
	}
	return times, fmt.Sprintf("≥ %g, MISSED", way.AtLeast)
}

// plain writes a table for a terminal.
func plain(w io.Writer, table [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, line := range table {
		fmt.Fprintln(tw, strings.Join(line, "\t"))
	}
	return tw.Flush()
}

// markdown writes a table for a page.
func markdown(w io.Writer, table [][]string) error {
	for i, line := range table {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(line, " | ")); err != nil {
			return err
		}
		if i == 0 {
			fmt.Fprintln(w, strings.Repeat("|---", len(line))+"|")
		}
	}
	return nil
}
