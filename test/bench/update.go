package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// updateOptions are those of the comparison of read-modify-writes.
type updateOptions struct {
	*options
	clients []int
	skews   []float64
	settle  time.Duration
	fsync   bool
}

func updateCommand(o *options) *cobra.Command {
	u := updateOptions{options: o}
	c := &cobra.Command{
		Use:   "update",
		Short: "Read, think and write in Update, with locks at the first read and without",
		Long: `A cluster of three nodes, in this process, that clients reach by gRPC. Each
transaction is an Update whose function reads one key and puts it: the README's
example. Keys follow a zeta law; those that are hot move to the hot shard by
themselves.

What is compared, in turn: the first read of a contended key that is likely to be
written takes the lock for that (on), or reads without a lock (off). Beside it the
same with GetForUpdate, which the client asks for, and with keys that all have the
same chance, of which none is contended.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return updates(c.Context(), c.OutOrStdout(), &u) },
	}
	f := c.Flags()
	f.IntSliceVar(&u.clients, "clients", []int{16, 64}, "clients")
	f.Float64SliceVar(&u.skews, "skews", []float64{1.2, 2, 0}, "skews; 0 is uniform")
	f.DurationVar(&u.settle, "settle", 3*time.Second, "how long keys have to move by themselves, besides --warm, once")
	f.BoolVar(&u.fsync, "fsync", true, "with fsync")
	return c
}

// updated is a cluster with clients for Update.
type updated struct {
	*embed.Cluster
	db   *client.DB
	dir  string
	keys []string
}

func startUpdated(ctx context.Context, u *updateOptions, dir string, lockless bool) (*updated, error) {
	dir, err := os.MkdirTemp(dir, "cluster")
	if err != nil {
		return nil, err
	}
	c := &updated{dir: dir, keys: keys(u.keys)}
	c.Cluster, err = embed.StartCluster(embed.ClusterOptions{Dir: dir, NoSync: !u.fsync, Listen: true,
		CacheBytes: 64 << 20, Protocol: embed.Protocol{Hot: hotshard.ModeAuto, NoEarlyLocks: lockless}})
	if err != nil {
		return nil, err
	}
	c.db, err = client.Open(ctx, c.Addrs())
	if err != nil {
		return c, err
	}
	return c, load(ctx, c.db, c.keys)
}

func (c *updated) close(ctx context.Context) error {
	var errs []error
	if c.db != nil {
		errs = append(errs, c.db.Close())
	}
	return errors.Join(append(errs, c.Stop(ctx), os.RemoveAll(c.dir))...)
}

// reader reads a key in an Update.
type reader func(*client.Tx, context.Context, string) ([]byte, bool, error)

// updateReads are readers by name.
var updateReads = []struct {
	name string
	get  reader
}{
	{"Get", (*client.Tx).Get},
	{"GetForUpdate", (*client.Tx).GetForUpdate},
}

func updates(ctx context.Context, w io.Writer, u *updateOptions) (err error) {
	dir, remove, err := u.workDir()
	if err != nil {
		return err
	}
	defer remove()
	both := map[string]*updated{}
	defer func() {
		for _, c := range both {
			err = errors.Join(err, c.close(context.WithoutCancel(ctx)))
		}
	}()
	for name, lockless := range map[string]bool{"on": false, "off": true} {
		both[name], err = startUpdated(ctx, u, dir, lockless)
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "Update of one of %d keys: read, then put; three nodes, fsync: %v\n", u.keys, u.fsync)
	for _, skew := range u.skews {
		for _, clients := range u.clients {
			if err := u.compare(ctx, w, both, skew, clients); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare measures all variants with so many clients.
func (u *updateOptions) compare(ctx context.Context, w io.Writer, both map[string]*updated, skew float64,
	clients int) error {
	fmt.Fprintf(w, "\n%d clients, skew %v:\n", clients, skew)
	pick, err := zipf.NewPicker(zipf.Options{Keys: uint64(u.keys), Skew: skew, Seed: 1})
	if err != nil {
		return err
	}
	retries := rounds.Series{}
	var vs []rounds.Variant
	var names []string
	for _, read := range updateReads {
		for _, mode := range []string{"on", "off"} {
			name := read.name + ", " + mode
			names = append(names, name)
			vs = append(vs, rounds.Variant{Name: name, Run: func() (float64, error) {
				l, again, err := both[mode].updates(ctx, u, pick, clients, read.get)
				retries[name] = append(retries[name], again)
				return l.PerSecond(), err
			}})
		}
	}
	s, err := rounds.Run(u.rounds, w, u.selected(vs...)...)
	if err != nil {
		return err
	}
	if err := rounds.Print(w, "per second", s, targetsOf(s, retries, skew == 0), names...); err != nil {
		return err
	}
	return rounds.Print(w, "retries a commit", retries, nil, names...)
}

// targetsOf holds what was measured against the targets.
func targetsOf(s, retries rounds.Series, uniform bool) []rounds.Target {
	on, off := updateReads[0].name+", on", updateReads[0].name+", off"
	rate := rounds.Target{What: "on / off, Get", AtLeast: 2}
	rate.Got, rate.Low, rate.High = s.Ratio(on, off)
	if uniform {
		rate.AtLeast = 0.9
	}
	again := rounds.Target{What: "retries a commit, Get, on", Got: rounds.Median(retries[on]), AtMost: 0.05}
	again.Low, again.High = again.Got, again.Got
	return []rounds.Target{rate, again}
}

// updates measures one variant, and how many runs of the function were in vain for
// each that committed.
func (c *updated) updates(ctx context.Context, u *updateOptions, pick *zipf.Picker, clients int,
	get reader) (l rounds.Load, retries float64, err error) {
	var runs, done atomic.Int64
	begin := time.Now()
	once := func(ctx context.Context, _ int) error {
		tries := int64(0)
		key := c.keys[pick.Pick(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), 0)]
		err := c.db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			tries++
			have, _, err := get(tx, ctx, key)
			if err != nil {
				return err
			}
			value := bytes.Clone(have)
			value[0]++
			return tx.Put(ctx, key, value)
		})
		if time.Since(begin) > u.warm+u.settle {
			runs.Add(tries)
			done.Add(1)
		}
		return err
	}
	l, err = rounds.Loop{Callers: clients, Warm: u.warm + u.settle, Measure: u.measure, Do: once}.Run(ctx)
	return l, float64(runs.Load()-done.Load()) / float64(max(done.Load(), 1)), err
}
