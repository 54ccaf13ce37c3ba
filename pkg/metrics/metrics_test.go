package metrics_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/pebblestore"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shard/locktable"
	"github.com/linchpindb/linchpin/pkg/snapshotqueue"
	"github.com/linchpindb/linchpin/pkg/transport/grpc"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// used returns a node with one observation of every metric.
func used(t testing.TB) *metrics.Node {
	t.Helper()
	m, err := metrics.New(metrics.Options{Node: 2, Cluster: "c", Version: "v1"})
	require.NoError(t, err)
	m.Transaction(metrics.OneShot, kv.KindOK, 2*time.Millisecond)
	m.Transaction(metrics.OneShot, kv.KindOK, 3*time.Millisecond)
	m.Transaction(metrics.Interactive, kv.KindConditionFailed, time.Second)
	c := m.Contention(metrics.Conflict{Operation: "get", Holder: "put", Cause: "lock"})
	c.Waited(250 * time.Millisecond)
	c.Waited(-1)
	c.Aborted(49)
	m.Retry(msg.ReasonWounded)
	m.Stage(metrics.LockWait).Observe(3 * time.Millisecond)
	m.Fsync(40, 200*time.Microsecond)
	s := m.Shard(3)
	s.Step(10, 4, 2*time.Second)
	s.Watch(func() metrics.ShardStats {
		return metrics.ShardStats{Queue: 1, Status: shard.Status{Waiting: 2, Prepared: 3, Records: 4, Keys: 5, Readers: 21,
			Held: 22, ReadsInFlight: 50,
			Stats: shard.Stats{CacheMisses: 7, ReadWaits: 23, ReadWaitNanos: 24e9, PastReads: 25, PagesRead: 61,
				PagesWritten: 62, CommitStats: shard.CommitStats{UnsealsRequested: 28}, Swept: 33,
				ExecStats: shard.ExecStats{Replanned: 47, LockWait: shard.Duration{Count: 2, Nanos: 5e8}, KeyRejections: 1,
					NoSpaceRejections: 2}, Expired: 53, ExpiredLateNanos: 54e9},
			Queues:  snapshotqueue.Counters{Holds: 26, HeldNanos: 27e9, Unseals: 29, Expirations: 30},
			Locks:   locktable.Counters{Phases: 51, Joins: 52, Wounds: 6, QueueFull: 3, KeyQueueFull: 2},
			Garbage: 31, GarbageLost: 32, Due: 55, Overdue: 56 * time.Second}}
	})
	m.Read(metrics.ReadHotLast)
	ops, err := m.Operations([]metrics.Operation{{Type: "any", Method: "get"}, {Type: "set", Method: "add"}})
	require.NoError(t, err)
	ops[1].Add(48)
	m.WatchSnapshots(func() (metrics.SnapshotStats, bool) {
		return metrics.SnapshotStats{History: 34, Named: 35, Oldest: 36 * time.Second}, true
	})
	m.WatchReplicas(func() metrics.ReplicaStats {
		return metrics.ReplicaStats{SnapshotsSent: 71, SnapshotsReceived: 72, LogBytes: 74,
			Transfers:  []metrics.Transfers{{Cause: "drain", Count: 81}, {Cause: "balance", Count: 82}},
			ClockRates: map[kv.NodeID]float64{2: 0.03},
			Groups: []metrics.GroupStats{{Shard: 3, Leads: true, Serves: true, Lease: 500 * time.Millisecond, Term: 75,
				Missing: 1, Elections: 76, Leaderships: 77, Followers: []metrics.FollowerStats{{Node: 2, Lag: 78}}},
				{Shard: 4, Term: 80, Missing: 5}}}
	})
	m.WatchHot(func() (metrics.HotStats, bool) {
		return metrics.HotStats{Shard: 66, Busy: 0.41, HotStats: shard.HotStats{Moved: 38, MovedIn: 39, MovedOut: 40,
			Planned: true, Capacity: 53, Rules: 54, Mode: hotshard.ModeAuto, Counters: hotshard.PlannerCounters{GivenUp: 55,
				Begun: [hotshard.NumMoveCauses]uint64{hotshard.CauseContended: 56, hotshard.CauseIdle: 57}}}}, true
	})
	m.WatchPeers(func() []grpc.PeerStats {
		return []grpc.PeerStats{{Peer: 1, Up: true, StreamStats: grpc.StreamStats{Sent: 9, Received: 10,
			Outbox: outbox.Counts{Dropped: 9}, Oversized: 2}, Replicas: grpc.StreamStats{Sent: 70}}, {Peer: 2}}
	})
	m.WatchGateway(func() metrics.GatewayStats {
		return metrics.GatewayStats{InFlight: 12, Open: 13, Refused: 14, RefusedBy: [4]uint64{42, 43, 44, 45}, Displaced: 46,
			Rounds: 37, ClockJumps: 67, IDsAhead: 68 * time.Second, ClockApart: -69 * time.Second}
	})
	m.WatchStore(func() metrics.StoreStats {
		return metrics.StoreStats{Log: engine.Stats{Appends: 15, Entries: 16, Syncs: 17},
			Metrics: pebblestore.Metrics{DiskBytes: 18, ReclaimableBytes: 70, CacheHits: 19, CacheMisses: 20,
				FlushedBytes: 58, CompactedBytes: 59, LogMetrics: pebblestore.LogMetrics{WALBytesWritten: 60},
				CompactionMetrics: pebblestore.CompactionMetrics{CompactionsInProgress: 61, CompactionsFailed: 62},
				Corruptions:       63},
			Disk: pebblestore.Disk{Free: 64, Size: 65}, Full: 1}
	})
	return m
}

