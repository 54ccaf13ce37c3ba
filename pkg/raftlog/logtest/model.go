package logtest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// model is what the log of a group must be: all that was written, as plain values.
type model struct {
	replica   consensus.ReplicaID
	destroyed bool
	hard      raftpb.HardState
	// entries are those of the log. The first is the one before it, without content.
	entries []raftpb.Entry
}

func (m *model) begin() uint64 { return m.entries[0].Index }
func (m *model) last() uint64  { return m.entries[len(m.entries)-1].Index }

func (m *model) reset() { m.hard, m.entries = raftpb.HardState{}, make([]raftpb.Entry, 1) }

func (m *model) clone() *model {
	c := *m
	c.entries = slices.Clone(m.entries)
	return &c
}

// term is the term of a position of the log.
func (m *model) term(p uint64) uint64 { return m.entries[p-m.begin()].Term }

func (m *model) apply(r *raftlog.Record) {
	if r.Replica != m.replica || m.entries == nil {
		m.reset()
		m.replica, m.destroyed = r.Replica, false
	}
	if w := r.Write; w != nil {
		if s := w.Snapshot; s != nil {
			m.restore(s.Metadata.Index, s.Metadata.Term)
		}
		if w.HardState != (raftpb.HardState{}) {
			m.hard = w.HardState
		}
		if len(w.Entries) > 0 {
			kept := m.entries[:w.Entries[0].Index-m.begin()]
			m.entries = append(slices.Clone(kept), w.Entries...)
		}
	}
	if t := uint64(r.Truncate); t > m.begin() {
		term := m.term(t)
		m.entries = slices.Clone(m.entries[t-m.begin():])
		m.entries[0] = raftpb.Entry{Index: t, Term: term}
	}
	if r.Destroy {
		m.reset()
		m.destroyed = true
	}
}

func (m *model) restore(index, term uint64) {
	if index >= m.begin() && index <= m.last() && m.term(index) == term {
		return
	}
	m.entries = []raftpb.Entry{{Index: index, Term: term}}
}

// String is what the log's methods return.
func (m *model) String() string {
	var b strings.Builder
	m.head(&b)
	for i := range m.entries {
		e := &m.entries[i]
		fmt.Fprintf(&b, "%d:%d", e.Index, e.Term)
		if i > 0 {
			fmt.Fprintf(&b, " %v %q", e.Type, e.Data)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (m *model) head(b *strings.Builder) {
	fmt.Fprintf(b, "replica %d %v, %v\n", m.replica, m.replica != 0 && !m.destroyed, m.hard)
}

// read returns the same of a log, read entry by entry, together and in pieces.
func read(t TB, l *raftlog.Log) string {
	m := model{}
	var exists bool
	m.replica, exists = l.Replica()
	m.destroyed = !exists
	hard, _, err := l.InitialState()
	require.NoError(t, err)
	m.hard = hard
	first, err := l.FirstIndex()
	require.NoError(t, err)
	last, err := l.LastIndex()
	require.NoError(t, err)
	term, err := l.Term(first - 1)
	require.NoError(t, err)
	m.entries = []raftpb.Entry{{Index: first - 1, Term: term}}
	for at := first; at <= last; {
		some, err := l.Entries(at, last+1, 300)
		require.NoError(t, err)
		require.NotEmpty(t, some)
		one, err := l.Entries(at, at+1, 0)
		require.NoError(t, err)
		require.Equal(t, some[:1], one)
		m.entries = append(m.entries, some...)
		at += uint64(len(some))
	}
	for _, e := range m.entries {
		term, err := l.Term(e.Index)
		require.NoError(t, err)
		require.Equal(t, e.Term, term, "position %d", e.Index)
	}
	outside(t, l, first, last)
	return m.String()
}

// outside checks the errors at both ends.
func outside(t TB, l *raftlog.Log, first, last uint64) {
	_, err := l.Term(last + 1)
	require.ErrorIs(t, err, raft.ErrUnavailable)
	_, err = l.Entries(last+1, last+2, math.MaxUint64)
	require.ErrorIs(t, err, raft.ErrUnavailable)
	_, err = l.Entries(first-1, first, math.MaxUint64)
	require.ErrorIs(t, err, raft.ErrCompacted)
	if first > 1 {
		_, err = l.Term(first - 2)
		require.ErrorIs(t, err, raft.ErrCompacted)
	}
}

// models are those of all groups.
type models [groups]*model

const groups = 3

func newModels() (ms models) {
	for i := range ms {
		ms[i] = &model{entries: make([]raftpb.Entry, 1)}
	}
	return ms
}

func (ms models) clone() models {
	for i := range ms {
		ms[i] = ms[i].clone()
	}
	return ms
}

func (ms models) String() string {
	var b strings.Builder
	for i := range ms {
		b.WriteString(ms[i].String())
	}
	return b.String()
}

// readAll opens and reads all logs of a store.
func readAll(t TB, s *raftlog.Store) string {
	var b strings.Builder
	for i := range kv.ShardID(groups) {
		l, err := s.Open(i)
		require.NoError(t, err)
		b.WriteString(read(t, l))
	}
	return b.String()
}
