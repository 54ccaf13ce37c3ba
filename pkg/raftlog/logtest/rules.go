package logtest

import (
	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// entriesOf makes entries of a term, from one position to another.
func entriesOf(term, from, to uint64, size int) (out []raftpb.Entry) {
	for i := from; i <= to; i++ {
		data := make([]byte, size)
		for j := range data {
			data[j] = byte(i)
		}
		out = append(out, raftpb.Entry{Index: i, Term: term, Data: data})
	}
	return out
}

// group is a new group's log with the entries 2 to last, of term 1, which are committed.
func group(t TB, n *node, last uint64, size int) *raftlog.Log {
	n.write(t, raftlog.Record{Replica: 1, Write: begin(1, 1)})
	n.write(t, raftlog.Record{Replica: 1, Write: &consensus.Write{
		HardState: raftpb.HardState{Term: 1, Vote: 2, Commit: last}, Entries: entriesOf(1, 2, last, size)}})
	l, err := n.store.Open(0)
	require.NoError(t, err)
	return l
}

// Truncation never exceeds what is flushed, and exceeds what replicas have beyond 64 MiB only (R6.5).
func truncationBounds(t TB, open func() Disk, broken mutant.Set) {
	n := newNode(open(), broken, 0)
	l := group(t, n, 101, 1<<20)
	require.EqualValues(t, 20, l.Truncation(20, 50), "rows above 20 are not flushed")
	require.EqualValues(t, 35, l.Truncation(35, 35))
	require.Zero(t, l.Truncation(1, 101), "there is nothing to delete")
	for _, acknowledged := range []consensus.Position{0, 10} {
		to := l.Truncation(101, acknowledged)
		require.InDelta(t, 101-64, float64(to), 1, "64 MiB remain")
	}
	n.write(t, raftlog.Record{Replica: 1, Truncate: 60})
	require.Zero(t, l.Truncation(101, 20), "42 MiB remain")
	require.EqualValues(t, 101, l.Truncation(101, 101))
	require.EqualValues(t, 101, l.Truncation(200, 200), "the log ends there")
	small := newNode(open(), broken, 0)
	require.Zero(t, group(t, small, 101, 1<<10).Truncation(101, 101), "less than 1 MiB")
}

// Term, vote and commit index are those before the truncation, also after a restart (R6.6).
func votesSurvive(t TB, open func() Disk, broken mutant.Set) {
	n := newNode(open(), broken, 1)
	group(t, n, 20, 100)
	n.write(t, raftlog.Record{Replica: 1, Truncate: 20})
	n.reopen()
	l, err := n.store.Open(0)
	require.NoError(t, err)
	hard, _, err := l.InitialState()
	require.NoError(t, err)
	require.Equal(t, raftpb.HardState{Term: 1, Vote: 2, Commit: 20}, hard)
	first, err := l.FirstIndex()
	require.NoError(t, err)
	require.EqualValues(t, 21, first)
	term, err := l.Term(20)
	require.NoError(t, err, "the term of the last deleted entry is kept")
	require.EqualValues(t, 1, term)
}

// The commit index that came with entries is there after a restart (R6.7).
func commitIsRecorded(t TB, open func() Disk, broken mutant.Set) {
	n := newNode(open(), broken, 1)
	group(t, n, 20, 100)
	n.write(t, raftlog.Record{Replica: 1, Write: &consensus.Write{
		HardState: raftpb.HardState{Term: 2, Vote: 3, Commit: 19}, Entries: entriesOf(2, 20, 25, 1)}})
	n.write(t, raftlog.Record{Replica: 1, Write: &consensus.Write{
		HardState: raftpb.HardState{Term: 2, Vote: 3, Commit: 22}, Entries: entriesOf(2, 26, 26, 1)}})
	n.reopen()
	l, err := n.store.Open(0)
	require.NoError(t, err)
	hard, _, err := l.InitialState()
	require.NoError(t, err)
	require.Equal(t, raftpb.HardState{Term: 2, Vote: 3, Commit: 22}, hard)
}

// An empty write is durable with the batch before it. After a restart, and for a new replica, there is none.
func emptyWrite(t TB, open func() Disk, broken mutant.Set) {
	n := newNode(open(), broken, 1)
	group(t, n, 20, 100)
	empty := []raftlog.Record{{Replica: 1, Write: &consensus.Write{}}}
	before, err := n.store.Write([]raftlog.Record{{Replica: 1, Write: &consensus.Write{Entries: entriesOf(1, 21, 21, 1)}}})
	require.NoError(t, err)
	at, err := n.store.Write(empty)
	require.NoError(t, err)
	require.Equal(t, before, at)
	n.reopen()
	n.write(t, empty...)
	n.write(t, raftlog.Record{Replica: 2, Write: &consensus.Write{}})
	l, err := n.store.Open(0)
	require.NoError(t, err)
	number, _ := l.Replica()
	require.EqualValues(t, 2, number)
}

// A replica's number is not used again, and a greater one begins with nothing (R7.17).
func numbers(t TB, open func() Disk, broken mutant.Set) {
	for _, records := range [][]raftlog.Record{
		{{Replica: 4, Write: begin(1, 1)}, {Replica: 3, Write: begin(1, 1)}},
		{{Replica: 4, Write: begin(1, 1)}, {Replica: 4, Destroy: true}, {Replica: 4, Write: begin(1, 1)}},
		{{Replica: 4, Write: begin(1, 1)}, {Replica: 4, Destroy: true}, {Replica: 2}},
	} {
		n := newNode(open(), broken, 1)
		end := len(records) - 1
		n.write(t, records[:end]...)
		n.reopen()
		_, err := n.store.Open(0)
		require.NoError(t, err)
		_, err = n.store.Write(records[end:])
		require.ErrorContains(t, err, "replica 4")
	}
	n := newNode(open(), broken, 1)
	l := group(t, n, 20, 100)
	n.write(t, raftlog.Record{Replica: 7})
	hard, _, err := l.InitialState()
	require.NoError(t, err)
	require.Zero(t, hard, "the vote was that of replica 1")
	last, err := l.LastIndex()
	require.NoError(t, err)
	require.Zero(t, last)
}

// At a Raft snapshot, or at the rows of the store, a log continues if it has that entry (R6.10, R6.11).
func snapshots(t TB, open func() Disk, broken mutant.Set) {
	for _, c := range []struct {
		name                           string
		index, term, wantFirst, wantTo uint64
	}{
		{"the log has the entry", 10, 1, 2, 20},
		{"the log has another entry there", 10, 2, 11, 10},
		{"the log ends before it", 30, 1, 31, 30},
		{"it is the last one", 20, 1, 2, 20},
	} {
		n := newNode(open(), broken, 1)
		group(t, n, 20, 100)
		n.write(t, raftlog.Record{Replica: 1, Write: begin(c.index, c.term)})
		n.reopen()
		l, err := n.store.Open(0)
		require.NoError(t, err)
		first, err := l.FirstIndex()
		require.NoError(t, err)
		last, err := l.LastIndex()
		require.NoError(t, err)
		require.Equal(t, [2]uint64{c.wantFirst, c.wantTo}, [2]uint64{first, last}, c.name)
	}
}

// A record that contradicts the log is a bug: nothing of its batch is stored, and the store accepts nothing more.
func wrongRecords(t TB, open func() Disk, broken mutant.Set) {
	for _, wrong := range []raftlog.Record{
		{Shard: 2, Replica: 1},
		{Replica: 1, Truncate: 22},
		{Replica: 1, Write: begin(1, 1)},
		{Replica: 1, Write: &consensus.Write{Entries: entriesOf(1, 23, 23, 1)}},
		{Replica: 1, Write: &consensus.Write{Entries: entriesOf(1, 1, 21, 1)}},
		{Replica: 1, Write: &consensus.Write{Entries: append(entriesOf(1, 21, 21, 1), entriesOf(1, 23, 23, 1)...)}},
	} {
		n := newNode(open(), broken, 1)
		l := group(t, n, 20, 100)
		n.write(t, raftlog.Record{Replica: 1, Truncate: 2})
		before := read(t, l)
		good := raftlog.Record{Replica: 1, Write: &consensus.Write{Entries: entriesOf(2, 20, 21, 1)}}
		_, err := n.store.Write([]raftlog.Record{good, wrong})
		require.Error(t, err)
		_, again := n.store.Write([]raftlog.Record{good})
		require.Equal(t, err, again)
		n.reopen()
		l, err = n.store.Open(0)
		require.NoError(t, err)
		require.Equal(t, before, read(t, l))
	}
}
