package main

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// The whole way: flags, client, gRPC, a server, and what clients saw judged.
func TestAServerIsLoadedRunAndJudged(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv, err := server.New(servertest.New(), server.Options{})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	defer func() {
		srv.Stop()
		require.NoError(t, <-done)
	}()
	var out, errs output
	env := environment{out: &out, err: &errs, open: openCluster}
	path := file(t, "h.bin")
	for _, args := range [][]string{
		{"load", "--keys", "100", "--counters"},
		{"run", "--keys", "100", "--skew", "1.2", "--count", "500", "--clients", "8", "--history", path},
		{"check", path},
		{"run", "--keys", "20", "--skew", "1", "--count", "300", "--clients", "8", "--interactive", "--fresh-keys", "--history", path},
		{"check", path},
	} {
		if args[0] != "check" {
			args = append(args, "--addr", lis.Addr().String())
		}
		require.Equal(t, exitOK, execute(t.Context(), env, args), "%v\n%s%s", args, out.String(), errs.String())
	}
	require.Contains(t, out.String(), "loaded 100 keys")
	require.Contains(t, out.String(), "500 committed, 0 failed")
}
