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

// chainWorld is a shard with its log, and a reference model that has every version of every key as a
// whole. Keys that begin with s are sets, those with d maps, and those with z sorted sets.
type chainWorld struct {
	t     *rapid.T
	cfg   shard.Config
	m     *shard.Machine
	store *memstore.Store
	now   int64
	ids   int64
	picks uint64

	// history is what was visible, by CSN and key. A fixed CSN has its state as long as it may be read.
	state   map[string]map[string]string
	history map[kv.CSN]map[string]map[string]string
	// pending are the transactions without a response, readers the reads with their operations. wounded are those whose
	// requests carry "no wait" since an older one has waited for them.
	pending  map[kv.TxnRef][]msg.Op
	wounded  map[kv.TxnRef]bool
	requests []*msg.Envelope
	voted    []kv.TxnRef
	readers  map[kv.TxnRef][]msg.Op
	// reads are reads of the log without a result.
	reads []entry.Read

	// snapshots are those of the registry, and listed is the number of lists that it has sent.
	snapshots []fixedSnapshot
	numbers   uint64
	listed    uint64
	safePoint kv.CSN
}

type fixedSnapshot struct {
	number uint64
	csn    kv.CSN
}

var chainKeys = []string{"d1", "d2", "s1", "s2", "z1"}

// pick draws a number below n from a uniform distribution; rapid prefers small numbers.
func (w *chainWorld) pick(n int, label string) int {
	w.picks++
	return (rapid.IntRange(0, n-1).Draw(w.t, label) + int(w.picks*0x9e3779b97f4a7c15>>40)) % n
}

func newChainWorld(t *rapid.T) *chainWorld {
	w := &chainWorld{t: t, store: memstore.NewAutoSync(), state: map[string]map[string]string{},
		history: map[kv.CSN]map[string]map[string]string{0: {}},
		pending: map[kv.TxnRef][]msg.Op{}, wounded: map[kv.TxnRef]bool{}, readers: map[kv.TxnRef][]msg.Op{}}
	w.cfg = shard.Config{Lease: 100 * time.Millisecond, HoldBound: time.Hour,
		CacheBytes:   rapid.SampledFrom([]int{1, 3000, 1 << 20}).Draw(t, "cache"),
		GarbageBatch: rapid.SampledFrom([]int{1, 4, 1024}).Draw(t, "batch"),
		Snapshots: shard.SnapshotConfig{Every: time.Millisecond,
			Hot: 9, Node: 1},
		Paging: rapid.SampledFrom([]mvcc.Paging{{}, {Threshold: 300, MinPageBytes: 60, ChainPages: 1},
			{Threshold: 300, MinPageBytes: 400, ChainPages: 3}}).Draw(t, "paging")}
	w.restart()
	return w
}

// restart creates the machine again from its log. Requests without a response are lost.
func (w *chainWorld) restart() {
	var rec shard.Recovered
	require.NoError(w.t, w.store.Recover(0, rec.Add))
	for txn := range w.pending {
		if !slices.Contains(w.voted, txn) {
			delete(w.pending, txn)
		}
	}
	clear(w.readers)
	w.reads = nil
	m, out := shard.New(w.cfg, rec, w.now, w.now)
	w.m = m
	w.act(out)
	w.sendList()
}

// step executes a step. The reading side replays every other chain.
func (w *chainWorld) step(messages []*msg.Envelope, reads []entry.ReadResult) {
	for i := range reads {
		if reads[i].ID%2 == 0 {
			shard.FoldChain(&reads[i])
		}
	}
	w.act(w.m.Step(shard.Input{Now: w.now, Wall: w.now, Messages: messages, Reads: reads}))
}

// act executes the output of a step, and compares the responses with the model.
func (w *chainWorld) act(out shard.Output) {
	_, err := w.store.Append([]entry.Group{{Entries: out.Entries}})
	require.NoError(w.t, err)
	require.NoError(w.t, w.m.Check())
	w.reads = append(w.reads, out.Reads...)
	defer w.answerPushes(out.Urgent)
	for _, env := range slices.Concat(out.Urgent, out.Send) {
		switch {
		case msg.Is[msg.Wound](env):
			defer w.wound(msg.As[msg.Wound](env).Txn)
		case msg.Is[msg.CommitResponse](env) && w.wounded[msg.As[msg.CommitResponse](env).Txn] &&
			!msg.As[msg.CommitResponse](env).Committed:
			require.Equal(w.t, msg.ReasonWounded, msg.As[msg.CommitResponse](env).Failure.Reason)
			delete(w.pending, msg.As[msg.CommitResponse](env).Txn)
		case msg.Is[msg.Vote](env) && w.wounded[msg.As[msg.Vote](env).Txn] && !msg.As[msg.Vote](env).Yes:
			require.Equal(w.t, msg.ReasonWounded, msg.As[msg.Vote](env).Failure.Reason)
			delete(w.pending, msg.As[msg.Vote](env).Txn)
		case msg.Is[msg.CommitResponse](env):
			require.True(w.t, msg.As[msg.CommitResponse](env).Committed, "%v", msg.As[msg.CommitResponse](env).Failure)
			w.apply(msg.As[msg.CommitResponse](env).Txn, msg.As[msg.CommitResponse](env).CSN)
		case msg.Is[msg.Vote](env) && !slices.Contains(w.voted, msg.As[msg.Vote](env).Txn):
			require.True(w.t, msg.As[msg.Vote](env).Yes, "%v", msg.As[msg.Vote](env).Failure)
			w.voted = append(w.voted, msg.As[msg.Vote](env).Txn)
		case msg.Is[msg.ReadResponse](env):
			w.compare(msg.As[msg.ReadResponse](env))
		}
	}
}

