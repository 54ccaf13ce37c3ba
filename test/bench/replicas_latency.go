package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/bench/echo"
	"github.com/linchpindb/linchpin/test/bench/rounds"
)

// echoServer echoes requests and responses of puts, for one caller.
type echoServer struct {
	*child
	*echo.Client
}

func startEcho(ctx context.Context) (e *echoServer, err error) {
	_, answer := echo.Sizes(valueBytes)
	e = &echoServer{}
	e.child, err = self(ctx, "echo", "--raw-bytes", strconv.Itoa(answer))
	if err != nil {
		return nil, err
	}
	e.Client, err = echo.Dial(e.addr, 1, valueBytes)
	if err != nil {
		return nil, errors.Join(err, e.stop())
	}
	return e, nil
}

func (e *echoServer) close() error {
	_ = e.Close()
	return e.stop()
}

// fsyncs appends to a file of its own, and syncs it.
type fsyncs struct {
	*os.File
	entry []byte
}

func newFsyncs(dir string) (*fsyncs, error) {
	file, err := os.Create(filepath.Join(dir, "alone"))
	return &fsyncs{file, make([]byte, 400)}, err
}

func (f *fsyncs) do(context.Context, int) error {
	if _, err := f.Write(f.entry); err != nil {
		return err
	}
	return fdatasync(f.File)
}

// The names of the variants of latency, and of what is computed from them.
const (
	oneReplica, threeReplicas, trip, oneFsync = "one replica", "three replicas", "round trip", "one fsync"
	more, allowed                             = "three - one", "round trip + fsync"
)

// latency compares puts of one client, to keys of shards that its node leads, with one replica and with three.
func (c *compared) latency(ctx context.Context, w io.Writer) error {
	disk, err := newFsyncs(c.dir)
	if err != nil {
		return err
	}
	defer disk.Close()
	p50 := func(name string, do func(context.Context, int) error) rounds.Variant {
		return rounds.Variant{Name: name, Run: func() (float64, error) {
			l, err := rounds.Loop{Callers: 1, Warm: c.h.warm / 2, Measure: c.h.measure, Latencies: true, Do: do}.Run(ctx)
			return float64(l.P50.Microseconds()) / 1000, err
		}}
	}
	db, keys, err := c.ledByOne(ctx)
	if err != nil {
		return err
	}
	put := func(db *client.DB) func(context.Context, int) error {
		n := 0
		return func(ctx context.Context, _ int) error {
			n++
			return db.Put(ctx, keys[n%len(keys)], make([]byte, valueBytes))
		}
	}
	vs := c.h.selected(p50(oneReplica, put(c.one.db)), p50(threeReplicas, put(db)), p50(trip, c.echo.Stream),
		p50(oneFsync, disk.do))
	if len(vs) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n1 client, puts of %d bytes, milliseconds, medians of each round:\n", valueBytes)
	s, err := rounds.Run(c.h.rounds, w, vs...)
	if err != nil {
		return err
	}
	addMore(s)
	r, lo, hi := s.Ratio(more, allowed)
	return rounds.Print(w, "ms", s, []rounds.Target{{
		What: "(three - one) / (round trip + fsync)", Got: r, Low: lo, High: hi,
		AtMost: 1, Note: fmt.Sprintf("file grown by %d bytes", len(disk.entry))}},
		oneReplica, threeReplicas, trip, oneFsync, more, allowed)
}

// addMore adds to each round what three replicas cost more than one, and what they may cost.
func addMore(s rounds.Series) {
	for i := range min(len(s[oneReplica]), len(s[threeReplicas]), len(s[trip]), len(s[oneFsync])) {
		s[more] = append(s[more], s[threeReplicas][i]-s[oneReplica][i])
		s[allowed] = append(s[allowed], s[trip][i]+s[oneFsync][i])
	}
}

// ledByOne returns the client of the node that leads the most shards, with keys of these.
func (c *compared) ledByOne(ctx context.Context) (*client.DB, []string, error) {
	leaders, err := c.three.leaders(ctx)
	if err != nil {
		return nil, nil, err
	}
	node := choice(leaders, c.three.router.HotShard(), len(c.three.nodes), true)
	var out []string
	for _, k := range keys(300) {
		if leaders[c.three.router.Shard([]byte(k))] == node {
			out = append(out, k)
		}
	}
	return c.three.dbs[node-1], out, nil
}
