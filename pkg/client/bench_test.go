package client_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
)

// echo answers every request at once with one result, so that what is
// measured is the way to the backend and back.
type echo struct{ *faulty }

func (echo) Submit(req gateway.Request, done func(gateway.Response)) {
	done(gateway.Response{ID: req.ID, Attempts: 1, Results: []msg.Result{{Version: kv.Version{Write: 1}}}})
}

// BenchmarkExecute puts 128 bytes, with client and server in one process, from
// 1, 16 and 128 callers. Allocations are those of both sides.
func BenchmarkExecute(b *testing.B) {
	for _, callers := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			db := open(b, []string{startNode(b, echo{newFaulty()}, "", server.Options{}).addr})
			key, value := strings.Repeat("k", 24), make([]byte, 128)
			b.ReportAllocs()
			b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := db.Execute(context.Background(), client.PutOp(key, value)); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}
