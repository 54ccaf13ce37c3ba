package shard_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
// dicts.
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
	readers map[kv.TxnRef][]string
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

var chainKeys = []string{"d1", "d2", "s1", "s2"}

// pick draws a number below n, each as likely as any other: what rapid draws is
// mostly small.
func (w *chainWorld) pick(n int, label string) int {
	w.picks++
	return (rapid.IntRange(0, n-1).Draw(w.t, label) + int(w.picks*0x9e3779b97f4a7c15>>40)) % n
}

func newChainWorld(t *rapid.T) *chainWorld {
	w := &chainWorld{t: t, store: memstore.NewAutoSync(), state: map[string]map[string]string{}, history: map[kv.Index]map[string]map[string]string{0: {}},
		pending: map[kv.TxnRef][]msg.Op{}, readers: map[kv.TxnRef][]string{}}
	w.cfg = shard.Config{Lease: 100 * time.Millisecond, CacheBytes: rapid.SampledFrom([]int{1, 3000, 1 << 20}).Draw(t, "cache"),
		GarbageBatch: rapid.SampledFrom([]int{1, 4, 1024}).Draw(t, "batch"), Pins: shard.PinConfig{Every: time.Millisecond, Hot: 9, Node: 1}}
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

func (w *chainWorld) step(messages []*msg.Envelope, reads []entry.ReadResult) {
	w.act(w.m.Step(shard.Input{Now: w.now, Wall: w.now, Messages: messages, Reads: reads}))
}

// act does what a step wants done, and holds the answers against the model.
func (w *chainWorld) act(out shard.Output) {
	_, err := w.store.Append([]entry.Group{{Entries: out.Entries}})
	require.NoError(w.t, err)
	require.NoError(w.t, w.m.Check())
	w.asked = append(w.asked, out.Reads...)
	defer w.known(out.Urgent)
	for _, env := range out.Send {
		switch {
		case env.Answer != nil:
			require.True(w.t, env.Answer.Committed, "%v", env.Answer.Failure)
			w.apply(env.Answer.Txn, env.Answer.Index)
		case env.Vote != nil && !slices.Contains(w.voted, env.Vote.Txn):
			require.True(w.t, env.Vote.Yes, "%v", env.Vote.Failure)
			w.voted = append(w.voted, env.Vote.Txn)
		case env.ReadReply != nil:
			w.judge(env.ReadReply)
		}
	}
}

// known answers for the gateway, which has forgotten nobody.
func (w *chainWorld) known(asked []*msg.Envelope) {
	for _, env := range asked {
		if env.Push == nil {
			continue
		}
		reply := msg.ToShard(0)
		reply.PushReply = &msg.PushReply{Txn: env.Push.Txn, Known: true}
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

// apply does in the model what a transaction has done.
func (w *chainWorld) apply(txn kv.TxnRef, at kv.Index) {
	ops, known := w.pending[txn]
	if !known {
		return
	}
	delete(w.pending, txn)
	next := maps.Clone(w.state)
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case msg.OpDelete:
			delete(next, string(op.Key))
			continue
		case msg.OpDeleteRange:
			clear(next)
			continue
		}
		v := maps.Clone(next[string(op.Key)])
		if v == nil {
			v = map[string]string{}
		}
		change(v, op)
		if next[string(op.Key)] = v; len(v) == 0 {
			delete(next, string(op.Key))
		}
	}
	w.state = next
	w.history[at] = next
}

func change(v map[string]string, op *msg.Op) {
	switch name := adt.Lookup(entry.Type(op.Type)).Method(op.Method).Name; name {
	case "add":
		for _, a := range op.Args {
			v[string(a.Bytes)] = ""
		}
	case "remove", "delete":
		for _, a := range op.Args {
			delete(v, string(a.Bytes))
		}
	case "set":
		for i := 0; i < len(op.Args); i += 2 {
			v[string(op.Args[i].Bytes)] = string(op.Args[i+1].Bytes)
		}
	case "increment":
		var n int64
		_, _ = fmt.Sscan(v[string(op.Args[0].Bytes)], &n)
		v[string(op.Args[0].Bytes)] = fmt.Sprint(n + op.Args[1].Int)
	default:
		panic(name)
	}
}

// judge holds what a reader has found against the model.
func (w *chainWorld) judge(r *msg.ReadReply) {
	keys, known := w.readers[r.Reader]
	delete(w.readers, r.Reader)
	if !known {
		return
	}
	require.Nil(w.t, r.Failure, "%v", r.Failure)
	if keys == nil { // it has fixed the index
		w.numbers++
		w.pins = append(w.pins, pin{w.numbers, r.Index})
		w.floor = r.Index
		return
	}
	for i, k := range keys {
		require.Equal(w.t, printed(w.at(r.Index)[k]), answered(r.Results[i].Answer, k), "%s at %d", k, r.Index)
	}
}

// at is the state at an index: the newest at or below it.
func (w *chainWorld) at(i kv.Index) map[string]map[string]string {
	for ; ; i-- {
		if s, ok := w.history[i]; ok {
			return s
		}
	}
}

func printed(v map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(v)) {
		fmt.Fprintf(&b, "%s=%s;", k, v[k])
	}
	return b.String()
}

