package cli_test

import (
	"encoding/json"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// cluster starts two nodes that know each other, and a third that is down.
func cluster(t *testing.T) (a, z *node) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead := lis.Addr().String()
	require.NoError(t, lis.Close())
	a, z = start(t), start(t)
	for i, n := range []*node{a, z} {
		n.status = func() *pb.StatusResponse {
			return &pb.StatusResponse{NodeId: uint32(i + 1), ClusterId: "c1", Version: "v9", UptimeMs: 90_000, Ready: i == 0,
				Shards: 3, HotShard: 2,
				Members: []pb.Member{{NodeId: 1, Address: a.addr, Up: true, Self: i == 0, Shards: []uint32{0}, KeyspacePercent: 50},
					{NodeId: 2, Address: z.addr, Up: true, Self: i == 1, Shards: []uint32{2}},
					{NodeId: 3, Address: dead, Shards: []uint32{1}, KeyspacePercent: 50}}}
		}
	}
	return a, z
}

func TestStatus(t *testing.T) {
	a, z := cluster(t)
	out := a.run(t, "status").ok(t)
	require.Contains(t, out, "node n1 of cluster c1, serving, up for 1m30s, version v9, 3 shards (hot: s2)\n")
	require.Regexp(t, `n1 +127\.0\.0\.1:\d+ +up \(this node\)\nn2 +127\.0\.0\.1:\d+ +up\nn3 +127\.0\.0\.1:\d+ +down\n\n`+
		`unavailable: the shard s1, 50 % of the keyspace; node n3 \(127\.0\.0\.1:\d+\) is down\n$`, out)
	require.Contains(t, z.run(t, "status").ok(t), "waiting for the other members")
	got := objects(t, a.run(t, "status", "-o", "json").ok(t))[0]
	require.Equal(t, "c1", got["cluster"])
	require.Equal(t, map[string]any{"node": float64(2), "address": z.addr, "up": true, "shards": []any{float64(2)},
		"keyspace_percent": float64(0)},
		got["members"].([]any)[1])
	require.Equal(t, float64(50), got["unavailable_keyspace_percent"])
}

func TestShardsAreReportedByTheirOwnNodes(t *testing.T) {
	a, z := cluster(t)
	a.shards = []pb.ShardStatus{
		{Shard: 0, NodeId: 1, Up: true, Incarnation: 2, Csn: 30, KeysInMemory: 4, LockWaiters: 5, Intents: 6,
			DecisionRecords: 7, Steps: 10, StepTimeUs: 20},
		{Shard: 1, NodeId: 3}, {Shard: 2, NodeId: 2, Hot: true, Up: true}}
	z.shards = []pb.ShardStatus{{Shard: 0, NodeId: 1, Up: true}, {Shard: 1, NodeId: 3},
		{Shard: 2, NodeId: 2, Hot: true, Up: true, Incarnation: 9}}
	r := a.run(t, "shards")
	require.Equal(t, 0, r.code)
	require.Contains(t, r.errs, "node n3 does not respond: ")
	require.Equal(t, ""+
		"SHARD   NODE  STATE  INCARNATION  CSN  IN MEMORY  WAITING  INTENTS  RECORDS  STEP\n"+
		"s0      n1    up     2            30   4          5        6        7        2 µs\n"+
		"s1      n3    down   -            -    -          -        -        -        -\n"+
		"s2 hot  n2    up     9            0    0          0        0        0        0 µs\n", r.out)
	got := objects(t, a.run(t, "shards", "-o", "json").out)
	require.Len(t, got, 3)
	require.Equal(t, float64(30), got[0]["csn"])
	require.Equal(t, map[string]any{"shard": float64(1), "node": float64(3), "hot": false, "up": false}, got[1])
}

func TestEachKindOfFailureHasItsCode(t *testing.T) {
	n := start(t)
	for k, want := range map[kv.Kind]int{
		kv.KindInvalid: 2, kv.KindWrongType: 7, kv.KindConditionFailed: 3, kv.KindOutOfRange: 3, kv.KindAborted: 6,
		kv.KindUnavailable: 4,
		kv.KindTooOld:      5, kv.KindResourceExhausted: 4, kv.KindDeadlineExceeded: 4, kv.KindCancelled: 4,
		kv.KindNotFound:        1,
		kv.KindCorrupt:         7,
		kv.KindUnauthenticated: 8, kv.KindPermissionDenied: 8,
	} {
		refuse := func(req gateway.Request, done func(gateway.Response)) {
			done(gateway.Response{ID: req.ID, Attempts: 1,
				Err: &kv.Error{Kind: k, Text: "because", Op: -1, Hint: "do something"}})
		}
		n.submit.Store(&refuse)
		n.run(t, "put", "k", "v", "--retry=false").fails(t, want, "linchpin: "+k.String()+": because\nhint: do something\n")
	}
	// After an internal error the client queries the outcome, which aborts what has not committed.
	refuse := func(req gateway.Request, done func(gateway.Response)) {
		done(gateway.Response{ID: req.ID, Attempts: 1, Err: kv.Errorf(kv.KindInternal, "because")})
	}
	n.submit.Store(&refuse)
	require.Equal(t, 6, n.run(t, "put", "k", "v", "--retry=false").code)
}

