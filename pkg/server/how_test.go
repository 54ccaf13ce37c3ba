package server

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/snapshot"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// pastRequests are parts of requests, which a decoder puts together.
func pastRequests() [][]pb.ExecuteRequest {
	name := func(s string) *pb.At { return &pb.At{At: &pb.At_Snapshot{Snapshot: s}} }
	asOf := &pb.At{At: &pb.At_AsOfNs{AsOfNs: 1 << 60}}
	return [][]pb.ExecuteRequest{
		{{At: name("s"), CausalityToken: []byte{1, 2, 3}, Plan: pb.ReadPlan_PLAN_SNAPSHOT}},
		{{At: name("first")}, {At: name("second")}},
		{{At: name("first")}, {At: asOf}, {Plan: pb.ReadPlan_PLAN_PARALLEL}},
		{{At: asOf}, {At: &pb.At{}}, {CausalityToken: []byte("a")}, {CausalityToken: []byte("longer")},
			{CausalityToken: []byte("b")}},
		{{At: &pb.At{}, Plan: 99}, {Plan: -1}},
		{{}},
	}
}

// callBytes is a message of one call, whose request comes in parts.
func callBytes(t testing.TB, parts ...pb.ExecuteRequest) []byte {
	body := []byte{8, 7} // its number is 7
	for _, p := range parts {
		raw, err := p.Marshal()
		require.NoError(t, err)
		require.Less(t, len(raw), 128)
		body = append(append(body, 26, byte(len(raw))), raw...)
	}
	return append(binary.AppendUvarint([]byte{10}, uint64(len(body))), body...)
}

// In protobuf the parts of a message that comes in several add up: the last
// value of a field counts, and messages in it are merged.
func TestTheDecoderMergesWhatSaysHowToRead(t *testing.T) {
	for _, parts := range pastRequests() {
		raw := callBytes(t, append(parts, pb.ExecuteRequest{Ops: []pb.Op{getOp("k")}})...)
		var want pb.PipelineRequest
		require.NoError(t, want.Unmarshal(raw))
		calls := 0
		d := decoder{call: func(c *incoming, _ time.Time) bool {
			calls++
			r := &want.Calls[0].Request
			require.Nil(t, c.err)
			require.Equal(t, r.At, c.at)
			require.Equal(t, string(r.CausalityToken), string(c.token))
			require.Equal(t, r.Plan, c.plan)
			require.Equal(t, "k", string(c.ops[0].Key))
			return true
		}}
		require.NoError(t, d.Unmarshal(raw))
		require.Equal(t, 1, calls)
	}
}

// The bytes of a message are the transport's: it uses them again.
func TestTheDecoderKeepsNoBytesOfAMessage(t *testing.T) {
	raw := callBytes(t, pb.ExecuteRequest{CausalityToken: []byte("token"),
		At: &pb.At{At: &pb.At_Snapshot{Snapshot: "name"}}, Ops: []pb.Op{getOp("k")}})
	var got incoming
	d := decoder{call: func(c *incoming, _ time.Time) bool { got = *c; return true }}
	require.NoError(t, d.Unmarshal(raw))
	clear(raw)
	require.Equal(t, "token", string(got.token))
	require.Equal(t, "name", got.at.GetSnapshot())
}

func TestPlansHaveTheirNumbersBothWays(t *testing.T) {
	require.Len(t, plans, len(pb.ReadPlan_name))
	for n := range pb.ReadPlan_name {
		p, known := plans[pb.ReadPlan(n)]
		require.True(t, known, pb.ReadPlan(n))
		require.Equal(t, pb.ReadPlan(n), planOf(p), p)
	}
}

func TestPlansThatCanBeAskedFor(t *testing.T) {
	s := new(service)
	s.setBackend(newEcho())
	for plan, want := range plans {
		h, err := s.how(nil, nil, plan)
		if _, bad := txn.ParsePlan(want.String()); bad != nil {
			require.Equal(t, kv.KindInvalid, err.Kind, plan)
			continue
		}
		require.Nil(t, err)
		require.Equal(t, txn.TxnOptions{Plan: want}, h)
	}
}

func TestTTLs(t *testing.T) {
	longest := uint64(snapshot.MaxTTL / time.Millisecond)
	for ms, want := range map[uint64]time.Duration{0: snapshot.DefaultTTL, 1: time.Millisecond,
		1500:    1500 * time.Millisecond,
		longest: snapshot.MaxTTL} {
		got, err := ttl(ms)
		require.Nil(t, err)
		require.Equal(t, want, got)
	}
	for _, ms := range []uint64{longest + 1, 1 << 63, 1<<64 - 1} {
		_, err := ttl(ms)
		require.Equal(t, kv.KindInvalid, err.Kind)
		require.Contains(t, err.Hint, "the limit is 2160 h")
	}
}
