package logtest

import (
	"math/rand/v2"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// drawRecord draws a record that a replica may write, and applies it to its model.
func drawRecord(r *rand.Rand, ms models) raftlog.Record {
	shard := kv.ShardID(r.IntN(groups))
	m := ms[shard]
	rec := raftlog.Record{Shard: shard, Replica: m.replica}
	switch k := r.IntN(20); {
	case m.replica == 0 || m.destroyed || k == 0:
		rec.Replica += 1 + consensus.ReplicaID(r.IntN(2))
		term := 1 + r.Uint64N(3)
		rec.Write = begin(1+r.Uint64N(20), term)
	case k == 1:
		rec.Destroy = true
	case k < 4 && m.hard.Commit > m.begin():
		rec.Truncate = consensus.Position(m.begin() + 1 + r.Uint64N(m.hard.Commit-m.begin()))
	case k < 6:
		at := m.hard.Commit + 1 + r.Uint64N(m.last()-m.hard.Commit+5)
		rec.Write = begin(at, m.hard.Term+r.Uint64N(2))
	case k < 8:
		rec.Write = &consensus.Write{HardState: raftpb.HardState{Term: m.hard.Term + 1, Vote: r.Uint64N(4),
			Commit: m.hard.Commit}}
	default:
		rec.Write = drawEntries(r, m)
		if k < 10 {
			rec.Truncate = consensus.Position(rec.Write.HardState.Commit)
		}
	}
	m.apply(&rec)
	return rec
}

// begin begins a log after an entry.
func begin(index, term uint64) *consensus.Write {
	return &consensus.Write{HardState: raftpb.HardState{Term: term, Commit: index},
		Snapshot: &raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{Index: index, Term: term}}}
}

// drawEntries draws entries at the end of a log, or that replace others which are not committed.
func drawEntries(r *rand.Rand, m *model) *consensus.Write {
	first, term := m.last()+1, m.hard.Term
	if r.IntN(3) == 0 {
		first, term = m.hard.Commit+1+r.Uint64N(m.last()-m.hard.Commit+1), term+1
	}
	w := &consensus.Write{}
	for i := range 1 + r.Uint64N(5) {
		e := raftpb.Entry{Index: first + i, Term: term}
		switch r.IntN(5) {
		case 0: // a term entry is empty
		case 1:
			e.Type = raftpb.EntryConfChangeV2
			fallthrough
		default:
			e.Data = make([]byte, r.IntN(200))
			for j := range e.Data {
				e.Data[j] = byte(r.Uint32())
			}
		}
		if len(e.Data) == 0 {
			e.Data = nil
		}
		w.Entries = append(w.Entries, e)
	}
	last := w.Entries[len(w.Entries)-1].Index
	w.HardState = raftpb.HardState{Term: term, Vote: r.Uint64N(4), Commit: m.hard.Commit + r.Uint64N(last-m.hard.Commit+1)}
	return w
}

const (
	runs   = 30
	rounds = 100
)

// randomRecords writes random records of several groups, with crashes, and compares all that can be read.
func randomRecords(t TB, open func() Disk, broken mutant.Set) {
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := &comparison{n: newNode(open(), broken, 1+r.IntN(1000)), now: newModels()}
		c.since = []models{c.now.clone()}
		for range rounds {
			c.round(t, r)
		}
	}
}

// comparison compares a store with models. since are the models after each write from the last durable one on.
type comparison struct {
	n     *node
	now   models
	since []models
	at    engine.Position
}

func (c *comparison) round(t TB, r *rand.Rand) {
	switch r.IntN(12) {
	case 0:
		c.crash(t, r)
	case 1, 2, 3:
		require.NoError(t, c.n.disk.Sync(c.at))
		c.since = c.since[len(c.since)-1:]
	case 4:
		c.n.reopen()
		c.at = 0 // positions are those of an open engine
		c.since = c.since[len(c.since)-1:]
	default:
		require.Equal(t, c.now.String(), readAll(t, c.n.store)) // which opens the logs
		records := make([]raftlog.Record, 1+r.IntN(4))
		for i := range records {
			records[i] = drawRecord(r, c.now)
		}
		var err error
		c.at, err = c.n.store.Write(records)
		require.NoError(t, err)
		c.since = append(c.since, c.now.clone())
	}
	require.Equal(t, c.now.String(), readAll(t, c.n.store))
}

// crash checks that a prefix of the writes is left, with all that were durable.
func (c *comparison) crash(t TB, r *rand.Rand) {
	c.n.disk.Crash(r)
	c.n.start()
	c.at = 0
	got := readAll(t, c.n.store)
	for _, ms := range c.since {
		if ms.String() == got {
			c.now, c.since = ms.clone(), []models{ms}
			return
		}
	}
	require.Equal(t, c.now.String(), got, "the logs are none of those that were written since the last durable one")
}

// crashAfterEachWrite crashes once after each write of a sequence, with what is durable before it.
func crashAfterEachWrite(t TB, open func() Disk, broken mutant.Set) {
	const writes = 40
	for stop := range writes {
		r := rand.New(rand.NewPCG(1, 2))
		c := &comparison{n: newNode(open(), broken, 1), now: newModels()}
		c.since = []models{c.now.clone()}
		for i := range stop + 1 {
			readAll(t, c.n.store)
			records := []raftlog.Record{drawRecord(r, c.now), drawRecord(r, c.now)}
			p, err := c.n.store.Write(records)
			require.NoError(t, err)
			c.since = append(c.since, c.now.clone())
			if i < stop-2 {
				require.NoError(t, c.n.disk.Sync(p))
				c.since = c.since[len(c.since)-1:]
			}
		}
		c.crash(t, rand.New(rand.NewPCG(uint64(stop), 3)))
	}
}
