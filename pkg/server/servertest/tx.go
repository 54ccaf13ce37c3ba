package servertest

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// tx has the store to itself until it ends.
type tx struct {
	store *Store
	// data is what it reads, the store's or a snapshot's; that of snapshot.
	data     map[string]entry.Value
	snapshot *msg.Snapshot
	o        gateway.TxOptions
	receipt  msg.Receipt
	// written goes over the store's data; a tombstone hides.
	written map[string]entry.Value
	results []msg.Result
	over    bool
	// marks are the savepoints, with what had been written by then.
	marks []mark
}

type mark struct {
	name    string
	written map[string]entry.Value
}

func (t *tx) ID() kv.TxnID { return t.o.ID }

func (t *tx) Do(ctx context.Context, ops []msg.Op) ([]msg.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t.over {
		return nil, kv.Errorf(kv.KindInvalid, "the transaction has ended")
	}
	t.results = nil
	for i := range ops {
		if err := t.op(&ops[i]); err != nil {
			return nil, err
		}
	}
	return t.results, nil
}

func (t *tx) Open() bool { return !t.over }

func (t *tx) Savepoint(_ context.Context, name string) error {
	t.marks = append(t.marks, mark{name, maps.Clone(t.written)})
	return nil
}

func (t *tx) RollbackTo(_ context.Context, name string) error {
	i, err := t.mark(name)
	if err == nil {
		t.written, t.marks = maps.Clone(t.marks[i].written), t.marks[:i+1]
	}
	return err
}

func (t *tx) Release(_ context.Context, name string) error {
	i, err := t.mark(name)
	if err == nil {
		t.marks = t.marks[:i]
	}
	return err
}

// mark finds the newest savepoint of a name.
func (t *tx) mark(name string) (int, error) {
	for i, m := range slices.Backward(t.marks) {
		if m.name == name {
			return i, nil
		}
	}
	return 0, kv.Errorf(kv.KindInvalid, "the transaction has no savepoint of that name")
}

func (t *tx) Waited() msg.Receipt { return msg.Receipt{} }

func (t *tx) Commit(context.Context) gateway.Response {
	r := gateway.Response{ID: t.o.ID, Attempts: int(t.o.Attempt), Results: t.results,
		Contention: txn.Contention{Receipt: t.receipt}, Snapshot: t.snapshot}
	if t.over {
		r.Err = kv.Errorf(kv.KindInvalid, "the transaction has ended")
		return r
	}
	r.Err = t.store.allowed(t.o.ID)
	if r.Err != nil {
		t.Rollback()
		return r
	}
	for k, v := range t.written {
		if v.Type == entry.TypeDeleted {
			delete(t.store.data, k)
		} else {
			t.store.data[k] = v
		}
	}
	t.store.mu.Lock()
	t.store.shard.Csn++
	t.store.shard.KeysInMemory = uint64(len(t.store.data))
	r.CSN = msg.ShardCSN{CSN: kv.CSN(t.store.shard.Csn)}
	t.store.outcomes[t.o.ID] = gateway.Outcome{ID: t.o.ID, Committed: true, Results: t.results}
	t.store.mu.Unlock()
	t.end()
	return r
}

func (t *tx) Rollback() {
	if !t.over {
		t.end()
	}
}

func (t *tx) RollbackChecked(context.Context) error {
	t.Rollback()
	return nil
}

func (t *tx) end() {
	t.over = true
	t.store.leave()
}

// get gives what the transaction sees at key.
func (t *tx) get(key []byte) entry.Value {
	if v, ok := t.written[string(key)]; ok {
		return v
	}
	return t.data[string(key)]
}

func (t *tx) read(key []byte) msg.Result {
	v := t.get(key)
	if !v.Exists() {
		return msg.Result{}
	}
	return msg.Result{Found: true, Type: uint32(v.Type), Value: mvcc.VisiblePayload(&v), Version: v.Version,
		Expires:   v.Expires,
		TtlMillis: v.Expires}
}

func (t *tx) write(key []byte, typ entry.Type, payload []byte) kv.Version {
	t.store.writes++
	ver := kv.Version{Write: t.store.writes}
	t.written[string(key)] = entry.Value{Type: typ, Version: ver, Payload: payload}
	return ver
}

// expire sets when a key expires. Here nothing ever does.
func (t *tx) expire(o *msg.Op, r *msg.Result) {
	if v := t.get(o.Key); v.Exists() && (o.Expiry != 0 || v.Expires != 0) {
		r.Version = t.write(o.Key, v.Type, adt.Payload(&v))
		t.expireAt(o.Key, o.Expiry)
	}
}

// expireAt notes a deadline: the clock stands at 0.
func (t *tx) expireAt(key []byte, expiry int64) {
	v := t.written[string(key)]
	v.Expires = max(expiry, -expiry)
	t.written[string(key)] = v
}

// span gives the pairs that the transaction sees, at most limit unless 0.
func (t *tx) span(s kv.Span) []msg.Pair {
	keys := slices.Collect(maps.Keys(t.data))
	keys = slices.AppendSeq(keys, maps.Keys(t.written))
	slices.Sort(keys)
	var ps []msg.Pair
	for _, k := range slices.Compact(keys) {
		key := []byte(k)
		if v := t.get(key); s.Contains(key) && v.Exists() {
			ps = append(ps, msg.Pair{Key: key, Value: mvcc.VisiblePayload(&v), Type: uint32(v.Type), Version: v.Version,
				Expires: v.Expires})
		}
	}
	return ps
}

