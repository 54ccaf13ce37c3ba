package shard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// chainWorld is a shard with its log, and beside it a model that keeps every
// version of every key whole. Keys that begin with s are sets, those with d
// maps, and those with z sorted sets.
type chainWorld struct {
	t     *rapid.T
	cfg   shard.Config
	m     *shard.Machine
	store *memstore.Store
	now   int64
	ids   int64
	picks uint64

	// history is what was visible: by index, then by key; a fixed index has its
	// state as long as it may be read at.
	state   map[string]map[string]string
	history map[kv.Index]map[string]map[string]string
	// pending are the transactions that have not been answered, readers the reads
	// with what they must find at.
	pending map[kv.TxnRef][]msg.Op
	voted   []kv.TxnRef
	readers map[kv.TxnRef][]msg.Op
	// asked are cold reads without an answer.
	asked []entry.Read

	// pins are those that the keeper has, and told how often it has told of them.
	pins    []pin
	numbers uint64
	told    uint64
	floor   kv.Index
}

type pin struct {
	number uint64
	index  kv.Index
}

var chainKeys = []string{"d1", "d2", "s1", "s2", "z1"}

// pick draws a number below n, each as likely as any other: what rapid draws is
// mostly small.
func (w *chainWorld) pick(n int, label string) int {
	w.picks++
	return (rapid.IntRange(0, n-1).Draw(w.t, label) + int(w.picks*0x9e3779b97f4a7c15>>40)) % n
}

func newChainWorld(t *rapid.T) *chainWorld {
	w := &chainWorld{t: t, store: memstore.NewAutoSync(), state: map[string]map[string]string{}, history: map[kv.Index]map[string]map[string]string{0: {}},
		pending: map[kv.TxnRef][]msg.Op{}, readers: map[kv.TxnRef][]msg.Op{}}
	w.cfg = shard.Config{Lease: 100 * time.Millisecond, HoldBound: time.Hour, CacheBytes: rapid.SampledFrom([]int{1, 3000, 1 << 20}).Draw(t, "cache"),
		GarbageBatch: rapid.SampledFrom([]int{1, 4, 1024}).Draw(t, "batch"), Pins: shard.PinConfig{Every: time.Millisecond, Hot: 9, Node: 1},
		Paging: rapid.SampledFrom([]mvcc.Paging{{}, {Over: 300, Least: 60, Chain: 1}, {Over: 300, Least: 400, Chain: 3}}).Draw(t, "paging")}
	w.restart()
	return w
}

// restart makes the machine from its log. What was not answered is lost.
func (w *chainWorld) restart() {
	var rec shard.Recovered
	require.NoError(w.t, w.store.Recover(0, rec.Add))
	for txn := range w.pending {
		if !slices.Contains(w.voted, txn) {
			delete(w.pending, txn)
		}
	}
	clear(w.readers)
	w.asked = nil
	m, out := shard.New(w.cfg, rec, w.now, w.now)
	w.m = m
	w.act(out)
	w.tell()
}

// step has the reader fold every other chain.
func (w *chainWorld) step(messages []*msg.Envelope, reads []entry.ReadResult) {
	for i := range reads {
		if reads[i].ID%2 == 0 {
			shard.Fold(&reads[i])
		}
	}
	w.act(w.m.Step(shard.Input{Now: w.now, Wall: w.now, Messages: messages, Reads: reads}))
}

// act does what a step wants done, and holds the answers against the model.
func (w *chainWorld) act(out shard.Output) {
	_, err := w.store.Append([]entry.Group{{Entries: out.Entries}})
	require.NoError(w.t, err)
	require.NoError(w.t, w.m.Check())
	w.asked = append(w.asked, out.Reads...)
	defer w.known(out.Urgent)
	for _, env := range slices.Concat(out.Urgent, out.Send) {
		switch {
		case msg.Is[msg.CommitResponse](env):
			require.True(w.t, msg.As[msg.CommitResponse](env).Committed, "%v", msg.As[msg.CommitResponse](env).Failure)
			w.apply(msg.As[msg.CommitResponse](env).Txn, msg.As[msg.CommitResponse](env).Index)
		case msg.Is[msg.Vote](env) && !slices.Contains(w.voted, msg.As[msg.Vote](env).Txn):
			require.True(w.t, msg.As[msg.Vote](env).Yes, "%v", msg.As[msg.Vote](env).Failure)
			w.voted = append(w.voted, msg.As[msg.Vote](env).Txn)
		case msg.Is[msg.ReadResponse](env):
			w.judge(msg.As[msg.ReadResponse](env))
		}
	}
}

