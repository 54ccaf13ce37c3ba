package integration

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	reflectpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// documentedMetrics are metrics that operators rely on.
var documentedMetrics = []string{
	"linchpin_node_info", "linchpin_transactions_total", "linchpin_transaction_retries_total",
	"linchpin_stage_duration_seconds_bucket",
	"linchpin_shard_queue_length", "linchpin_shard_lock_waiters", "linchpin_shard_lock_waits_total",
	"linchpin_shard_wounds_total",
	"linchpin_shard_prepared_transactions", "linchpin_shard_decision_records", "linchpin_shard_readers",
	"linchpin_shard_held_updates",
	"linchpin_log_fsyncs_total", "linchpin_log_fsync_entries_bucket", "linchpin_log_fsync_duration_seconds_bucket",
	"linchpin_shard_steps_total", "linchpin_shard_step_seconds_total", "linchpin_peer_up", "linchpin_store_disk_bytes",
	"linchpin_gateway_inflight_transactions", "go_goroutines", "process_cpu_seconds_total",
}

// stages are the values of the label of linchpin_stage_duration_seconds.
var stages = []string{"gateway", "lock_wait", "vote", "decision", "durable"}

// TestMetrics: after some transactions every documented metric is present, with plausible values, and the
// linter of Prometheus finds no problem.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	db := proc.Open(t, []string{c.Node(0).Addr})
	const n = 20
	for i := range n {
		a, b := client.PutOp(fmt.Sprintf("a%d", i), nil), client.PutOp(fmt.Sprintf("b%d", i), nil)
		require.NoError(t, db.Execute(proc.Context(t), a, b))
	}
	var text string
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		code, body, err := c.Node(0).Get(proc.Context(t), path)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, path)
		text = body
	}
	for _, name := range documentedMetrics {
		require.True(t, strings.Contains(text, "\n"+name+"{") || strings.Contains(text, "\n"+name+" "), "no metric %s", name)
	}
	for _, s := range stages {
		require.Contains(t, text, `stage="`+s+`"`)
	}
	require.GreaterOrEqual(t, sample(t, text, `linchpin_transactions_total{kind="one_shot",outcome="OK"}`), float64(n))
	require.Greater(t, sample(t, text, "linchpin_log_fsyncs_total"), 0.0)
	require.Equal(t, 2, strings.Count(text, "\nlinchpin_peer_up{"))
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

func sample(t *testing.T, text, name string) float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			require.NoError(t, err)
			return v
		}
	}
	require.Fail(t, "there is no sample "+name)
	return 0
}

// TestReflectionAndHealth: gRPC tools can list services, describe messages and check the health.
func TestReflectionAndHealth(t *testing.T) {
	t.Parallel()
	n := proc.NewSingle(t, t.TempDir())
	n.Start(t)
	conn, err := grpc.NewClient(n.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	ctx := proc.Context(t)
	for _, service := range []string{"", "linchpin.v1.KV", "linchpin.v1.Admin"} {
		h, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
		require.NoError(t, err)
		require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, h.Status, service)
	}
	stream, err := reflectpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	require.NoError(t, err)
	exchange := func(r *reflectpb.ServerReflectionRequest) *reflectpb.ServerReflectionResponse {
		require.NoError(t, stream.Send(r))
		resp, err := stream.Recv()
		require.NoError(t, err)
		require.Nil(t, resp.GetErrorResponse(), "%v", resp)
		return resp
	}
	list := exchange(&reflectpb.ServerReflectionRequest{MessageRequest: &reflectpb.ServerReflectionRequest_ListServices{}})
	require.Contains(t, list.String(), "linchpin.v1.KV")
	for _, symbol := range []string{"linchpin.v1.KV", "linchpin.v1.Admin", "linchpin.v1.ExecuteRequest"} {
		query := &reflectpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}
		d := exchange(&reflectpb.ServerReflectionRequest{MessageRequest: query})
		require.NotEmpty(t, d.GetFileDescriptorResponse().GetFileDescriptorProto())
	}
	require.NoError(t, stream.CloseSend())
}

// TestIdleNodesUseLittleCPU measures the CPU time of three idle processes and logs it. It fails only if
// they spin, since test machines are too busy for a tight bound.
func TestIdleNodesUseLittleCPU(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CPU time is read from /proc")
	}
	c := proc.StartCluster(t, proc.Options{})
	before, begin := cpuTicks(t, c), time.Now()
	const measured = 2 * time.Second
	timer := time.NewTimer(measured)
	defer timer.Stop()
	<-timer.C
	used := float64(cpuTicks(t, c)-before) / 100
	share := used / time.Since(begin).Seconds()
	t.Logf("three idle nodes use %.1f %% of a core together", 100*share)
	require.Less(t, share, 0.5)
}

// cpuTicks sums the CPU time of the processes of a cluster, in units of 10 ms.
func cpuTicks(t *testing.T, c *proc.Cluster) (ticks int64) {
	t.Helper()
	for _, n := range c.Nodes() {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.PID()))
		require.NoError(t, err)
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		for _, f := range fields[11:13] { // utime, stime
			v, err := strconv.ParseInt(f, 10, 64)
			require.NoError(t, err)
			ticks += v
		}
	}
	return ticks
}
