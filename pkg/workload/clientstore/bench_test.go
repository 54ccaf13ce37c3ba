package clientstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
	"github.com/linchpindb/linchpin/pkg/workload"
	"github.com/linchpindb/linchpin/pkg/workload/app"
	"github.com/linchpindb/linchpin/pkg/workload/clientstore"
)

// BenchmarkTransaction runs transactions on a store in the same process. Allocations are those of the
// client and the server together.
func BenchmarkTransaction(b *testing.B) {
	for _, n := range []int{1, 4} {
		for _, kind := range []workload.OpKind{workload.Read, workload.Write, workload.Add} {
			ops := make([]workload.Op, n)
			for i := range ops {
				ops[i] = workload.Op{Kind: kind, Key: fmt.Appendf(nil, "k%d/%d", kind, i), Value: make([]byte, 128), Delta: 1}
			}
			for name, call := range calls {
				b.Run(fmt.Sprintf("%s/kind=%d/ops=%d", name, kind, n), func(b *testing.B) {
					benchmark(b, func(ctx context.Context, s *clientstore.Store) error {
						_, err := call(s, ctx, ops)
						return err
					})
				})
			}
		}
	}
	b.Run("calls", func(b *testing.B) {
		benchmark(b, func(ctx context.Context, s *clientstore.Store) error {
			_, err := s.Calls().Execute(ctx, app.Call{Key: []byte("n"), Type: "counter", Method: "add", Args: []any{1}},
				app.Call{Key: []byte("n"), Type: "counter", Method: "get"})
			return err
		})
	})
}

func benchmark(b *testing.B, do func(context.Context, *clientstore.Store) error) {
	addr := servertest.Serve(b, servertest.New(), "", server.Options{}).Addr
	s, err := clientstore.Open(b.Context(), []string{addr}, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := do(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}