// known answers for the gateway, which has forgotten nobody.
func (w *chainWorld) known(asked []*msg.Envelope) {
	for _, env := range asked {
		if !msg.Is[msg.Push](env) {
			continue
		}
		reply := msg.ToShard(0)
		reply.Body = &msg.PushResponse{Txn: msg.As[msg.Push](env).Txn, Known: true}
		w.step([]*msg.Envelope{reply}, nil)
	}
}

func (w *chainWorld) answer(n int) {
	n = min(n, len(w.asked))
	var results []entry.ReadResult
	for _, r := range w.asked[:n] {
		results = append(results, w.store.Read(0, r))
	}
	w.asked = slices.Clone(w.asked[n:])
	w.step(nil, results)
}

func (w *chainWorld) settle() {
	for len(w.asked) > 0 {
		w.answer(len(w.asked))
	}
}

func (w *chainWorld) txn() kv.TxnRef {
	w.ids++
	return kv.TxnRef{TxnID: kv.TxnID{Time: w.ids}, Attempt: 1}
}

// finish ends what is under way, lets everything go, and sees that nothing is
// left in the store but what is visible.
func (w *chainWorld) finish() {
	for range 100 {
		w.settle()
		w.decide()
		w.now += int64(10 * time.Millisecond) // a new life waits for the readers of the last
		w.step(nil, nil)
	}
	require.Empty(w.t, w.pending)
	clear(w.readers) // those who waited for a decision may have lapsed
	for _, p := range w.pins {
		w.read(&msg.Read{Pin: p.number, Index: p.index, Ops: everythingOf(chainKeys)})
		w.settle()
	}
	w.fix()
	w.pins = nil
	w.tell()
	for range 5 {
		w.now += int64(2 * time.Minute)
		w.step(nil, nil)
		w.settle()
	}
	w.read(&msg.Read{Ops: everythingOf(chainKeys)})
	w.settle()
	require.Empty(w.t, w.readers, "everybody is answered")
	for _, k := range chainKeys {
		rows := w.rows(k)
		if w.state[k] == nil {
			require.Empty(w.t, rows, "%s is gone", k)
			continue
		}
		f, err := mvcc.Fold(rows)
		require.NoError(w.t, err)
		deltas := 0
		for _, r := range rows[:len(rows)-1] {
			deltas += len(r.Value)
		}
		require.LessOrEqual(w.t, deltas, max(adt.Size(&f.Value), 4<<10), "%s has %d rows", k, len(rows))
		for _, p := range f.Pages {
			page := w.store.Read(0, entry.Read{Kind: entry.ReadRow, Table: entry.TablePage, Key: entry.PageKey([]byte(k), p.ID)})
			require.Len(w.t, page.Rows, 1, "%s has its pages", k)
		}
	}
	left := w.store.Read(0, entry.Read{Kind: entry.ReadPages, Table: entry.TablePage, Span: kv.Range(nil, nil)})
	require.NoError(w.t, left.Err)
	require.Empty(w.t, left.Garbage, "pages are left that nobody names")
}

// rows are all of a key, newest first, whether anybody sees them or not.
func (w *chainWorld) rows(key string) (out []entry.Row) {
	for at := ^kv.Index(0); ; {
		r := w.store.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte(key), Index: at})
		require.NoError(w.t, r.Err)
		if len(r.Rows) == 0 {
			return out
		}
		require.Empty(w.t, out, "%s has rows that nobody sees", key)
		out = append(out, r.Rows...)
		at = out[len(out)-1].Index
		if at == 0 {
			return out
		}
		at--
	}
}

// TestChainsAgainstWholeVersions: random changes, of several transactions in a
// step, with reads at the newest index and at pins, answers that come late,
// sweeps, a cache that is too small, and restarts.
func TestChainsAgainstWholeVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newChainWorld(t)
		for range rapid.IntRange(20, 120).Draw(t, "steps") {
			w.random()
		}
		w.finish()
	})
}
