package replication

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/raftlog"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// single is a node with the only replica of a group, on a disk in memory: a log, and rows without one. Its machine
// counts, and acknowledges each count.
type single struct {
	t    *testing.T
	rand *rand.Rand
	fs   *vfs.MemFS
	now  int64

	logRows, rows *pebblestore.Store
	store         *raftlog.Store
	log           *raftlog.Log
	rep           *Replica

	// count is the machine's, acknowledged the greatest that has left.
	count, acknowledged int
	// unsynced are writes that are not durable, with their positions, unapplied batches that are not set.
	unsynced  []unsyncedWrite
	unapplied []*Apply
	// flushed is the last position whose rows are in tables, truncate where the log is to be cut.
	flushed, truncate consensus.Position
}

type unsyncedWrite struct {
	at engine.Position
	w  *consensus.Write
}

func (m *single) options() pebblestore.Options {
	return pebblestore.Options{CacheBytes: 4 << 20, MemTableBytes: 256 << 10, FS: m.fs,
		OnFatal: func(err error) { m.t.Errorf("a store ended: %v", err) }}
}

// open starts the node from its disk, and waits until the machine begins.
func (m *single) open() {
	var err error
	m.logRows, err = pebblestore.Open("log", m.options())
	require.NoError(m.t, err)
	o := m.options()
	o.Unlogged = true
	m.rows, err = pebblestore.Open("rows", o)
	require.NoError(m.t, err)
	m.store = raftlog.New(m.logRows, raftlog.Options{})
	m.log, err = m.store.Open(1)
	require.NoError(m.t, err)
	if id, _ := m.log.Replica(); id == 0 {
		m.form()
	}
	m.unsynced, m.unapplied, m.flushed, m.truncate = nil, nil, 0, 0
	row := m.rows.Read(1, entry.Read{Kind: entry.ReadRow, Table: entry.TableReplica}).Rows[0].Value
	m.rep, err = New(consensus.Config{Group: 1, ID: 1, Hold: hold, MaxHold: hold, Heartbeat: hold / 8, Storage: m.log,
		Rand: func(int64) int64 { return 0 }}, row, m.now)
	require.NoError(m.t, err)
	for m.rep.Machine() == 0 {
		m.now += int64(10 * time.Millisecond)
		m.rep.Group().Tick(m.now)
		m.perform(true)
	}
	m.count = m.stored()
}

// form makes the first rows and log durable, in this order.
func (m *single) form() {
	rows, state := Bootstrap([]consensus.ReplicaID{1})
	at, err := m.rows.Append([]entry.Group{{Shard: 1, Entries: rows}})
	require.NoError(m.t, err)
	require.NoError(m.t, m.rows.WaitDurable(at))
	begin := raftpb.SnapshotMetadata{ConfState: state.Conf, Index: uint64(state.Position), Term: uint64(state.Term)}
	at, err = m.store.Write([]raftlog.Record{{Shard: 1, Replica: 1, Write: &consensus.Write{
		HardState: raftpb.HardState{Term: begin.Term, Commit: begin.Index}, Snapshot: &raftpb.Snapshot{Metadata: begin}}}})
	require.NoError(m.t, err)
	require.NoError(m.t, m.store.WaitDurable(at))
}

// stored is the count in the rows. All rows before it are there.
func (m *single) stored() int {
	rows := m.rows.Read(1, entry.Read{Kind: entry.ReadRows, Table: entry.TableOutcome, Span: kv.Range(nil, nil)}).Rows
	for i, r := range rows {
		require.Equal(m.t, fmt.Sprintf("%06d", i+1), string(r.Key))
	}
	return len(rows)
}

// increment takes a step of the machine.
func (m *single) increment() {
	m.count++
	row := entry.Entry{Table: entry.TableOutcome, Key: fmt.Appendf(nil, "%06d", m.count), Value: make([]byte, 32<<10)}
	m.rep.Submit(&shard.Output{Entries: []entry.Entry{row}, Send: []*msg.Envelope{message(m.count)}}, kv.CSN(m.count))
	_, err := m.rep.Propose(m.now)
	require.NoError(m.t, err)
}

