package shard

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
)

// HeatConfig says how shards tell which of their keys are hot.
type HeatConfig = contention.Config

// around is what the shard's part in heat asks of it.
func (m *Machine) around() contention.Around {
	return contention.Around{Home: m.cfg.Home, Queue: m.queueOf, MoveTime: func() int64 {
		return m.olderBy(min(kv.MaxTxnAge, m.cfg.Retention/4))
	}}
}

// olderBy is the age of a transaction that began so much earlier, but not so early
// that it would be refused. Moves are made older than they are: who is older goes
// first for a lock, and for the keys that are to be moved so many wait that a
// move's turn might come too late.
func (m *Machine) olderBy(d time.Duration) int64 {
	return max(m.IDTime-int64(d), m.outcomes.LowWatermark())
}

// queueOf is how many wait because of a key at the moment.
func (m *Machine) queueOf(key []byte) uint32 {
	return uint32(m.locks.WaitingFor(key) + m.queue.WaitingFor(key))
}
