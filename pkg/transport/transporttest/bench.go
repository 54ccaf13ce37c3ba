package transporttest

import (
	"sync/atomic"
	"testing"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// Benchmark sends envelopes from one node to another and reports how many arrive per second. A window
// bounds the envelopes in flight, like the number of open transactions in a node.
func Benchmark(b *testing.B, n Net) {
	const window = 4096
	credit := make(chan struct{}, window)
	var arrived atomic.Int64
	done := make(chan struct{})
	total := int64(0)
	to := n.Start(b, 2, func(envs []*msg.Envelope) {
		for range envs {
			<-credit
		}
		if arrived.Add(int64(len(envs))) >= atomic.LoadInt64(&total) {
			select {
			case done <- struct{}{}:
			default:
			}
		}
	})
	from := n.Start(b, 1, func([]*msg.Envelope) {})
	defer to.Close()
	defer from.Close()
	awaitUp(b, from, 2)
	e := msg.ToShard(1)
	e.Body = &msg.Vote{Yes: true, Sealed: true, Results: []msg.Result{{Found: true, Value: make([]byte, 128)}}}
	envs := []*msg.Envelope{e}
	atomic.StoreInt64(&total, int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		credit <- struct{}{}
		from.Send(2, envs)
	}
	for arrived.Load() < int64(b.N) {
		<-done
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "envelopes/s")
}