func TestWhatIsUnknownNamesTheIDToAskFor(t *testing.T) {
	n := start(t)
	silent := func(gateway.Request, func(gateway.Response)) {}
	n.submit.Store(&silent)
	r := n.run(t, "put", "k", "v", "--timeout", "1s")
	r.fails(t, 5, "hint: ask with: linchpin outcome ")
	r = n.run(t, "put", "k", "v", "--timeout", "1s", "--output", "json")
	require.Equal(t, 5, r.code)
	var o map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.errs), &o))
	require.Equal(t, "OutcomeUnknown", o["kind"])
	require.Equal(t, float64(5), o["exit_code"])
	require.Len(t, o["txn_id"], 32)
}

func TestWithoutAServerCommandsFailAtOnce(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, lis.Close())
	for _, args := range [][]string{{"get", "k"}, {"put", "k", "v"}, {"del", "k"}, {"scan"}, {"incr", "k"},
		{"txn", "get k"},
		{"outcome", "00000000000000010000000000000002"}, {"status"}, {"shards"}, {"hot"}, {"hot", "--watch"},
		{"hot", "pin", "k"}, {"hot", "mode", "off"}} {
		run(t, "", append(args, "--addr", lis.Addr().String(), "--timeout", "1m")...).fails(t, 4, "no node can be reached")
	}
}

func TestSeveralAddressesAreTriedInOrder(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, lis.Close())
	n := start(t)
	require.Equal(t, "1\n", run(t, "", "incr", "n", "--addr", lis.Addr().String()+","+n.addr).ok(t))
}

func TestUsage(t *testing.T) {
	require.Contains(t, run(t, "").ok(t), "Data types:")
	require.Contains(t, run(t, "", "help", "txn").ok(t), "delrange START END")
	require.Contains(t, run(t, "", "completion", "bash").ok(t), "linchpin")
	run(t, "", "completion", "fush").fails(t, 2, `there is no command "fush" of "linchpin completion"`)
	r := run(t, "", "gett", "k")
	r.fails(t, 2, `there is no command "gett"; did you mean get?`)
	require.Contains(t, r.errs, "hint: see: linchpin --help")
	run(t, "", "gett", "k", "--limit", "3").fails(t, 2, `there is no command "gett"; did you mean get?`)
	run(t, "", "hot", "pinn", "k", "--prefix").fails(t, 2,
		`there is no command "pinn" of "linchpin hot"; did you mean pin?`)
	run(t, "", "get", "--colour").fails(t, 2, "unknown flag: --colour\n")
	run(t, "", "scan", "--key-only").fails(t, 2, "unknown flag: --key-only; did you mean --keys-only?")
	run(t, "", "get", "k", "-o", "yaml").fails(t, 2, `--output is "yaml", want table or json`)
	run(t, "", "get", "k", "--timeout", "soon").fails(t, 2, "soon")
	run(t, "", "version", "please").fails(t, 2, "too many")
	for _, group := range []string{"snapshot", "backup", "cert", "cluster", "user"} {
		run(t, "", group, "nothing").fails(t, 2, `there is no command "nothing" of "linchpin `+group+`"`)
	}
}

func TestEveryCommandHasProseAndAnExample(t *testing.T) {
	for _, cmd := range cli.New(cli.Streams{}).Commands() {
		require.NotEmpty(t, cmd.Short, cmd.Name())
		require.NotContains(t, cmd.Short, ".", cmd.Name())
		require.Contains(t, cmd.Long, ".", cmd.Name())
		if cmd.IsAdditionalHelpTopicCommand() {
			continue
		}
		require.Contains(t, cmd.Example, "linchpin "+cmd.Name(), cmd.Name())
	}
}

func TestVersion(t *testing.T) {
	require.Regexp(t, `^linchpin \S+.*, go1\.\S+, \w+/\w+\n$`, run(t, "", "version").ok(t))
	require.NotEmpty(t, objects(t, run(t, "", "version", "-o", "json").ok(t))[0]["version"])
	run(t, "", "version", "-o", "xml").fails(t, 2, "want table or json")
	b := cli.Build{Version: "v0.1.0", Commit: "0123456789abcdef", Modified: true, Go: "go1.26", Platform: "linux/amd64"}
	require.Equal(t, "linchpin v0.1.0 (commit 012345678, modified), go1.26, linux/amd64", b.String())
}
