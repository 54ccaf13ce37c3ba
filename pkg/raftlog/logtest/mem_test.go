package logtest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/raftlog/logtest"
)

// memory is a store in memory.
type memory struct{ *memstore.Store }

func newMemory() logtest.Disk { return memory{memstore.New()} }

func (m memory) Rows() engine.Engine { return m.Store }

func (m memory) Sync(p engine.Position) error {
	m.SyncTo(p)
	return nil
}

func (m memory) Crash(r *rand.Rand) {
	m.Store.Crash(m.Durable() + engine.Position(r.IntN(int(m.Last()-m.Durable())+1)))
}

func (m memory) Reopen() {
	m.SyncTo(m.Last())
	m.Store.Crash(m.Last())
}

func TestInMemory(t *testing.T) {
	logtest.Run(t, func(*testing.T) logtest.Disk { return newMemory() })
}