// values returns all samples of counters and gauges by name and labels.
func values(t testing.TB, m *metrics.Node) map[string]float64 {
	t.Helper()
	families, err := m.Registry().Gather()
	require.NoError(t, err)
	vs := map[string]float64{}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			name := f.GetName()
			for _, l := range s.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				vs[name] = s.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				vs[name] = s.GetGauge().GetValue()
			case dto.MetricType_HISTOGRAM:
				vs[name+" count"] = float64(s.GetHistogram().GetSampleCount())
				vs[name+" sum"] = s.GetHistogram().GetSampleSum()
			}
		}
	}
	return vs
}

func TestNamesFollowPrometheusConventions(t *testing.T) {
	problems, err := testutil.GatherAndLint(used(t).Registry())
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestEveryMetricIsExposed(t *testing.T) {
	vs := values(t, used(t))
	for name, want := range map[string]float64{
		"linchpin_node_info cluster=c node=n2 version=v1":                                      1,
		"linchpin_transactions_total kind=one_shot outcome=OK":                                 2,
		"linchpin_transactions_total kind=interactive outcome=ConditionFailed":                 1,
		"linchpin_transactions_total kind=scan outcome=OK":                                     0,
		"linchpin_transaction_retries_total reason=Wounded":                                    1,
		"linchpin_stage_duration_seconds stage=lock_wait count":                                1,
		"linchpin_stage_duration_seconds stage=lock_wait sum":                                  0.003,
		"linchpin_log_fsync_entries sum":                                                       40,
		"linchpin_log_fsync_duration_seconds sum":                                              0.0002,
		"linchpin_shard_steps_total shard=3":                                                   1,
		"linchpin_shard_step_seconds_total shard=3":                                            2,
		"linchpin_shard_messages_total shard=3":                                                10,
		"linchpin_shard_log_entries_total shard=3":                                             4,
		"linchpin_shard_queue_length shard=3":                                                  1,
		"linchpin_shard_lock_waiters shard=3":                                                  2,
		"linchpin_shard_prepared_transactions shard=3":                                         3,
		"linchpin_shard_decision_records shard=3":                                              4,
		"linchpin_shard_keys_in_memory shard=3":                                                5,
		"linchpin_shard_readers shard=3":                                                       21,
		"linchpin_shard_held_updates shard=3":                                                  22,
		"linchpin_shard_lock_waits_total shard=3":                                              2,
		"linchpin_shard_lock_wait_seconds_total shard=3":                                       0.5,
		"linchpin_shard_wounds_total shard=3":                                                  6,
		"linchpin_shard_cache_misses_total shard=3":                                            7,
		"linchpin_shard_rejections_total shard=3":                                              8,
		"linchpin_shard_read_waits_total shard=3":                                              23,
		"linchpin_shard_read_wait_seconds_total shard=3":                                       24,
		"linchpin_shard_snapshot_reads_total shard=3":                                          25,
		"linchpin_shard_pages_read_total shard=3":                                              61,
		"linchpin_shard_pages_written_total shard=3":                                           62,
		"linchpin_shard_holds_total shard=3":                                                   26,
		"linchpin_shard_hold_seconds_total shard=3":                                            27,
		"linchpin_shard_unseal_requests_total shard=3":                                         28,
		"linchpin_shard_unseals_total shard=3":                                                 29,
		"linchpin_shard_lease_expirations_total shard=3":                                       30,
		"linchpin_shard_gc_pending_versions shard=3":                                           31,
		"linchpin_shard_gc_pending_dropped_total shard=3":                                      32,
		"linchpin_operations_total method=add type=set":                                        48,
		"linchpin_shard_lock_replans_total shard=3":                                            47,
		"linchpin_shard_gc_swept_keys_total shard=3":                                           33,
		"linchpin_shard_expired_keys_total shard=3":                                            53,
		"linchpin_shard_expiry_delay_seconds_total shard=3":                                    54,
		"linchpin_shard_expired_keys_pending shard=3":                                          55,
		"linchpin_shard_expiry_lag_seconds shard=3":                                            56,
		"linchpin_transaction_duration_seconds kind=one_shot count":                            2,
		"linchpin_transaction_duration_seconds kind=one_shot sum":                              0.005,
		"linchpin_transaction_duration_seconds kind=interactive count":                         1,
		"linchpin_contention_waits_total cause=lock holder_operation=put operation=get":        2,
		"linchpin_contention_wait_seconds_total cause=lock holder_operation=put operation=get": 0.25,
		"linchpin_contention_aborts_total cause=lock holder_operation=put operation=get":       49,
		"linchpin_shard_cache_misses_in_flight shard=3":                                        50,
		"linchpin_shard_lock_phases_total shard=3":                                             51,
		"linchpin_shard_lock_phase_joins_total shard=3":                                        52,
		"linchpin_hot_moved_keys_limit":                                                        53,
		"linchpin_hot_rules":                                                                   54,
		"linchpin_hot_moves_failed_total":                                                      55,
		"linchpin_hot_mode mode=auto":                                                          1,
		"linchpin_hot_shard_info shard=66":                                                     1,
		"linchpin_hot_mode mode=off":                                                           0,
		"linchpin_hot_moves_started_total direction=in reason=contended":                       56,
		"linchpin_hot_moves_started_total direction=out reason=idle":                           57,
		"linchpin_store_flushed_bytes_total":                                                   58,
		"linchpin_store_compacted_bytes_total":                                                 59,
		"linchpin_store_logged_bytes_total":                                                    60,
		"linchpin_store_compactions_running":                                                   61,
		"linchpin_store_failed_compactions_total":                                              62,
		"linchpin_store_corruptions_total":                                                     63,
		"linchpin_store_reclaimable_bytes":                                                     70,
		"linchpin_store_disk_free_bytes":                                                       64,
		"linchpin_store_disk_size_bytes":                                                       65,
		"linchpin_read_only_transactions_total plan=hot-last":                                  1,
		"linchpin_read_only_transactions_total plan=locked":                                    0,
		"linchpin_snapshots kind=history":                                                      34,
		"linchpin_snapshots kind=named":                                                        35,
		"linchpin_oldest_snapshot_age_seconds":                                                 36,
		"linchpin_gateway_snapshot_rounds_total":                                               37,
		"linchpin_node_clock_jumps_total":                                                      67,
		"linchpin_node_clock_ids_ahead_seconds":                                                68,
		"linchpin_node_clock_offset_seconds":                                                   -69,
		"linchpin_hot_moved_keys":                                                              38,
		"linchpin_hot_moves_total direction=in":                                                39,
		"linchpin_hot_moves_total direction=out":                                               40,
		"linchpin_shard_leads shard=3":                                                         1,
		"linchpin_shard_leads shard=4":                                                         0,
		"linchpin_shard_term shard=4":                                                          80,
		"linchpin_shard_lease_seconds shard=3":                                                 0.5,
		"linchpin_shard_replicas_missing shard=3":                                              1,
		"linchpin_shard_elections_total shard=3":                                               76,
		"linchpin_shard_leaderships_total shard=3":                                             77,
		"linchpin_shard_follower_lag_entries peer=2 shard=3":                                   78,
		"linchpin_peer_clock_rate_difference peer=2":                                           0.03,
		"linchpin_raft_snapshots_total direction=sent":                                         71,
		"linchpin_raft_snapshots_total direction=received":                                     72,
		"linchpin_raft_log_bytes_total":                                                        74,
		"linchpin_shard_leader_transfers_total cause=drain":                                    81,
		"linchpin_shard_leader_transfers_total cause=balance":                                  82,
		"linchpin_hot_busy_ratio":                                                              0.41,
		"linchpin_peer_messages_sent_total peer=1 stream=transactions":                         9,
		"linchpin_peer_messages_received_total peer=1 stream=transactions":                     10,
		"linchpin_peer_messages_dropped_total peer=1 stream=transactions":                      11,
		"linchpin_peer_messages_sent_total peer=1 stream=replicas":                             70,
		"linchpin_peer_up peer=1":                                                              1,
		"linchpin_peer_up peer=2":                                                              0,
		"linchpin_gateway_inflight_transactions":                                               12,
		"linchpin_gateway_open_transactions":                                                   13,
		"linchpin_gateway_admission_rejections_total limit=key":                                42,
		"linchpin_gateway_admission_rejections_total limit=shard":                              43,
		"linchpin_gateway_admission_rejections_total limit=interactive":                        44,
		"linchpin_gateway_admission_rejections_total limit=node":                               45,
		"linchpin_gateway_unfair_rejections_total":                                             46,
		"linchpin_shard_key_rejections_total shard=3":                                          3,
		"linchpin_shard_disk_rejections_total shard=3":                                         2,
		"linchpin_store_full":                                                                  1,
		"linchpin_gateway_rejections_total":                                                    14,
		"linchpin_log_appends_total":                                                           15,
		"linchpin_log_entries_total":                                                           16,
		"linchpin_log_fsyncs_total":                                                            17,
		"linchpin_store_disk_bytes":                                                            18,
		"linchpin_store_cache_hits_total":                                                      19,
		"linchpin_store_cache_misses_total":                                                    20,
	} {
		got, ok := vs[name]
		require.True(t, ok, "%s is not exposed", name)
		require.InDelta(t, want, got, 1e-9, name)
	}
	require.NotContains(t, vs, "linchpin_shard_lease_seconds shard=4", "its leader is another node")
	require.InDelta(t, time.Now().Unix(), vs["linchpin_node_clock_seconds"], 60)
	require.Contains(t, vs, "go_goroutines")
	require.Contains(t, vs, "process_start_time_seconds")
}

func TestUnknownLabelsDoNotPanic(t *testing.T) {
	m, err := metrics.New(metrics.Options{NoRuntime: true})
	require.NoError(t, err)
	m.Transaction(metrics.Scan, kv.Kind(200), -1)
	m.Retry(msg.Reason(99))
	require.NotContains(t, values(t, m), "go_goroutines")
}

// TestConflictSeriesAreBounded: the number of series is bounded, and every wait is
// counted.
func TestConflictSeriesAreBounded(t *testing.T) {
	m, err := metrics.New(metrics.Options{NoRuntime: true})
	require.NoError(t, err)
	const kinds = 3 * metrics.MaxConflicts
	for i := range kinds {
		m.Contention(metrics.Conflict{Operation: fmt.Sprint("get ", i), Holder: "put", Cause: "lock"}).Waited(time.Second)
	}
	series, waits := 0, 0.0
	for name, v := range values(t, m) {
		if strings.HasPrefix(name, "linchpin_contention_waits_total ") {
			series++
			waits += v
		}
	}
	require.Equal(t, metrics.MaxConflicts+1, series)
	require.Equal(t, float64(kinds), waits)
	require.Same(t, m.Contention(metrics.OtherConflicts), m.Contention(metrics.Conflict{Operation: "new"}))
}

func TestHistogramBucketsAreInclusiveAndComplete(t *testing.T) {
	m, err := metrics.New(metrics.Options{NoRuntime: true})
	require.NoError(t, err)
	for _, n := range []int{0, 1, 2, 3, 4, 100_000} {
		m.Fsync(n, time.Duration(n)*time.Hour)
	}
	families, err := m.Registry().Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != "linchpin_log_fsync_entries" {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		require.Equal(t, uint64(6), h.GetSampleCount())
		require.Equal(t, 100_010.0, h.GetSampleSum())
		upTo := map[float64]uint64{}
		for _, b := range h.GetBucket() {
			upTo[b.GetUpperBound()] = b.GetCumulativeCount()
		}
		require.Equal(t, []uint64{2, 3, 5, 5, 5}, []uint64{upTo[1], upTo[2], upTo[4], upTo[8], upTo[16384]})
		return
	}
	t.Fatal("the histogram is not exposed")
}

func TestBatchEqualsSingleObservations(t *testing.T) {
	one, err := metrics.New(metrics.Options{NoRuntime: true})
	require.NoError(t, err)
	two, err := metrics.New(metrics.Options{NoRuntime: true})
	require.NoError(t, err)
	b := two.Stage(metrics.Durable).NewBatch()
	for i := range 2000 {
		d := time.Duration(i*i) * time.Microsecond
		one.Stage(metrics.Durable).Observe(d)
		b.Observe(d)
		if i%64 == 0 {
			b.Flush()
		}
	}
	counted := func(m *metrics.Node) map[string]float64 {
		vs := values(t, m)
		delete(vs, "linchpin_node_clock_seconds")
		return vs
	}
	require.NotEqual(t, counted(one), counted(two), "the last part is not flushed yet")
	b.Flush()
	b.Flush()
	require.Equal(t, counted(one), counted(two))
	require.Equal(t, uint64(2000), two.Stage(metrics.Durable).Count())
}

func TestHandlesAreSharedAndConcurrent(t *testing.T) {
	m, err := metrics.New(metrics.Options{NoRuntime: true})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				m.Shard(1).Step(1, 1, 1)
				m.Transaction(metrics.Scan, kv.KindOK, 1)
				m.Stage(metrics.Vote).Observe(1)
			}
			if _, err := m.Registry().Gather(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	vs := values(t, m)
	require.Equal(t, 800.0, vs["linchpin_shard_steps_total shard=1"])
	require.Equal(t, 800.0, vs["linchpin_stage_duration_seconds stage=vote count"])
	n, spent := m.Shard(1).Steps()
	require.Equal(t, uint64(800), n)
	require.Equal(t, time.Duration(800), spent)
}

func fetch(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	require.NoError(t, err)
	return w.Code, string(body)
}

func TestHandler(t *testing.T) {
	var notReady error
	var noRoom string
	h := used(t).Handler(func() error { return notReady }, func() string { return noRoom })
	code, body := fetch(t, h, "/metrics")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `linchpin_transactions_total{kind="one_shot",outcome="OK"} 2`)
	code, body = fetch(t, h, "/readyz")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ok\n", body)
	code, _ = fetch(t, h, "/readyz?writes")
	require.Equal(t, http.StatusOK, code)
	noRoom = "all writes are rejected"
	code, body = fetch(t, h, "/readyz")
	require.Equal(t, http.StatusOK, code, "it serves reads")
	require.Equal(t, "ok, but all writes are rejected\n", body)
	code, body = fetch(t, h, "/readyz?writes")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "all writes are rejected\n", body)
	notReady = errors.New("two members are unreachable")
	code, body = fetch(t, h, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "two members are unreachable\n", body)
	code, body = fetch(t, h, "/healthz")
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "ok\n", body)
	code, _ = fetch(t, h, "/nothing")
	require.Equal(t, http.StatusNotFound, code)
}

func TestPromtoolAcceptsTheMetrics(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	_, body := fetch(t, used(t).Handler(func() error { return nil }, func() string { return "" }), "/metrics")
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader([]byte(body))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}
