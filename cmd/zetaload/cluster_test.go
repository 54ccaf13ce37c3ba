package main

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// The whole way: flags, client, gRPC, a server, and the checker on what clients saw.
func TestAServerIsLoadedRunAndChecked(t *testing.T) {
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
		{"run", "--keys", "20", "--skew", "1", "--count", "300", "--clients", "8", "--interactive", "--fresh-keys",
			"--history", path},
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

// On a cluster of three nodes: the published workloads, locality that is what
// was asked for, and readers and scans that the checker accepts.
func TestAClusterRunsThePublishedWorkloads(t *testing.T) {
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Listen: true, NoSync: true, CacheBytes: 4 << 20,
		Version: "test"})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Stop(context.WithoutCancel(t.Context()))) }()
	var out, errs output
	env := environment{out: &out, err: &errs, open: openCluster}
	path, report := file(t, "h.bin"), file(t, "r.json")
	for _, args := range [][]string{
		{"--workload", "sss", "--read-keys", "2-16", "--locality", "50", "--interactive-reads", "30", "--think-time", "1ms",
			"--scanners", "1", "--scan-pace", "3000"},
		{"--workload", "hot-or-not", "--clients", "16", "--keys", "500", "--read-keys", "1-256"},
	} {
		args = append([]string{"run", "--addr", strings.Join(c.Addrs(), ","), "--count", "600", "--fresh-keys", "--history",
			path,
			"--json", report}, args...)
		require.Equal(t, exitOK, execute(t.Context(), env, args), "%v\n%s%s", args, out.String(), errs.String())
		require.Equal(t, exitOK, execute(t.Context(), env, []string{"check", path}), "%s%s", out.String(), errs.String())
		r, err := readReport(report)
		require.NoError(t, err)
		require.Equal(t, uint64(600), r.All.Committed, "%v", r.Errors)
		if r.Workload.Locality > 0 {
			require.InDelta(t, 100*(0.5+0.5/3), r.NearKeys, 4)
			require.Zero(t, r.Scans.Failed, "%v", r.Scans.Errors)
			require.NotZero(t, r.Scans.Complete+r.Scans.CutShort)
		}
	}
}
