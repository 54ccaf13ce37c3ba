//go:build !race

// The race detector makes pools forget on purpose, so allocations are counted
// without it.

package client_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
)

// echo answers every request at once with one result.
type echo struct{ *faulty }

func (echo) Submit(req gateway.Request, done func(gateway.Response)) {
	done(gateway.Response{ID: req.ID, Attempts: 1, Results: []msg.Result{{Version: kv.Version{Write: 1}}}})
}

// TestAllocationsOfExecute guards the cost of a one-shot put. The ceiling is
// for client and server together: the client itself makes two for the caller
// (operations, outcome) and three a message, and the rest decodes the request
// and the answer.
func TestAllocationsOfExecute(t *testing.T) {
	db := open(t, []string{startNode(t, echo{newFaulty()}, "", server.Options{}).addr})
	key, value := strings.Repeat("k", 24), make([]byte, 128)
	var failed atomic.Bool
	n := testing.AllocsPerRun(2000, func() {
		if err := db.Execute(context.Background(), client.PutOp(key, value)); err != nil {
			failed.Store(true)
		}
	})
	require.False(t, failed.Load())
	t.Logf("%.1f allocations", n)
	require.LessOrEqual(t, n, 48.0)
}
