package shard_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// historian is a store of one shard, which is written once a second, and whose states are
// kept once a second, for a minute.
type historian struct {
	t     *testing.T
	m     *shard.Machine
	store *memstore.Store
	// now is the time since it was begun: the right time of day less base. wrong is by how
	// much the time of day is off.
	now, wrong time.Duration
	sent       uint64
}

// base is when a historian was begun.
const base = int64(1_000_000 * time.Hour)

func newHistorian(t *testing.T) *historian {
	h := &historian{t: t, store: memstore.NewAutoSync()}
	h.restart()
	return h
}

// restart stops the machine cleanly and makes it anew from the log.
func (h *historian) restart() {
	if h.m != nil {
		_, err := h.store.Append([]entry.Group{{Shard: 0, Entries: h.m.Rest()}})
		require.NoError(h.t, err)
	}
	var rec shard.Recovered
	require.NoError(h.t, h.store.Recover(0, rec.Add))
	cfg := shard.Config{Nodes: 1, Pins: shard.PinConfig{Every: time.Second, History: time.Minute, Node: 1}}
	m, out := shard.New(cfg, rec, int64(h.now), h.wall())
	h.m = m
	h.act(out)
}

func (h *historian) wall() int64 { return base + int64(h.now+h.wrong) }

// step gives what is sent for a message.
func (h *historian) step(env *msg.Envelope) []*msg.Envelope {
	return h.act(h.m.Step(shard.Input{Now: int64(h.now), Wall: h.wall(), IDTime: base + int64(h.now), Messages: []*msg.Envelope{env}, Disk: shard.DiskRoomy}))
}

func (h *historian) act(out shard.Output) []*msg.Envelope {
	_, err := h.store.Append([]entry.Group{{Shard: 0, Entries: out.Entries}})
	require.NoError(h.t, err)
	sent := slices.Concat(out.Urgent, out.Send)
	if len(out.Reads) > 0 {
		in := shard.Input{Now: int64(h.now), Wall: h.wall(), IDTime: base + int64(h.now), Disk: shard.DiskRoomy}
		for _, r := range out.Reads {
			in.Reads = append(in.Reads, h.store.Read(0, r))
		}
		sent = append(sent, h.act(h.m.Step(in))...)
	}
	require.NoError(h.t, h.m.Check())
	return sent
}

func (h *historian) ref() kv.TxnRef {
	h.sent++
	return kv.TxnRef{TxnID: kv.TxnID{Time: base + int64(h.now), Rand: h.sent}, Attempt: 1}
}

// second has a second pass, in which the time since the beginning is written, and the state
// is kept.
func (h *historian) second() {
	h.now += time.Second
	env, p := msg.ParkTo(0)
	*p = msg.CommitRequest{Txn: h.ref(), CommitID: kv.CommitID{Gateway: 1}, Piece: msg.Piece{Incarnation: h.m.Incarnation(),
		Ops: []msg.Op{{Kind: msg.OpPut, Key: []byte("k"), Value: []byte(h.now.String())}}}}
	require.True(h.t, answerIn(h.step(env)).Committed)
	h.keep("", 0)
}

func answerIn(sent []*msg.Envelope) *msg.CommitResponse {
	for _, env := range sent {
		if msg.Is[msg.CommitResponse](env) {
			return msg.As[msg.CommitResponse](env)
		}
	}
	return &msg.CommitResponse{}
}

// keep fixes a state and has it kept.
func (h *historian) keep(name string, ttl time.Duration) *msg.SnapshotResponse {
	id := h.ref()
	env := msg.ToShard(0)
	env.Body = &msg.Read{Reader: id, Gateway: 1, Number: 1, KeepNanos: int64(kv.DefaultScanKeep)}
	ask := msg.ToShard(0)
	for _, sent := range h.step(env) {
		if r := msg.As[msg.ReadResponse](sent); r != nil {
			ask.Body = &msg.RetainSnapshot{Request: h.ref(), Gateway: 1, Incarnation: r.Reading.Incarnation, Fixed: r.Fixed, Name: name, TtlNanos: int64(ttl),
				Clock: []msg.ShardCSN{{Shard: 0, Index: r.Index}}}
		}
	}
	return pinIn(h.step(ask))
}

