package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/world"
)

// historyShard is a store of one shard that is written once a second, with a snapshot for the history each
// second, for a minute.
type historyShard struct {
	*world.Single
	t *testing.T
	// now is the time since the start: the right time of day less base. wrong is the error of the time of day.
	now, wrong time.Duration
	sent       uint64
}

// base is when a historyShard was begun.
const base = int64(1_000_000 * time.Hour)

func newHistoryShard(t *testing.T) *historyShard {
	h := &historyShard{t: t, Single: world.NewSingle(shard.Config{Nodes: 1,
		Snapshots: shard.SnapshotConfig{Every: time.Second, History: time.Minute, Node: 1}})}
	h.restart()
	return h
}

// restart shuts the machine down and creates it again from the log.
func (h *historyShard) restart() {
	if h.M != nil {
		require.NoError(h.t, h.Shutdown())
	}
	h.Now, h.Wall = int64(h.now), base+int64(h.now+h.wrong)
	_, err := h.Restart(nil)
	require.NoError(h.t, err)
}

// step delivers a message and returns what is sent.
func (h *historyShard) step(env *msg.Envelope) []*msg.Envelope {
	h.Now, h.Wall = int64(h.now), base+int64(h.now+h.wrong)
	sent, err := h.StepWith(shard.Input{IDTime: base + int64(h.now), Messages: []*msg.Envelope{env}})
	require.NoError(h.t, err)
	return sent
}

func (h *historyShard) ref() kv.TxnRef {
	h.sent++
	return kv.TxnRef{TxnID: kv.TxnID{Time: base + int64(h.now), Rand: h.sent}, Attempt: 1}
}

// second advances the time by a second, in which the time since the start is written and a snapshot is
// retained.
func (h *historyShard) second() {
	h.now += time.Second
	env, p := msg.CommitRequestTo(0)
	*p = msg.CommitRequest{Txn: h.ref(), CommitID: kv.CommitID{Gateway: 1},
		Piece: msg.Piece{Incarnation: h.M.Incarnation(),
			Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte("k"), Value: []byte(h.now.String())}}}}
	require.True(h.t, answerIn(h.step(env)).Committed)
	h.retain("", 0)
}

func answerIn(sent []*msg.Envelope) *msg.CommitResponse {
	for _, env := range sent {
		if msg.Is[msg.CommitResponse](env) {
			return msg.As[msg.CommitResponse](env)
		}
	}
	return &msg.CommitResponse{}
}

// retain fixes a snapshot and has it retained.
func (h *historyShard) retain(name string, ttl time.Duration) *msg.SnapshotResponse {
	id := h.ref()
	env := msg.ToShard(0)
	env.Body = &msg.Read{Reader: id, Gateway: 1, Number: 1, RetainNanos: int64(kv.DefaultScanRetention)}
	ask := msg.ToShard(0)
	for _, sent := range h.step(env) {
		if r := msg.As[msg.ReadResponse](sent); r != nil {
			ask.Body = &msg.RetainSnapshot{Request: h.ref(), Gateway: 1, Incarnation: r.Reading.Incarnation, Fixed: r.Fixed,
				Name: name, TtlNanos: int64(ttl),
				Clock: []msg.ShardCSN{{Shard: 0, CSN: r.CSN}}}
		}
	}
	return snapshotIn(h.step(ask))
}

func snapshotIn(sent []*msg.Envelope) *msg.SnapshotResponse {
	for _, env := range sent {
		if msg.Is[msg.SnapshotResponse](env) {
			return msg.As[msg.SnapshotResponse](env)
		}
	}
	return nil
}

func (h *historyShard) pass(d time.Duration) {
	for range d / time.Second {
		h.second()
	}
}

func (h *historyShard) find(q msg.FindSnapshot) *msg.SnapshotResponse {
	q.Request, q.Gateway = h.ref(), 1
	env := msg.ToShard(0)
	env.Body = &q
	return snapshotIn(h.step(env))
}

