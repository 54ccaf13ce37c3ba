package groupcommit

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/shardlog"
	"github.com/linchpindb/linchpin/pkg/shardlog/logtest"
)

// step makes a step that sends numbered messages, with or without an entry.
func step(s *Shard, writes bool, numbers ...int) *Step {
	o := shard.Output{}
	if writes {
		o.Entries = make([]entry.Entry, 1)
	}
	for _, n := range numbers {
		o.Send = append(o.Send, begin(n))
	}
	return &Step{Shard: s, Out: o}
}

// numbersOf returns the numbers of messages.
func numbersOf(envs []*msg.Envelope) (out []int) {
	for _, e := range envs {
		out = append(out, int(msg.As[msg.Read](e).Number))
	}
	return out
}

// writer writes the batches of a group, each at the next position.
type writer struct {
	Group
	t  *testing.T
	at engine.Position
}

// write writes steps and returns the messages that leave at once.
func (w *writer) write(steps ...*Step) []int {
	for _, s := range steps {
		w.Submit(s)
	}
	batch := w.Take()
	require.Equal(w.t, steps, batch.Steps, "in order")
	if len(batch.Groups) > 0 {
		w.at++
	}
	batch.OnApplied()
	w.Written(batch, w.at, 0)
	now, _ := w.Pass(batch, nil)
	batch.Hold()
	return numbersOf(now)
}

// sync makes the store durable up to a position and returns the messages that leave.
func (w *writer) sync(at engine.Position) []int {
	w.OnDurable(at)
	return numbersOf(w.Sends(nil))
}

// Two shards write and send in several batches, and the store becomes durable behind them.
func TestMessagesWaitForTheirEntries(t *testing.T) {
	w := &writer{t: t}
	batches := 0
	w.BatchDurable = func(int, int64) { batches++ }
	a, b := w.NewShard(1), w.NewShard(2)
	require.Equal(t, []int{1}, w.write(step(a, false, 1)), "nothing is written yet")
	require.Empty(t, w.write(step(a, true, 2)), "waits for its own entry")
	require.Empty(t, w.write(step(a, false, 3)), "may report what the previous step wrote")
	require.Equal(t, []int{4}, w.write(step(b, false, 4)), "does not wait for another shard")
	require.Empty(t, w.write(step(b, true, 5), step(a, false, 6), step(b, false, 7)))
	require.EqualValues(t, 2, w.Last())
	require.Equal(t, []int{2, 3, 6}, w.sync(1), "6 does not wait for the entry of another shard in its batch")
	require.Empty(t, w.sync(0), "a late notification changes nothing")
	require.Equal(t, []int{8}, w.write(step(a, false, 8)), "all its entries are durable")
	require.Empty(t, w.write(step(b, false, 9)))
	require.Equal(t, []int{5, 7, 9}, w.sync(2))
	require.Empty(t, w.sync(2), "once")
	require.Empty(t, w.write(step(a, true)))
	require.Equal(t, 2, batches)
	w.sync(3)
	require.Equal(t, 3, batches, "a batch without messages is counted too")
	w.OnDurable(4)
	require.Equal(t, []int{10}, w.write(step(a, true, 10)), "it was durable before it was registered")
}

// TestShardsMessagesLeaveInOrder of its steps, whatever other shards write in the same batches, and whichever
// goroutine sends.
func TestShardsMessagesLeaveInOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := &writer{t: t}
		shards := []*Shard{w.NewShard(1), w.NewShard(2), w.NewShard(3)}
		sent, left := [3]int{}, [3]int{}
		leave := func(numbers []int) {
			for _, n := range numbers {
				i := n % 3
				require.Equal(t, left[i], n/3, "seed %d, shard %d", seed, i)
				left[i]++
			}
		}
		for range 100 {
			var steps []*Step
			for range r.IntN(4) {
				i := r.IntN(3)
				steps = append(steps, step(shards[i], r.IntN(3) == 0, 3*sent[i]+i))
				sent[i]++
			}
			if len(steps) > 0 {
				leave(w.write(steps...))
			}
			w.OnDurable(w.durable + engine.Position(r.IntN(int(w.at-w.durable)+1)))
			if r.IntN(2) == 0 { // else the goroutine that sends is late
				leave(numbersOf(w.Sends(nil)))
			}
		}
		leave(w.sync(w.at))
		require.Equal(t, sent, left)
	}
}

// A store read sees all rows that its shard has appended before it, so it waits until these are applied.
func TestReadsWaitForRows(t *testing.T) {
	w := &writer{t: t}
	a := w.NewShard(1)
	s := step(a, true)
	s.Out.Reads = []entry.Read{{ID: 1}}
	s.Out.Dropped = []uint64{7}
	w.Submit(s)
	batch := w.Take()
	a.HoldReads(1, shardlog.Reads{Start: []entry.Read{{ID: 0}}})
	require.Empty(t, a.Reads(nil))
	batch.OnApplied()
	require.Equal(t, []shardlog.Reads{{Start: []entry.Read{{ID: 0}}}, {Start: s.Out.Reads, Drop: s.Out.Dropped}},
		a.Reads(nil))
	require.Empty(t, a.Reads(nil), "once")
}

// TestLogs runs the contract of shard logs.
func TestLogs(t *testing.T) {
	logtest.Run(t, func() logtest.Logs {
		l := &logs{store: memstore.New()}
		l.start()
		return l
	})
}

// logs are logs in a store whose disk loses what is not synced.
type logs struct {
	store *memstore.Store
	group *Group
	logs  map[kv.ShardID]*Shard
}

func (l *logs) start() {
	l.group, l.logs = &Group{}, map[kv.ShardID]*Shard{}
	for s := range kv.ShardID(8) {
		l.logs[s] = l.group.NewShard(s)
	}
}

func (l *logs) Log(s kv.ShardID) shardlog.Log { return l.logs[s].Log }

func (l *logs) Proceed(r *rand.Rand, all bool) {
	if all || r.IntN(2) == 0 {
		batch := l.group.Take()
		if len(batch.Groups) > 0 {
			at, err := l.store.Append(batch.Groups)
			if err != nil {
				panic(err)
			}
			batch.OnApplied()
			l.group.Written(batch, at, 0)
		}
	}
	to := l.store.Last()
	if !all {
		to = l.between(r)
	}
	l.store.SyncTo(to)
	l.group.OnDurable(l.store.Durable())
}

// between returns a position that may or may not be durable.
func (l *logs) between(r *rand.Rand) engine.Position {
	return l.store.Durable() + engine.Position(r.IntN(int(l.store.Last()-l.store.Durable())+1))
}

func (l *logs) Crash(r *rand.Rand) {
	l.store.Crash(l.between(r))
	l.start()
}

func (l *logs) Read(s kv.ShardID, key []byte) []byte {
	res := l.store.Read(s, entry.Read{Kind: entry.ReadRow, Table: entry.TableOutcome, Key: key})
	if len(res.Rows) == 0 {
		return nil
	}
	return res.Rows[0].Value
}
