package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

const (
	attacker kv.Account = 1 + iota
	somebody
)

// storm is a shard on which the puts of one user fail.
type storm struct {
	t   testing.TB
	m   *shard.Machine
	now int64
	// heard is of how many aborts gateways have.
	heard uint64
	// told counts announcements.
	told int
	sent uint64
	room shard.Output
}

func newStorm(t testing.TB) *storm {
	s := &storm{t: t}
	s.m, s.room = shard.New(shard.Config{Lease: -1, Nodes: 1}, shard.Recovered{}, 0, 0)
	return s
}

// step passes a message on and gives its answer.
func (s *storm) step(env *msg.Envelope) *msg.CommitResponse {
	s.now += int64(50 * time.Microsecond) // 20,000 a second
	in := shard.Input{Now: s.now, Wall: s.now, Messages: []*msg.Envelope{env}, Room: s.room, Disk: shard.DiskRoomy}
	var answer *msg.CommitResponse
	for {
		s.room = s.m.Step(in)
		in = shard.Input{Now: s.now, Wall: s.now, Disk: shard.DiskRoomy}
		for _, r := range s.room.Reads {
			in.Reads = append(in.Reads, entry.ReadResult{ID: r.ID, Kind: r.Kind}) // the log is empty
		}
		for _, out := range s.room.Send {
			if msg.Is[msg.Announcement](out) {
				s.told++
				s.heard = max(s.heard, msg.As[msg.Announcement](out).Aborts)
			}
			if msg.Is[msg.CommitResponse](out) {
				answer = msg.As[msg.CommitResponse](out)
			}
		}
		if len(in.Reads) == 0 {
			return answer
		}
	}
}

// put is a put of a user's, which began so long ago, or ahead, and is sent when its gateway
// has heard of so many aborts.
func (s *storm) put(by kv.Account, began time.Duration, heard uint64, key string, expect msg.Expect) *msg.Envelope {
	s.sent++
	env, p := msg.ParkTo(0)
	*p = msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: s.now + int64(began), Rand: s.sent}, Attempt: 1}, CommitID: kv.CommitID{Gateway: 1, Number: s.sent}, User: by, Aborts: heard,
		Piece: msg.Piece{Incarnation: 1, Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte(key), Value: []byte("v"), Expect: expect}}}}
	return env
}

// TestAbortsEndNothingElse: a user has six times as many attempts aborted as a shard
// remembers, half of them with ids from nine minutes ahead. A transaction of anybody's that
// is half a minute old commits all the same, and so does one that is as old as moves of keys
// are; of other users' even those whose commit was sent when they began.
func TestAbortsEndNothingElse(t *testing.T) {
	s := newStorm(t)
	s.now = int64(time.Hour)
	require.True(t, s.step(s.put(somebody, 0, 0, "taken", msg.ExpectNothing)).Committed)
	commits := func(by kv.Account, age time.Duration, heard uint64) {
		t.Helper()
		a := s.step(s.put(by, -age, heard, "free", msg.ExpectNothing))
		require.True(t, a.Committed, "%v", a.Failure)
	}
	const aborted = 200_000
	ahead := []time.Duration{0, 9*time.Minute + 50*time.Second}
	for n := range aborted {
		a := s.step(s.put(attacker, ahead[n%2], s.heard, "taken", msg.ExpectAbsent))
		require.Equal(t, msg.ReasonRequest, a.Failure.Reason)
		if n%10_000 == 0 {
			commits(attacker, 30*time.Second, s.heard)
			commits(somebody, 30*time.Second, 0)
			commits(0, kv.MaxTxnAge, 0)
		}
	}
	late := s.step(s.put(attacker, 0, 0, "free", msg.ExpectNothing))
	require.False(t, late.Committed, "it may be an old copy of one that was aborted")
	require.Equal(t, msg.ReasonTombstone, late.Failure.Reason, "so that it is tried again")
	require.EqualValues(t, aborted, late.Aborts)
	require.Greater(t, s.told, 40, "gateways without an answer hear of it too")
}
