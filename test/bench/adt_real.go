package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/pkg/workload/app"
	"github.com/linchpindb/linchpin/pkg/workload/clientstore"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// realDelay is the time of a message between real nodes, one way.
const realDelay = 200 * time.Microsecond

// real runs the raw mixes on clusters in this process, one after the other.
func (a *adtOptions) real(ctx context.Context, w io.Writer) error {
	dir, remove, err := a.workDir()
	if err != nil {
		return err
	}
	defer remove()
	fmt.Fprintf(w, "\nThree real nodes in this process, %d shards, no fsync, %v one way, %d clients over gRPC, keys "+
		"stay; transactions per second:\n", a.shards, realDelay, paperClients)
	var vs []rounds.Variant
	var names []string
	var targets [][2]string
	for _, l := range a.loads() {
		if !strings.HasPrefix(l.name, "raw-mix") || !strings.Contains(l.name, a.only) {
			continue
		}
		for _, v := range adtVariants[:variantPaper] {
			name := v.name + ", " + l.name
			names = append(names, name)
			vs = append(vs, rounds.Variant{Name: name, Run: func() (float64, error) { return a.realRun(ctx, dir, &l, v) }})
		}
		targets = append(targets, [2]string{names[len(names)-3], names[len(names)-2]},
			[2]string{names[len(names)-3], names[len(names)-1]})
	}
	s, err := rounds.Run(a.realRounds, w, vs...)
	if err != nil {
		return err
	}
	var ts []rounds.Target
	for _, t := range targets {
		r, lo, hi := s.Ratio(t[0], t[1])
		ts = append(ts, rounds.Target{What: t[0] + " / " + strings.SplitN(t[1], ",", 2)[0], Got: r, Low: lo, High: hi})
	}
	return rounds.Print(w, "per second", s, ts, names...)
}

// realRun runs a load on a cluster of its own, and has it checked.
func (a *adtOptions) realRun(ctx context.Context, dir string, l *adtLoad, v adtVariant) (perSecond float64, err error) {
	dir, err = os.MkdirTemp(dir, "adt")
	if err != nil {
		return 0, err
	}
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: dir, Listen: true, Shards: a.shards, Order: l.order(),
		Delay: realDelay, NoSync: true,
		CacheBytes: 64 << 20, Hot: hotshard.ModeOff, Sharing: v.sharing})
	if err != nil {
		return 0, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		err = errors.Join(err, c.Stop(ctx), os.RemoveAll(dir))
	}()
	s, err := clientstore.Open(ctx, c.Addrs(), 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	x, err := l.make(app.Env{DB: s.Calls(), Prefix: appPrefix, Clients: paperClients, Seed: 1, OneByOne: v.oneByOne})
	if err != nil {
		return 0, err
	}
	r, err := app.Run(ctx, x, workload.Options{Clients: paperClients, Warmup: time.Second, Duration: a.realSpan, Seed: 1},
		nil)
	if err != nil {
		return 0, err
	}
	return float64(r.All.Committed) / r.ElapsedS, nil
}

// appPrefix begins keys; each cluster is new.
const appPrefix = "adt/"
