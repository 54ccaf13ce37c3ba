package main

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/cli/identity"
	"github.com/linchpindb/linchpin/pkg/load/experiment/bothreaders"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// ownNodes is how many nodes a cluster in this process has.
const ownNodes = 3

// The times of each run of --both-readers, unless they are given.
const (
	ownWarmup   = 500 * time.Millisecond
	ownDuration = 3 * time.Second
)

// notCompared rejects flags that need --both-readers.
func (f *runFlags) notCompared(c *cobra.Command) error {
	if i := slices.IndexFunc(sharingFlags, c.Flags().Changed); i >= 0 {
		return usage("--%s needs --both-readers; for another cluster it is a flag of linchpin start", sharingFlags[i])
	}
	if c.Flags().Changed("rounds") {
		return usage("--rounds needs --both-readers")
	}
	return nil
}

// compareReaders runs the workload on a cluster with snapshot reads and on one with locking reads.
func (f *runFlags) compareReaders(c *cobra.Command, env environment) (err error) {
	changed := c.Flags().Changed
	for _, flag := range append([]string{"addr", "connections", "history", "json", "fresh-keys", "prefix"},
		identity.Names...) {
		if changed(flag) {
			return usage("--%s cannot be used with --both-readers, which starts new clusters in this process", flag)
		}
	}
	if f.rounds < 1 {
		return usage("--rounds is %d, want 1 or more", f.rounds)
	}
	dir, err := os.MkdirTemp("", "zetaload-")
	if err != nil {
		return failed("%w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o := bothreaders.Options{Dir: dir, Nodes: ownNodes, Rounds: f.rounds, Sharing: f.sharing, Progress: env.err,
		Mixes: f.mixes(changed)}
	for i := range o.Mixes {
		m := &o.Mixes[i]
		m.Seed = f.options.Seed
		if !changed("warmup") {
			m.Warmup = ownWarmup
		}
		if !changed("duration") && !changed("count") {
			m.Duration = ownDuration
		}
	}
	rows, err := bothreaders.Run(c.Context(), o)
	if err != nil {
		return failed("%w", err)
	}
	return bothreaders.Write(env.out, rows)
}

// mixes are those of the SSS paper if its name is the only flag, else the one of the flags.
func (f *runFlags) mixes(changed func(string) bool) []workload.NamedOptions {
	parts := append([]string{"keys", "skew", "ops", "read-keys", "locality", "distinct", "interactive",
		"interactive-reads"}, shares...)
	if f.workload != "sss" || slices.ContainsFunc(parts, changed) {
		return []workload.NamedOptions{{Name: f.workload, Options: f.options}}
	}
	all := workload.SSSMixes(ownNodes)
	for i := range all {
		own := all[i].Options
		all[i].Options = f.options
		o := &all[i].Options
		o.Keys, o.Skew, o.Mix, o.ReadKeys, o.Locality = own.Keys, own.Skew, own.Mix, own.ReadKeys, own.Locality
	}
	return all
}
