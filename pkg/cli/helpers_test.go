package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
	"github.com/linchpindb/linchpin/pkg/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// node is a store that answers as a cluster of one, unless a test replaces
// what it answers.
type node struct {
	servertest.Noted
	addr   string
	submit atomic.Pointer[func(gateway.Request, func(gateway.Response))]
	// status, shards and hot are answered instead of the store's if set.
	status func() *pb.StatusResponse
	shards []pb.ShardStatus
	hot    []hotshard.KeyHeat
	// heat is what is known of hot keys, if set.
	heat func() *msg.HotStatusResponse
	// reclaim is called instead of the store's if set.
	reclaim func(ctx context.Context, progress func(done, total int)) (server.Reclaimed, error)
	// reclaimable is what can be reclaimed, in bytes.
	reclaimable uint64
	// streams are those of the commands that are run, but for what they read and write.
	streams cli.Streams
	// how is the way in which the last transaction or scan was to read.
	how atomic.Pointer[txn.TxnOptions]
}

func (n *node) Submit(req gateway.Request, done func(gateway.Response)) {
	if fn := n.submit.Load(); fn != nil {
		(*fn)(req, done)
		return
	}
	n.Noted.Submit(req, done)
}

func (n *node) Status() *pb.StatusResponse {
	if n.status != nil {
		return n.status()
	}
	return n.Store.Status()
}

func (n *node) Shards() []pb.ShardStatus {
	if n.shards != nil {
		return n.shards
	}
	return n.Store.Shards()
}

func (n *node) Reclaimable() uint64 { return n.reclaimable }

func (n *node) Reclaim(ctx context.Context, progress func(done, total int)) (server.Reclaimed, error) {
	if n.reclaim != nil {
		return n.reclaim(ctx, progress)
	}
	return n.Store.Reclaim(ctx, progress)
}

func (n *node) HotKeys(limit int) []hotshard.KeyHeat { return n.hot[:min(limit, len(n.hot))] }

func (n *node) Hot(ctx context.Context) (*msg.HotStatusResponse, error) {
	if n.heat != nil {
		return n.heat(), nil
	}
	return n.Store.Hot(ctx)
}

// start serves a node at a free port.
func start(t *testing.T) *node {
	t.Helper()
	n := new(node)
	n.Noted = servertest.Noted{Store: servertest.New(), Note: func(h txn.TxnOptions) {
		h.MaxResponse = 0
		n.how.Store(&h)
	}}
	n.addr = servertest.Serve(t, n, "", server.Options{Users: &people{}, Log: slog.New(slog.DiscardHandler)}).Addr
	return n
}

// ran is what a command did.
type ran struct {
	code      int
	out, errs string
}

// run runs a command with nothing on standard input.
func (n *node) run(t *testing.T, args ...string) ran {
	t.Helper()
	return n.runWith(t, "", args...)
}

func (n *node) runWith(t *testing.T, in string, args ...string) ran {
	t.Helper()
	// Flags come first, because of the arguments that begin with a minus sign.
	return runOn(t, n.streams, in, append([]string{args[0], "--addr", n.addr}, args[1:]...)...)
}

func run(t *testing.T, in string, args ...string) ran {
	t.Helper()
	return runOn(t, cli.Streams{}, in, args...)
}

// runOn runs a command on a terminal, if the streams have a size.
func runOn(t *testing.T, s cli.Streams, in string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	s.In, s.Out, s.Err = strings.NewReader(in), &out, &errs
	code := cli.Main(context.Background(), cli.New(s), args)
	return ran{code, out.String(), errs.String()}
}

// ok holds that a command succeeded, and gives what it printed.
func (r ran) ok(t *testing.T) string {
	t.Helper()
	require.Equal(t, 0, r.code, "%s%s", r.out, r.errs)
	require.Empty(t, r.errs)
	return r.out
}

// fails holds that a command failed with a code and a message.
func (r ran) fails(t *testing.T, code int, message string) {
	t.Helper()
	require.Equal(t, code, r.code, "%s%s", r.out, r.errs)
	require.Empty(t, r.out)
	require.Contains(t, r.errs, message)
}

// objects reads one JSON object a line.
func objects(t *testing.T, s string) (os []map[string]any) {
	t.Helper()
	for line := range strings.Lines(s) {
		var o map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &o), line)
		os = append(os, o)
	}
	return os
}