// wound repeats the request of a wounded transaction, as its gateway does: it fails if it has to wait.
func (w *chainWorld) wound(txn kv.TxnRef) {
	for i, env := range w.undecided() {
		if ref, _ := env.Attempt(); ref != txn || w.wounded[txn] {
			continue
		}
		w.wounded[txn] = true
		again := *env
		switch q := env.Body.(type) {
		case *msg.CommitRequest:
			c := *q
			c.NoWait, again.Body = true, &c
		case *msg.Prepare:
			c := *q
			c.NoWait, again.Body = true, &c
		}
		w.requests[i] = &again
		w.step([]*msg.Envelope{&again}, nil)
		return
	}
}

// answerPushes responds for the gateway, which knows all transactions.
func (w *chainWorld) answerPushes(pushes []*msg.Envelope) {
	for _, env := range pushes {
		if !msg.Is[msg.Push](env) {
			continue
		}
		reply := msg.ToShard(0)
		reply.Body = &msg.PushResponse{Txn: msg.As[msg.Push](env).Txn, Known: true}
		w.step([]*msg.Envelope{reply}, nil)
	}
}

func (w *chainWorld) answer(n int) {
	n = min(n, len(w.reads))
	var results []entry.ReadResult
	for _, r := range w.reads[:n] {
		results = append(results, w.store.Read(0, r))
	}
	w.reads = slices.Clone(w.reads[n:])
	w.step(nil, results)
}

func (w *chainWorld) settle() {
	for len(w.reads) > 0 {
		w.answer(len(w.reads))
	}
}

func (w *chainWorld) txn() kv.TxnRef {
	w.ids++
	return kv.TxnRef{TxnID: kv.TxnID{Time: w.ids}, Attempt: 1}
}

// finish ends all transactions and snapshots, and verifies that the store has nothing but what is
// visible.
func (w *chainWorld) finish() {
	for range 100 {
		w.settle()
		w.decide()
		w.now += int64(10 * time.Millisecond) // a new incarnation waits for the readers of the last one
		w.step(nil, nil)
	}
	if len(w.pending) > 0 {
		w.t.Fatalf("%d transactions have no response: %v", len(w.pending), w.m)
	}
	clear(w.readers) // those that waited for a decision may have expired
	for _, p := range w.snapshots {
		w.read(&msg.Read{SnapshotNumber: p.number, CSN: p.csn, Ops: everythingOf(chainKeys)})
		w.settle()
	}
	w.fix()
	w.snapshots = nil
	w.sendList()
	for range 5 {
		w.now += int64(2 * time.Minute)
		w.step(nil, nil)
		w.settle()
	}
	w.read(&msg.Read{Ops: everythingOf(chainKeys)})
	w.settle()
	require.Empty(w.t, w.readers, "readers without a response")
	for _, k := range chainKeys {
		rows := w.rows(k)
		if w.state[k] == nil {
			require.Empty(w.t, rows, "%s is absent", k)
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
	require.Empty(w.t, left.Garbage, "pages without a directory")
}

// rows returns all rows of a key, visible or not, newest first.
func (w *chainWorld) rows(key string) (out []entry.Row) {
	for at := ^kv.CSN(0); ; {
		r := w.store.Read(0, entry.Read{Kind: entry.ReadKey, Key: []byte(key), CSN: at})
		require.NoError(w.t, r.Err)
		if len(r.Rows) == 0 {
			return out
		}
		require.Empty(w.t, out, "%s has invisible rows", key)
		out = append(out, r.Rows...)
		at = out[len(out)-1].CSN
		if at == 0 {
			return out
		}
		at--
	}
}

// TestChainsMatchWholeVersions makes random changes, of several transactions in a step, with reads at the
// newest CSN and at snapshots, late results, sweeps, a cache that is too small, and restarts.
func TestChainsMatchWholeVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newChainWorld(t)
		for range rapid.IntRange(20, 120).Draw(t, "steps") {
			w.random()
		}
		w.finish()
	})
}