// perform does what the replica wants: all of it, or what chance allows.
func (m *single) perform(all bool) {
	for busy := true; busy; {
		m.take()
		busy = false
		if n := len(m.unsynced); n > 0 && (all || m.rand.IntN(3) == 0) {
			busy = true
			require.NoError(m.t, m.store.WaitDurable(m.unsynced[n-1].at))
			for _, u := range m.unsynced {
				m.rep.Group().Written(m.now, u.w)
			}
			m.unsynced = nil
			m.take()
		}
		if len(m.unapplied) > 0 && (all || m.rand.IntN(2) == 0) {
			busy = true
			a := m.unapplied[0]
			m.unapplied = m.unapplied[1:]
			at, err := m.rows.Append([]entry.Group{a.Group})
			require.NoError(m.t, err)
			m.rep.Applied(m.now, a)
			if m.rand.IntN(30) == 0 {
				require.NoError(m.t, m.rows.WaitDurable(at))
				m.flushed = a.Last
			}
			m.truncate = m.log.Truncation(m.flushed, a.Last)
		}
	}
}

// take takes over what the replica wants.
func (m *single) take() {
	for {
		rd, err := m.rep.Ready()
		require.NoError(m.t, err)
		if rd.Empty() {
			return
		}
		if rd.Write != nil {
			at, err := m.store.Write([]raftlog.Record{{Shard: 1, Replica: 1, Write: rd.Write, Truncate: m.truncate}})
			require.NoError(m.t, err)
			m.unsynced, m.truncate = append(m.unsynced, unsyncedWrite{at, rd.Write}), 0
		}
		if rd.Apply != nil {
			m.unapplied = append(m.unapplied, rd.Apply)
		}
		for _, env := range rd.Release {
			m.acknowledged = int(msg.As[msg.Read](env).Number)
		}
	}
}

// crash stops the machine: both stores keep what was synced, and any part of the rest.
func (m *single) crash() {
	left := m.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: m.rand.IntN(101), RNG: m.rand})
	require.NoError(m.t, m.logRows.Close())
	require.NoError(m.t, m.rows.Close())
	m.fs = left
	m.open()
}

// TestCrashesLoseNothingOfLogAndRows: after each crash the rows have all that was acknowledged, although they are
// written without a log of their own, and the log of the group is truncated (R6.4, R6.5).
func TestCrashesLoseNothingOfLogAndRows(t *testing.T) {
	truncated, replayed := 0, 0
	for seed := range uint64(4) {
		m := &single{t: t, rand: rand.New(rand.NewPCG(seed, 1)), fs: vfs.NewCrashableMem(), now: 1}
		m.open()
		for range 8 {
			for range m.rand.IntN(80) {
				m.increment()
				m.perform(false)
			}
			lost := m.acknowledged - m.durableCount()
			m.crash()
			require.GreaterOrEqual(t, m.count, m.acknowledged, "seed %d", seed)
			replayed += max(lost, 0)
			first, err := m.log.FirstIndex()
			require.NoError(t, err)
			truncated = max(truncated, int(first))
		}
		require.NoError(t, m.logRows.Close())
		require.NoError(t, m.rows.Close())
	}
	require.Greater(t, truncated, 100)
	require.Greater(t, replayed, 20, "rows that only the log had")
}

// durableCount is the count in the tables of the rows: what a crash leaves of them.
func (m *single) durableCount() int {
	o := m.options()
	o.FS = m.fs.CrashClone(vfs.CrashCloneCfg{})
	o.Unlogged = true
	rows, err := pebblestore.Open("rows", o)
	require.NoError(m.t, err)
	n := len(rows.Read(1, entry.Read{Kind: entry.ReadRows, Table: entry.TableOutcome, Span: kv.Range(nil, nil)}).Rows)
	require.NoError(m.t, rows.Close())
	return n
}