// op runs one operation and appends its result.
func (t *tx) op(o *msg.Op) *kv.Error {
	if err := t.apply(o); err != nil {
		return err
	}
	t.results[len(t.results)-1].Operation = adt.OperationOf(o)
	return nil
}

func (t *tx) apply(o *msg.Op) *kv.Error {
	t.store.mu.Lock()
	if t.store.holderKey == nil {
		t.store.holderKey = o.Key
	}
	t.store.mu.Unlock()
	if t.o.ReadOnly && o.Writes() {
		return t.fail(o, kv.KindInvalid, "the transaction is read-only")
	}
	if err := t.expects(o); err != nil {
		return err
	}
	before := t.read(o.Key)
	r := msg.Result{Found: before.Found}
	switch o.Kind {
	case msg.OpGet, msg.OpRequire:
		r = before
		if o.Method != 0 {
			return t.named(o)
		}
		if v := t.get(o.Key); o.Stored && v.Exists() {
			r.Value = adt.Payload(&v)
		}
	case msg.OpQuery, msg.OpUpdate, msg.OpUpdateGet:
		return t.call(o)
	case msg.OpPut:
		if before.Found && entry.Type(before.Type) != adt.Value && !o.Stored {
			return t.fail(o, kv.KindWrongType, "the key holds a "+adt.TypeName(entry.Type(before.Type)))
		}
		r.Version = t.write(o.Key, entry.Type(o.Type), o.Value)
		t.expireAt(o.Key, o.Expiry)
	case msg.OpExpire:
		t.expire(o, &r)
	case msg.OpDelete:
		r.Version = t.write(o.Key, entry.TypeDeleted, nil)
	case msg.OpAdd, msg.OpAddGet:
		return t.add(o, before)
	case msg.OpScan:
		r = t.scan(o)
	case msg.OpDeleteRange:
		for _, p := range t.span(o.Span()) {
			r.Version = t.write(p.Key, entry.TypeDeleted, nil)
			r.Count++
		}
	}
	r.Seq = o.Seq
	t.results = append(t.results, r)
	return nil
}

func (t *tx) scan(o *msg.Op) (r msg.Result) {
	limit := int(o.Limit)
	if limit == 0 {
		limit = kv.MaxScanLimit
	}
	r.Pairs = t.span(o.Span())
	if o.Reverse {
		slices.Reverse(r.Pairs)
	}
	r.Pairs, r.Resume = msg.CutScan(r.Pairs, func(p *msg.Pair) []byte { return p.Key }, nil, limit, o.Reverse)
	return r
}

func (t *tx) add(o *msg.Op, before msg.Result) *kv.Error {
	n := int64(0)
	if before.Found {
		if entry.Type(before.Type) != adt.Counter {
			return t.fail(o, kv.KindWrongType, "the key holds a "+adt.TypeName(entry.Type(before.Type)))
		}
		var err error
		n, err = adt.DecodeCounter(before.Value)
		if err != nil {
			return t.fail(o, kv.KindCorrupt, err.Error())
		}
	}
	if (o.Delta > 0 && n > math.MaxInt64-o.Delta) || (o.Delta < 0 && n < math.MinInt64-o.Delta) {
		return t.fail(o, kv.KindOutOfRange, "the counter would leave the range of 64 bits")
	}
	sum := adt.EncodeCounter(n + o.Delta)
	r := msg.Result{Seq: o.Seq, Version: t.write(o.Key, adt.Counter, sum)}
	if o.Kind == msg.OpAddGet {
		r.Found, r.Type, r.Value = before.Found, uint32(adt.Counter), sum
		v := t.get(o.Key)
		r.Data, _ = adt.PlainAnswer(o, &v) // it has just been encoded
	}
	t.results = append(t.results, r)
	return nil
}

// expects checks an operation's condition.
func (t *tx) expects(o *msg.Op) *kv.Error {
	have := t.read(o.Key)
	switch {
	case o.Expect == msg.ExpectExists && !have.Found:
		return t.fail(o, kv.KindConditionFailed, "the key does not exist")
	case o.Expect == msg.ExpectAbsent && have.Found:
		return t.fail(o, kv.KindConditionFailed, "the key exists")
	case o.Expect == msg.ExpectValue && (!have.Found || !bytes.Equal(have.Value, o.ExpectValue)):
		return t.fail(o, kv.KindConditionFailed, "the key has another value")
	case o.Expect == msg.ExpectVersion && have.Version != o.ExpectVersion:
		return t.fail(o, kv.KindConditionFailed, "the key has another version")
	}
	return nil
}

// current is what a key holds, as in a response.
func (t *tx) current(key []byte) *msg.Pair {
	have := t.read(key)
	if !have.Found {
		have.Type = uint32(entry.TypeDeleted)
	}
	return &msg.Pair{Key: key, Type: have.Type, Value: have.Value, Version: have.Version}
}

func (t *tx) fail(o *msg.Op, k kv.Kind, text string) *kv.Error {
	return &kv.Error{Kind: k, Text: text, Key: []byte(strings.Clone(string(o.Key))), Op: int(o.Seq),
		Hint: "read the key first"}
}
