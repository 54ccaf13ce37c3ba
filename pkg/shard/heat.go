package shard

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard/contention"
)

// HeatConfig configures the load reports.
type HeatConfig = contention.Config

// contentionView is what package contention needs from the shard.
func (m *Machine) contentionView() contention.Shard {
	return contention.Shard{Home: m.cfg.Home, Queue: m.waiterCount, MoveTime: func() int64 {
		return m.agedBy(min(kv.MaxTxnAge, m.cfg.Retention/4))
	}}
}

// agedBy returns the begin time of a transaction that began d earlier, but above the low watermark
// of ids. Moves get such a time: the keys to move are those with most waiters, and as the youngest
// of these a move would be granted its lock too late.
func (m *Machine) agedBy(d time.Duration) int64 {
	return max(m.IDTime-int64(d), m.outcomes.LowWatermark())
}

// waiterCount returns how many transactions wait because of a key.
func (m *Machine) waiterCount(key []byte) uint32 {
	return uint32(m.locks.KeyWaiterCount(key) + m.queue.WaiterCount(key))
}