// answered prints the answer to members, or to all.
func answered(a []msg.Datum, key string) string {
	v := map[string]string{}
	for i := 0; i < len(a); i++ {
		if key[0] == 's' {
			v[string(a[i].Bytes)] = ""
		} else {
			v[string(a[i].Bytes)] = string(a[i+1].Bytes)
			i++
		}
	}
	return printed(v)
}

// call is an operation by the method's name.
func call(key, method string, args ...msg.Datum) msg.Op {
	name := "set"
	if key[0] == 'd' {
		name = "dict"
	}
	return adt.ByName(name).MethodByName(method).Op([]byte(key), args...)
}

func everythingOf(keys []string) (ops []msg.Op) {
	for i, k := range keys {
		method := "members"
		if k[0] == 'd' {
			method = "all"
		}
		op := call(k, method)
		op.Seq = uint32(i)
		ops = append(ops, op)
	}
	return ops
}

// drawOps are the changes of one transaction.
func (w *chainWorld) drawOps() (ops []msg.Op) {
	for range 1 + w.pick(3, "operations") {
		k := chainKeys[w.pick(len(chainKeys), "key")]
		what := w.pick(40, "what")
		var op msg.Op
		switch {
		case what == 0:
			op = msg.Op{Kind: msg.OpDelete, Key: []byte(k)}
		case what == 1 && len(ops) == 0:
			return []msg.Op{{Kind: msg.OpDeleteRange, Key: []byte("a"), End: []byte("z")}}
		case what < 12 && k[0] == 'd':
			op = call(k, "increment", adt.Bytes([]byte("n")), adt.Int(int64(what)))
		default:
			method := []string{"more", "more", "more", "less"}[w.pick(4, "method")]
			op = w.drawCall(k, method, []int{1, 1, 2, 20}[w.pick(4, "members")])
		}
		op.Seq = uint32(len(ops))
		ops = append(ops, op)
	}
	return ops
}

func (w *chainWorld) drawCall(k, method string, n int) msg.Op {
	names := map[string]string{"smore": "add", "sless": "remove", "dmore": "set", "dless": "delete"}
	var args []msg.Datum
	for range n {
		i := w.pick(51, "member")
		args = append(args, adt.Bytes(fmt.Appendf(nil, "%02d-a member of some length or a field", i)))
		if k[0] == 'd' && method == "more" {
			args = append(args, adt.Bytes(fmt.Appendf(nil, "%d", w.ids)))
		}
	}
	return call(k, names[k[:1]+method], args...)
}

// transact sends some transactions in one step.
func (w *chainWorld) transact() {
	var messages []*msg.Envelope
	for range 1 + w.pick(5, "transactions") {
		env, txn, ops := msg.ToShard(0), w.txn(), w.drawOps()
		w.pending[txn] = ops
		piece := msg.Piece{Ops: ops, Incarnation: w.m.Incarnation()}
		if w.pick(4, "two phases") == 0 {
			env.Prepare = &msg.Prepare{Txn: txn, Gateway: 1, Last: 9, LastIncarnation: 1, Piece: piece}
		} else {
			env.Park = &msg.Park{Txn: txn, Gateway: 1, Piece: piece}
		}
		messages = append(messages, env)
	}
	w.step(messages, nil)
}

