package embed_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// collecting is a cluster whose keys are only ever updated.
type collecting struct {
	*embed.Cluster
	t       *testing.T
	dir     string
	keys    []string
	updates atomic.Int64
}

const updated = 240 // keys, so many

func newCollecting(t *testing.T) *collecting {
	t.Helper()
	x := &collecting{t: t, dir: t.TempDir()}
	var err error
	x.Cluster, err = embed.StartCluster(embed.ClusterOptions{Dir: x.dir, HotKeys: [][]byte{[]byte("k000"), []byte("k001")},
		NoSync: true, Protocol: embed.Protocol{Hot: hotshard.ModePinned, History: 10 * grain, HistoryEvery: grain}})
	require.NoError(t, err)
	for i := range updated {
		x.keys = append(x.keys, fmt.Sprintf("k%03d", i))
	}
	x.put(0)
	return x
}

// put updates all keys, in several transactions.
func (x *collecting) put(round int) {
	x.t.Helper()
	const at = 24
	for from := 0; from < updated; from += at {
		var ops []msg.Op
		for _, k := range x.keys[from : from+at] {
			ops = append(ops, msg.Op{Kind: msg.OpPut, Key: []byte(k), Value: fmt.Appendf(nil, "%d", round)})
		}
		r := execute(x.t, x.Cluster, kv.NodeID(round%3+1), ops...)
		require.Nil(x.t, r.Err, "%v", r.Err)
		x.updates.Add(at)
	}
}

// notes counts the versions that were replaced and are still there.
func (x *collecting) notes() (n int) {
	for id := kv.NodeID(1); id <= 3; id++ {
		for _, s := range x.Node(id).ShardStats(0) {
			n += s.Garbage
		}
	}
	return n
}

func (x *collecting) awaitNotes(want int, why string) {
	x.t.Helper()
	until(x.t, func() string {
		if n := x.notes(); n != want {
			out := fmt.Sprintf("%s: there are %d replaced versions, want %d:", why, n, want)
			for id := kv.NodeID(1); id <= 3; id++ {
				for _, s := range x.Node(id).ShardStats(0) {
					if s.Garbage > 0 {
						out += fmt.Sprintf(" %v at CSN %d has %d;", s.Shard, s.CSN, s.Garbage)
					}
				}
			}
			return out
		}
		return ""
	})
}

// stop ends the cluster and counts the versions of each key, tombstones among
// them.
func (x *collecting) stop() map[string]int {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	require.NoError(x.t, x.Stop(ctx))
	versions := map[string]int{}
	stores := map[kv.NodeID]*pebblestore.Store{}
	for id := kv.NodeID(1); id <= 3; id++ {
		s, err := pebblestore.Open(filepath.Join(x.dir, fmt.Sprintf("n%d", id)), pebblestore.Small())
		require.NoError(x.t, err)
		stores[id] = s
	}
	for _, k := range x.keys {
		shard := x.Router().Shard([]byte(k))
		for at := kv.CSN(1<<63 - 1); ; {
			r := stores[x.Router().Node(shard)].Read(shard, entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion,
				Key: []byte(k), CSN: at})
			require.NoError(x.t, r.Err)
			if len(r.Rows) == 0 {
				break
			}
			versions[k]++
			at = r.Rows[0].CSN - 1
		}
	}
	for _, s := range stores {
		require.NoError(x.t, s.Close())
	}
	return versions
}

// collectedWithin is how soon a version is gone that cannot be read any more:
// it is in the history, then its shard is notified that it is not, and collects once
// a second. The rest is for machines that do other things as well.
const collectedWithin = 10*grain + 2*grain + time.Second + 2*time.Second

// TestUpdatesLeaveNothingBehind: while keys are updated, the versions that are
// kept are those of the last few seconds only. In the end there is one of each
// key, and none of what was deleted.
func TestUpdatesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	x := newCollecting(t)
	type sample struct {
		at      time.Time
		updates int64
	}
	var samples []sample
	begin, round := time.Now(), 1
	for ; time.Since(begin) < 2*collectedWithin || round <= 20; round++ { // a slow machine takes longer
		x.put(round)
		now := sample{time.Now(), x.updates.Load()}
		for len(samples) > 0 && now.at.Sub(samples[0].at) > collectedWithin {
			recent := now.updates - samples[0].updates
			require.LessOrEqual(t, int64(x.notes()), recent+int64(updated), "older versions are kept")
			samples = samples[1:]
		}
		samples = append(samples, now)
	}
	t.Logf("%d updates in %v", x.updates.Load(), time.Since(begin))
	gone := x.keys[:updated/4]
	for _, k := range gone {
		require.Nil(t, execute(t, x.Cluster, 1, msg.Op{Kind: msg.OpDelete, Key: []byte(k)}).Err)
	}
	x.awaitNotes(0, "nobody writes any more")
	versions := x.stop()
	for i, k := range x.keys {
		want := 1
		if i < len(gone) {
			want = 0
		}
		require.Equal(t, want, versions[k], k)
	}
}

// TestASnapshotKeepsOneVersionOfEachKey: beside the newest one, for as long as
// it is there, however many states the history has had since.
func TestASnapshotKeepsOneVersionOfEachKey(t *testing.T) {
	t.Parallel()
	for _, dropped := range []bool{false, true} {
		t.Run(map[bool]string{false: "kept", true: "dropped"}[dropped], func(t *testing.T) {
			t.Parallel()
			x := newCollecting(t)
			x.put(1)
			_, err := x.Node(2).Gateway().CreateSnapshot(soon(t), "s", time.Hour)
			require.NoError(t, err)
			begin, round := time.Now(), 2
			for ; round < 10 || time.Since(begin) < 20*grain; round++ {
				x.put(round)
			}
			x.awaitNotes(updated, "a snapshot needs them")
			r := x.Node(3).Gateway().Execute(soon(t), gateway.Request{Ops: []msg.Op{{Kind: msg.OpScan}},
				How: txn.TxnOptions{At: txn.SnapshotRef{Name: "s"}}})
			require.Nil(t, r.Err, "%v", r.Err)
			require.Len(t, r.Results[0].Pairs, updated)
			for _, p := range r.Results[0].Pairs {
				require.Equal(t, "1", string(p.Value))
			}
			want := 2
			if dropped {
				_, err := x.Node(1).Gateway().DropSnapshot(soon(t), txn.SnapshotRef{Name: "s"})
				require.NoError(t, err)
				x.awaitNotes(0, "the snapshot was dropped")
				want = 1
			}
			for k, n := range x.stop() {
				require.Equal(t, want, n, k)
			}
		})
	}
}