// asOf returns the value as of a time since the start, or why it is not known.
func (h *historyShard) asOf(at time.Duration) string {
	r := h.find(msg.FindSnapshot{AsOf: base + int64(at)})
	if r.Failure != nil {
		return r.Failure.Text
	}
	res := h.Read(entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte("k"),
		CSN: r.Snapshots[0].At(0)})
	require.NoError(h.t, res.Err)
	return string(res.Rows[0].Value)
}

// requireHistory verifies that the history has the last minute, and no more.
func (h *historyShard) requireHistory() {
	h.t.Helper()
	all, named, _ := h.M.RetainedSnapshots(int64(h.now))
	require.InDelta(h.t, 61, all-named, 2)
	for ago := range 59 {
		at := h.now - time.Duration(ago)*time.Second
		require.Contains(h.t, h.asOf(at), at.String())
	}
}

// TestHistoryIgnoresAShortClockStep: the time of day is wrong for two seconds. Retention, and reads as of a
// time, are the same as without that.
func TestHistoryIgnoresAShortClockStep(t *testing.T) {
	const day = 24 * time.Hour
	for _, by := range []time.Duration{time.Minute, day, 3650 * day, -time.Minute, -day, -3650 * day} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			h := newHistoryShard(t)
			h.pass(11 * time.Minute)
			require.Nil(t, h.retain("long", 12*time.Hour).Failure)
			require.Nil(t, h.retain("short", 30*time.Second).Failure)
			h.wrong = by
			for range 2 {
				h.second()
				h.requireHistory()
			}
			h.wrong = 0
			for range 90 {
				h.second()
				h.requireHistory()
			}
			require.Nil(t, h.find(msg.FindSnapshot{Name: "long"}).Failure)
			require.NotNil(t, h.find(msg.FindSnapshot{Name: "short"}).Failure)
		})
	}
}

// TestHistoryWithAWrongClockAtTheStart: the clock is wrong when the registry starts, and right half a minute
// later. No snapshot expires early. From the correction until the clock has been right for as long as it was
// wrong, reads as of a time are rejected; then the history is as it was, also after the next start.
func TestHistoryWithAWrongClockAtTheStart(t *testing.T) {
	const day = 24 * time.Hour
	for _, by := range []time.Duration{time.Minute, day, 3650 * day, -time.Minute, -day, -3650 * day} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			h := newHistoryShard(t)
			h.pass(2 * time.Minute)
			require.Nil(t, h.retain("long", 12*time.Hour).Failure)
			h.wrong = by
			h.restart()
			h.pass(20 * time.Second)
			require.Nil(t, h.retain("longer", 12*time.Hour).Failure)
			h.pass(10 * time.Second)
			require.Nil(t, h.find(msg.FindSnapshot{Name: "long"}).Failure)
			h.wrong = 0
			for range 29 {
				h.second()
				require.Contains(t, h.asOf(h.now), "the server's clock was set soon after its start")
			}
			h.pass(3 * time.Second)
			h.requireHistory()
			h.restart()
			h.requireHistory()
			h.pass(12 * time.Minute)
			h.requireHistory()
			for _, name := range []string{"long", "longer"} {
				require.Nil(t, h.find(msg.FindSnapshot{Name: name}).Failure)
			}
			h.now += 13 * time.Hour
			h.second()
			for _, name := range []string{"long", "longer"} {
				require.NotNil(t, h.find(msg.FindSnapshot{Name: name}).Failure)
			}
		})
	}
}

// TestLastingClockStepIsAdopted by the history, with all snapshots of this incarnation.
func TestLastingClockStepIsAdopted(t *testing.T) {
	h := newHistoryShard(t)
	h.pass(11 * time.Minute)
	h.wrong = time.Hour
	h.pass(11 * time.Minute)
	require.Contains(t, h.asOf(time.Hour+h.now-30*time.Second), (h.now - 30*time.Second).String())
	all, _, age := h.M.RetainedSnapshots(int64(h.now))
	require.InDelta(t, 61, all, 2)
	require.InDelta(t, 61, age.Seconds(), 2)
}