// decide commits a transaction that has prepared. After a restart its keys may
// have to be read first.
func (w *chainWorld) decide() {
	if len(w.voted) == 0 {
		return
	}
	txn := w.voted[0]
	env := msg.ToShard(0)
	env.Decide = &msg.Decide{Txn: txn, Last: 9, Commit: w.pick(5, "abort") > 0}
	for !env.Decide.Commit || len(w.asked) > 0 {
		if !env.Decide.Commit {
			delete(w.pending, txn)
			break
		}
		w.answer(len(w.asked))
	}
	w.voted = slices.Delete(w.voted, 0, 1)
	before := w.m.Index()
	out := w.m.Step(shard.Input{Now: w.now, Wall: w.now, Messages: []*msg.Envelope{env}})
	if env.Decide.Commit { // it is decided before whatever it makes way for
		w.apply(txn, before+1)
	}
	w.act(out)
}

func (w *chainWorld) read(q *msg.Read, keys []string) {
	q.Reader, q.Gateway, q.Number = w.txn(), 1, 1
	w.readers[q.Reader] = keys
	env := msg.ToShard(0)
	env.Read = q
	w.step([]*msg.Envelope{env}, nil)
}

// fix has the shard fix its index for a pin, and gives up what spares it but for
// that.
func (w *chainWorld) fix() {
	for range 2 { // a pin's round begins when the one before has ended
		w.settle()
	}
	w.read(&msg.Read{KeepNanos: int64(kv.DefaultScanKeep)}, nil)
	env := msg.ToShard(0)
	env.ScanAt = &msg.ScanAt{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: w.ids}, Attempt: 1}, Gateway: 1, Done: true}
	w.step([]*msg.Envelope{env}, nil)
}

// tell has the keeper tell the shard what is kept.
func (w *chainWorld) tell() {
	w.told++
	env := msg.ToShard(0)
	env.Pins = &msg.Pins{Incarnation: 1, Change: w.told, Floor: w.floor, Next: w.numbers + 1, Asker: w.m.Incarnation()}
	for _, p := range w.pins {
		env.Pins.Numbers, env.Pins.Indexes = append(env.Pins.Numbers, p.number), append(env.Pins.Indexes, uint64(p.index))
	}
	w.step([]*msg.Envelope{env}, nil)
}

func (w *chainWorld) random() {
	switch what := w.pick(33, "verb"); {
	case what < 12:
		w.transact()
	case what < 15:
		w.decide()
	case what < 18:
		w.answer(w.pick(4, "answers"))
	case what < 20:
		w.settle()
	case what < 22:
		w.read(&msg.Read{Ops: everythingOf(chainKeys)}, chainKeys)
	case what < 24:
		w.fix()
	case what < 26 && len(w.pins) > 0:
		p := w.pins[w.pick(len(w.pins), "pin")]
		w.read(&msg.Read{Pin: p.number, Index: p.index, Ops: everythingOf(chainKeys)}, chainKeys)
	case what < 28:
		w.tell()
	case what == 28 && len(w.pins) > 0:
		i := w.pick(len(w.pins), "dropped")
		w.settle() // nobody reads at it any more
		w.pins = slices.Delete(w.pins, i, i+1)
	case what == 29 && w.pick(3, "restart") == 0:
		w.restart()
	default:
		w.now += int64([]time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second}[w.pick(3, "time")])
		w.step(nil, nil)
	}
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
		w.read(&msg.Read{Pin: p.number, Index: p.index, Ops: everythingOf(chainKeys)}, chainKeys)
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
	w.read(&msg.Read{Ops: everythingOf(chainKeys)}, chainKeys)
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
		require.LessOrEqual(w.t, deltas, max(len(adt.Payload(&f.Value)), 4<<10), "%s has %d rows", k, len(rows))
	}
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
		if at = out[len(out)-1].Index; at == 0 {
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
