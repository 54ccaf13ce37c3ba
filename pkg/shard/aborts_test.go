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
	abortingUser kv.Account = 1 + iota
	otherUser
)

// abortLoad is a shard and a gateway on which the puts of one user fail.
type abortLoad struct {
	t   testing.TB
	m   *shard.Machine
	now int64
	// known is how many aborts the gateways know.
	known uint64
	// announced counts announcements.
	announced int
	sent      uint64
	room      shard.Output
}

func newAbortLoad(t testing.TB) *abortLoad {
	s := &abortLoad{t: t}
	s.m, s.room = shard.New(shard.Config{Lease: -1, Nodes: 1}, shard.Recovered{}, 0, 0)
	return s
}

// step delivers a message and returns the response.
func (s *abortLoad) step(env *msg.Envelope) *msg.CommitResponse {
	s.now += int64(50 * time.Microsecond) // 20,000 a second
	in := shard.Input{Now: s.now, Wall: s.now, Messages: []*msg.Envelope{env}, Buffers: s.room, Disk: shard.DiskEnough}
	var answer *msg.CommitResponse
	for {
		s.room = s.m.Step(in)
		in = shard.Input{Now: s.now, Wall: s.now, Disk: shard.DiskEnough}
		for _, r := range s.room.Reads {
			in.Reads = append(in.Reads, entry.ReadResult{ID: r.ID, Kind: r.Kind}) // the log is empty
		}
		for _, out := range s.room.Send {
			if msg.Is[msg.Announcement](out) {
				s.announced++
				s.known = max(s.known, msg.As[msg.Announcement](out).Aborts)
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

// put is a put of a user that began at a time relative to now, and is sent when its gateway knows a number of
// aborts.
func (s *abortLoad) put(by kv.Account, began time.Duration, known uint64, key string, expect msg.Expect) *msg.Envelope {
	s.sent++
	env, p := msg.CommitRequestTo(0)
	*p = msg.CommitRequest{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: s.now + int64(began), Rand: s.sent}, Attempt: 1},
		CommitID: kv.CommitID{Gateway: 1, Number: s.sent}, User: by, Aborts: known,
		Piece: msg.Piece{Incarnation: 1, Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte(key), Value: []byte("v"),
			Expect: expect}}}}
	return env
}

// TestAbortsOfOneUserDoNotAffectOtherTransactions aborts six times as many attempts of one user as a shard
// remembers, half of them with ids from nine minutes ahead. A transaction of any user that is 30 s old still
// commits, and so does one of the age of moves. Those of other users commit even if their request was sent
// before all aborts.
func TestAbortsOfOneUserDoNotAffectOtherTransactions(t *testing.T) {
	s := newAbortLoad(t)
	s.now = int64(time.Hour)
	require.True(t, s.step(s.put(otherUser, 0, 0, "taken", msg.ExpectNothing)).Committed)
	commits := func(by kv.Account, age time.Duration, known uint64) {
		t.Helper()
		a := s.step(s.put(by, -age, known, "free", msg.ExpectNothing))
		require.True(t, a.Committed, "%v", a.Failure)
	}
	const aborted = 200_000
	ahead := []time.Duration{0, 9*time.Minute + 50*time.Second}
	for n := range aborted {
		a := s.step(s.put(abortingUser, ahead[n%2], s.known, "taken", msg.ExpectAbsent))
		require.Equal(t, msg.ReasonRequest, a.Failure.Reason)
		if n%10_000 == 0 {
			commits(abortingUser, 30*time.Second, s.known)
			commits(otherUser, 30*time.Second, 0)
			commits(0, kv.MaxTxnAge, 0)
		}
	}
	late := s.step(s.put(abortingUser, 0, 0, "free", msg.ExpectNothing))
	require.False(t, late.Committed, "it may be a late copy of an aborted one")
	require.Equal(t, msg.ReasonTombstone, late.Failure.Reason, "retryable")
	require.EqualValues(t, aborted, late.Aborts)
	require.Greater(t, s.announced, 40, "announcements reach gateways without a response")
}
