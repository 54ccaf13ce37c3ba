package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// states is a shard with leaders, and a state of it that a round has fixed.
type states struct {
	*leaders
	round       kv.TxnRef
	csn         kv.CSN
	incarnation kv.Incarnation
	// urgent are the responses to rounds that have not waited for the log.
	urgent int
	number uint32
}

// newStates returns a shard that has written k = 1, has fixed a state, and has written k = 2 then.
func newStates(t *testing.T, mutants mutant.Set) *states {
	f := &states{round: nthTxn(77)}
	f.leaders = newLeadersWith(t, func(c *shard.Config) {
		c.Lease, c.Mutants, c.GarbageBatch = 2*time.Second, mutants, 1
	})
	f.shards[0].OnOutput = func(out *shard.Output) { f.urgent += len(out.Urgent) }
	f.at(time.Minute)
	f.write("1")
	e := msg.ToShard(0)
	e.Body = &msg.Read{Reader: f.round, Gateway: 1, Number: 1, RetainNanos: int64(time.Minute)}
	f.send(e)
	r := msg.As[msg.ReadResponse](f.out[len(f.out)-1])
	require.NotNil(t, r)
	f.csn, f.incarnation = r.CSN, r.Reading.Incarnation
	f.write("2")
	return f
}

func (f *states) write(value string) {
	f.now++
	e := commitMsg(nthTxn(f.now), kv.CommitID{Gateway: 1, Number: uint64(f.now)}, 0, nil,
		msg.Piece{Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte("k"), Value: []byte(value)}}})
	msg.As[msg.CommitRequest](e).Piece.Incarnation = f.machine().Incarnation()
	f.send(e)
	require.True(f.t, f.answer().Committed)
}

// readState reads k at a CSN of the incarnation that has fixed the state. It returns why that fails, or the value.
func (f *states) readState(csn kv.CSN) string {
	f.number++
	e := msg.ToShard(0)
	e.Body = &msg.Read{Reader: nthTxn(78), Gateway: 1, Number: f.number, CSN: csn, Round: f.round,
		Incarnation: f.incarnation, Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}}
	f.send(e)
	r := msg.As[msg.ReadResponse](f.out[len(f.out)-1])
	require.NotNil(f.t, r)
	require.Equal(f.t, f.number, r.Number)
	if r.Failure != nil {
		return r.Failure.Reason.String()
	}
	return string(r.Results[0].Value)
}

// afterChange has another leader write k again and again, for a time, and reads the state.
func (f *states) afterChange(passed time.Duration) string {
	f.change(0)
	for n := range 20 {
		f.write(fmt.Sprint("new ", n))
		f.at(time.Duration(f.now) + passed/20)
	}
	return f.readState(f.csn)
}

func TestNextLeaderServesTheStatesOfEarlierOnes(t *testing.T) {
	f := newStates(t, mutant.Set{})
	require.Zero(t, f.urgent, "the CSN is committed before the gateway learns it")
	require.Equal(t, "1", f.readState(f.csn))
	require.Equal(t, "1", f.afterChange(50*time.Second))
	require.Equal(t, "1", f.afterChange(50*time.Second), "and so does the one after it")
	require.Equal(t, "ReasonIncarnation", f.readState(f.machine().CSN()), "above the CSN at which it has begun")
	e := msg.ToShard(0)
	e.Body = &msg.ReadPage{Txn: f.round, Gateway: 1, Number: 1, Incarnation: f.incarnation, CSN: f.csn, Limit: 10}
	f.send(e)
	page := msg.As[msg.ReadPageResponse](f.out[len(f.out)-1])
	require.Equal(t, "1", string(page.Pairs[0].Value))
	require.Equal(t, f.machine().Incarnation(), page.Incarnation)

	f = newStates(t, mutant.Set{})
	require.Equal(t, "ReasonIncarnation", f.afterChange(61*time.Second), "for one minute")
}

// TestStatesOfEarlierLeadersAreCollectedLater: when the minute is over, and nothing reads there for another one.
func TestStatesOfEarlierLeadersAreCollectedLater(t *testing.T) {
	f := newStates(t, mutant.Set{})
	require.Equal(t, "1", f.afterChange(50*time.Second))
	for range 200 {
		f.write("x")
		f.at(time.Duration(f.now) + time.Second)
	}
	old := entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte("k"), CSN: f.csn}
	require.Empty(t, f.shards[0].Read(old).Rows)
}