func pinIn(sent []*msg.Envelope) *msg.SnapshotResponse {
	for _, env := range sent {
		if msg.Is[msg.SnapshotResponse](env) {
			return msg.As[msg.SnapshotResponse](env)
		}
	}
	return nil
}

func (h *historian) pass(d time.Duration) {
	for range d / time.Second {
		h.second()
	}
}

func (h *historian) find(q msg.FindSnapshot) *msg.SnapshotResponse {
	q.Request, q.Gateway = h.ref(), 1
	env := msg.ToShard(0)
	env.Body = &q
	return pinIn(h.step(env))
}

// asOf is what was written at a time since the beginning, as the history tells, or why
// that is not known.
func (h *historian) asOf(at time.Duration) string {
	r := h.find(msg.FindSnapshot{AsOf: base + int64(at)})
	if r.Failure != nil {
		return r.Failure.Text
	}
	res := h.store.Read(0, entry.Read{Kind: entry.ReadKey, Table: entry.TableVersion, Key: []byte("k"), Index: r.Pins[0].At(0)})
	require.NoError(h.t, res.Err)
	return string(res.Rows[0].Value)
}

// requireHistory: the last minute is there, as it was, and no more than that.
func (h *historian) requireHistory() {
	h.t.Helper()
	all, named, _ := h.m.Pins(int64(h.now))
	require.InDelta(h.t, 61, all-named, 2)
	for ago := range 59 {
		at := h.now - time.Duration(ago)*time.Second
		require.Contains(h.t, h.asOf(at), at.String())
	}
}

// TestStatesOfThePastWhenTheTimeOfDayJumps: the time of day is wrong for two seconds. What is
// kept, for how long, and what is read as of a time, is the same as if it had not been.
func TestStatesOfThePastWhenTheTimeOfDayJumps(t *testing.T) {
	const day = 24 * time.Hour
	for _, by := range []time.Duration{time.Minute, day, 3650 * day, -time.Minute, -day, -3650 * day} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			h := newHistorian(t)
			h.pass(11 * time.Minute)
			require.Nil(t, h.keep("long", 12*time.Hour).Failure)
			require.Nil(t, h.keep("short", 30*time.Second).Failure)
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

// TestStatesOfThePastWhenTheTimeOfDayIsWrongAtAStart: it is wrong when the keeper starts, and
// right half a minute later. Nothing goes early. From when it is set until it has been
// right for as long as it was wrong, nobody is told the state of another time; then the
// history is as it was, also after the next start.
func TestStatesOfThePastWhenTheTimeOfDayIsWrongAtAStart(t *testing.T) {
	const day = 24 * time.Hour
	for _, by := range []time.Duration{time.Minute, day, 3650 * day, -time.Minute, -day, -3650 * day} {
		t.Run(fmt.Sprint(by), func(t *testing.T) {
			h := newHistorian(t)
			h.pass(2 * time.Minute)
			require.Nil(t, h.keep("long", 12*time.Hour).Failure)
			h.wrong = by
			h.restart()
			h.pass(20 * time.Second)
			require.Nil(t, h.keep("longer", 12*time.Hour).Failure)
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

// TestAWrongTimeOfDayThatStaysIsBelieved: the history goes on by it, and all that was kept in
// this life with it.
func TestAWrongTimeOfDayThatStaysIsBelieved(t *testing.T) {
	h := newHistorian(t)
	h.pass(11 * time.Minute)
	h.wrong = time.Hour
	h.pass(11 * time.Minute)
	require.Contains(t, h.asOf(time.Hour+h.now-30*time.Second), (h.now - 30*time.Second).String())
	all, _, age := h.m.Pins(int64(h.now))
	require.InDelta(t, 61, all, 2)
	require.InDelta(t, 61, age.Seconds(), 2)
}
