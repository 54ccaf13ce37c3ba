package logtest

import (
	"math/rand/v2"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/raftlog"
)

// Groups is the number of groups of a history.
const Groups = groups

// History writes a random sequence of records, a function of the seed, for tests of one engine.
type History struct {
	n   *node
	r   *rand.Rand
	now models
}

// NewHistory begins a history on an empty disk.
func NewHistory(d Disk, seed uint64) *History {
	return &History{n: newNode(d, mutant.Set{}, 1), r: rand.New(rand.NewPCG(seed, 1)), now: newModels()}
}

// Store is the store that is written.
func (h *History) Store() *raftlog.Store { return h.n.store }

// Want is what ReadAll returns of a store that has all that was written.
func (h *History) Want() string { return h.now.String() }

// ReadAll opens all logs of a store and returns what they have.
func ReadAll(t TB, s *raftlog.Store) string { return readAll(t, s) }

// Restart makes the store anew, after the engine was opened again.
func (h *History) Restart() { h.n.start() }

// Append writes two records.
func (h *History) Append(t TB) (engine.Position, error) {
	for i := range kv.ShardID(groups) {
		_, err := h.n.store.Open(i)
		require.NoError(t, err)
	}
	return h.n.store.Write([]raftlog.Record{drawRecord(h.r, h.now), drawRecord(h.r, h.now)})
}

// TryWrite writes two records durably, or returns the error.
func (h *History) TryWrite(t TB) error {
	p, err := h.Append(t)
	if err == nil {
		err = h.n.store.WaitDurable(p)
	}
	return err
}

// Write writes two records durably.
func (h *History) Write(t TB) {
	t.Helper()
	require.NoError(t, h.TryWrite(t))
}
