package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/linchpindb/linchpin/test/bench/rounds"
	"github.com/linchpindb/linchpin/test/compare/stores"
)

// run starts the stores, measures them, and ends them.
func run(ctx context.Context, w io.Writer, o *options) (err error) {
	dir, err := os.MkdirTemp(o.dir, "linchpin-compare-")
	if err != nil {
		return err
	}
	// Servers end first, so that no server writes what is being removed.
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o711); err != nil { // some servers run as another user
		return err
	}
	kinds, paths, err := programs(ctx, w, o, o.kinds(), dir)
	if err != nil {
		return err
	}
	var servers []*stores.Server
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.Stop())
		}
	}()
	for _, k := range kinds {
		s, err := k.Start(ctx, stores.Place{Dir: filepath.Join(dir, k.Key), Clients: o.clients, Programs: paths})
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	if err := introduce(w, o, dir, servers); err != nil {
		return err
	}
	return compare(ctx, w, o, servers)
}

// introduce prints what is compared, and on what.
func introduce(w io.Writer, o *options, dir string, servers []*stores.Server) error {
	fmt.Fprintf(w, "One counter, %d clients, each of which waits for its answer; %d rounds of %v after %v, stores in "+
		"turn; %d cores, %s\n",
		o.clients, o.rounds, o.measure, o.warm, runtime.NumCPU(), runtime.GOARCH)
	took, err := fsyncTakes(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "An fsync of a file that has grown by %d bytes takes %.3f ms here, the median of %d\n", grownBy,
		took.Seconds()*1000, fsyncs)
	if took < tooFast {
		fmt.Fprintln(w, "That is no disk: an answer after such an fsync means nothing. Name a directory on one with the "+
			"flag dir.")
	}
	for _, s := range servers {
		fmt.Fprintf(w, "\n%s %s\n  durable: %s\n  client: %s\n", s.Name, s.Version, s.Durable, s.Client)
		for _, way := range s.Ways {
			fmt.Fprintf(w, "  %q: %s\n", way.Name, way.What)
		}
	}
	fmt.Fprintln(w)
	return nil
}

// compare measures the ways of all servers in turn and prints the table.
func compare(ctx context.Context, w io.Writer, o *options, servers []*stores.Server) error {
	var meters []*meter
	var variants []rounds.Variant
	for _, s := range servers {
		for _, way := range s.Ways {
			m := &meter{o: o, server: s, way: way}
			meters = append(meters, m)
			variants = append(variants, rounds.Variant{Name: way.Name, Run: func() (float64, error) { return m.measure(ctx) }})
		}
	}
	series, err := rounds.Run(o.rounds, w, variants...)
	if err != nil {
		return err
	}
	if err := figures(o, series, meters).Write(o.json); err != nil {
		return err
	}
	return report(w, o, series, meters)
}
