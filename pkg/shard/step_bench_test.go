package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// BenchmarkStep executes steps with 32 transactions each, of one operation on one key of a thousand: a shard
// under full load. Its log costs nothing.
func BenchmarkStep(b *testing.B) {
	for _, load := range []struct {
		name string
		op   msg.Op
		keys int
	}{
		{"value", msg.Op{Kind: msg.OpPut, Value: []byte("a value of a usual size, or so")}, 1000},
		{"counter", msg.Op{Kind: msg.OpAdd, Delta: 1}, 1000},
		{"hot counter", msg.Op{Kind: msg.OpAdd, Delta: 1}, 1},
	} {
		b.Run(load.name, func(b *testing.B) {
			const inStep = 32
			m, out := shard.New(shard.Config{Lease: -1, CacheBytes: 1 << 30}, shard.Recovered{}, 0, 0)
			keys := make([][]byte, load.keys)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "key-%06d", i)
			}
			envs := make([]*msg.Envelope, inStep)
			now, id := int64(0), int64(0)
			b.ReportAllocs()
			for b.Loop() {
				now += int64(100 * time.Microsecond)
				for i := range envs {
					id++
					env := msg.ToShard(0)
					op := load.op
					op.Key = keys[id%int64(len(keys))]
					env.Body = &msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: id}, Attempt: 1},
						CommitID: kv.CommitID{Gateway: 1}, Piece: msg.Piece{Ops: []msg.Op{op}, Incarnation: m.Incarnation()}}
					envs[i] = env
				}
				out = m.Step(shard.Input{Now: now, Wall: now, Messages: envs, Buffers: out})
				for len(out.Reads) > 0 {
					var none []entry.ReadResult
					for _, r := range out.Reads {
						none = append(none, entry.ReadResult{ID: r.ID, Kind: r.Kind})
					}
					out = m.Step(shard.Input{Now: now, Wall: now, Reads: none, Buffers: out})
				}
			}
		})
	}
}
