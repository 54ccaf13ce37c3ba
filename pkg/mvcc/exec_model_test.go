package mvcc

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/test/tries"
)

// TestMain raises rapid's number of checks: they are cheap.
func TestMain(m *testing.M) { tries.Main(m, "3000") }

// modelKey is a key of the reference model.
type modelKey struct {
	exists bool
	typ    entry.Type
	text   string
	n      int64
	ver    kv.Version
	// fixed: the transaction has written the key, so increments of others do not matter. added: the
	// transaction has only incremented it.
	fixed, added bool
	delta        int64
}

func (c modelKey) payload() string {
	if c.typ == adt.Counter {
		return string(adt.EncodeCounter(c.n))
	}
	return c.text
}

// model is a store of a few keys in plain Go, and the View that Exec needs.
type model struct {
	cells     map[string]modelKey
	low, high map[string]int64
	ops       []msg.Op
	versions  uint64
}

var modelKeys = []string{"a", "b", "c", "d", "e", "f"}

func (w *model) Value(key []byte) (entry.Value, error) {
	c, ok := w.cells[string(key)]
	if !ok {
		return entry.Value{}, nil
	}
	if !c.exists {
		return entry.Value{Type: entry.TypeDeleted, Version: c.ver}, nil
	}
	return entry.Value{Type: c.typ, Version: c.ver, Payload: []byte(c.payload())}, nil
}

func (w *model) Calls() *Calls { return nil }
func (w *model) Clock() int64  { return 0 }

func (w *model) Pending(key []byte) (low, high int64) { return w.low[string(key)], w.high[string(key)] }

// Rows reads a range as a shard does: the piece's own deletions can remove rows from a scan, so as
// many more are read.
func (w *model) Rows(seq uint32) (out RangeRows) {
	op := &w.ops[seq]
	limit := math.MaxInt
	if op.Kind == msg.OpScan {
		limit = ScanLimit(op)
		for _, o := range w.ops {
			if o.Kind == msg.OpDelete && op.Span().Contains(o.Key) {
				limit++
			}
		}
	}
	for _, k := range keysOf(op) {
		v, _ := w.Value([]byte(k))
		if !v.Exists() || !op.Span().Contains([]byte(k)) {
			continue
		}
		if len(out.Rows) == limit {
			out.Resume = out.Rows[limit-1].Key
			if !op.Reverse {
				out.Resume = kv.Next(out.Resume)
			}
			break
		}
		out.Rows = append(out.Rows, RangeRow{Key: []byte(k), Value: v, CSN: 1})
	}
	return out
}

// keysOf returns all keys in the order of a range operation.
func keysOf(op *msg.Op) []string {
	keys := slices.Clone(modelKeys)
	if op.Reverse {
		slices.Reverse(keys)
	}
	return keys
}

func (w *model) version(kv.Version) kv.Version {
	w.versions++
	return kv.Version{Shard: 1, Write: w.versions}
}

func drawModel(t *rapid.T) *model {
	w := &model{cells: map[string]modelKey{}, low: map[string]int64{}, high: map[string]int64{}}
	for _, k := range modelKeys {
		c := modelKey{exists: true, ver: w.version(kv.Version{})}
		switch rapid.SampledFrom([]int{2, 0, 1, 3, 4}).Draw(t, "state of "+k) {
		case 0:
			continue
		case 1:
			c.exists = false
		case 2:
			c.typ, c.text = adt.Value, rapid.SampledFrom([]string{"x", "", "y"}).Draw(t, "text")
		default:
			c.typ, c.n = adt.Counter, rapid.SampledFrom([]int64{0, 5, math.MaxInt64 - 3, math.MinInt64 + 3}).Draw(t, "count")
		}
		w.cells[k] = c
		w.low[k] = rapid.SampledFrom([]int64{0, 0, -2, math.MinInt64}).Draw(t, "low")
		w.high[k] = rapid.SampledFrom([]int64{0, 0, 2, math.MaxInt64}).Draw(t, "high")
	}
	return w
}

func drawOps(t *rapid.T, w *model) {
	kinds := []msg.OpKind{msg.OpPut, msg.OpGet, msg.OpAdd, msg.OpScan, msg.OpDelete, msg.OpAddGet, msg.OpRequire,
		msg.OpScan, msg.OpDeleteRange}
	for i := range rapid.IntRange(1, 8).Draw(t, "operations") {
		k := rapid.SampledFrom(modelKeys).Draw(t, "key")
		op := msg.Op{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Seq: uint32(i), Key: []byte(k)}
		switch {
		case op.IsRange():
			op.End = []byte(rapid.SampledFrom([]string{"d", "", "f", "b"}).Draw(t, "end"))
			op.Limit = uint32(rapid.IntRange(0, 4).Draw(t, "limit"))
			op.Reverse = op.Kind == msg.OpScan && rapid.Bool().Draw(t, "reverse")
		case op.Kind == msg.OpAdd || op.Kind == msg.OpAddGet:
			op.Delta = rapid.SampledFrom([]int64{1, -1, 3, 4, -4, math.MaxInt64, math.MinInt64}).Draw(t, "delta")
		case op.Kind == msg.OpRequire || rapid.IntRange(0, 3).Draw(t, "condition") == 0:
			op.Expect = msg.Expect(rapid.IntRange(1, 4).Draw(t, "expect"))
			op.ExpectValue = []byte(rapid.SampledFrom([]string{"x", ""}).Draw(t, "expected"))
			op.ExpectVersion = w.cells[k].ver
		}
		op.Value = []byte(rapid.SampledFrom([]string{"x", "new"}).Draw(t, "value"))
		w.ops = append(w.ops, op)
	}
}

// fits reports whether the sum of numbers fits into 64 bits.
func fits(ns ...int64) bool {
	sum := new(big.Int)
	for _, n := range ns {
		sum.Add(sum, big.NewInt(n))
	}
	return sum.IsInt64()
}

// execute is the specification of an operation: its result, or the kind of its failure.
func (w *model) execute(op *msg.Op, version func(kv.Version) kv.Version) (res msg.Result, failed kv.Kind) {
	k := string(op.Key)
	c := w.cells[k]
	switch op.Kind {
	case msg.OpGet:
		if c.exists {
			res = msg.Result{Found: true, Type: uint32(c.typ), Value: []byte(c.payload()), Version: c.clientVersion()}
		}
	case msg.OpRequire:
		return res, w.checkExpectation(op, c)
	case msg.OpPut, msg.OpDelete:
		failed = w.checkExpectation(op, c)
		if failed != 0 {
			return res, failed
		}
		if op.Kind == msg.OpPut && c.exists && c.typ != adt.Value {
			return res, kv.KindWrongType
		}
		res = msg.Result{Found: c.exists, Version: version(kv.Version{})}
		w.cells[k] = modelKey{exists: op.Kind == msg.OpPut, typ: adt.Value, text: string(op.Value), ver: res.Version,
			fixed: true}
	case msg.OpAdd, msg.OpAddGet:
		return w.add(op, c, version)
	case msg.OpScan:
		return msg.Result{}, 0 // see requireScan
	case msg.OpDeleteRange:
		for _, k := range modelKeys {
			if op.Span().Contains([]byte(k)) && w.cells[k].exists {
				w.cells[k] = modelKey{fixed: true, ver: version(kv.Version{})}
				res.Count++
			}
		}
		res.Found = res.Count > 0
	}
	return res, 0
}

// clientVersion is the version in results: an own increment has none.
func (c modelKey) clientVersion() kv.Version {
	if c.added {
		return kv.Version{}
	}
	return c.ver
}

func (w *model) checkExpectation(op *msg.Op, c modelKey) kv.Kind {
	ok := true
	switch op.Expect {
	case msg.ExpectExists:
		ok = c.exists
	case msg.ExpectAbsent:
		ok = !c.exists
	case msg.ExpectValue:
		ok = c.exists && c.payload() == string(op.ExpectValue)
	case msg.ExpectVersion:
		ok = c.exists && !c.added && c.ver == op.ExpectVersion
	}
	if ok {
		return 0
	}
	return kv.KindConditionFailed
}

func (w *model) add(op *msg.Op, c modelKey, version func(kv.Version) kv.Version) (res msg.Result, failed kv.Kind) {
	k := string(op.Key)
	if c.exists && c.typ != adt.Counter {
		return res, kv.KindWrongType
	}
	if !c.exists {
		c.n = 0
	}
	if !fits(c.n, op.Delta) {
		return res, kv.KindOutOfRange
	}
	next := modelKey{exists: true, typ: adt.Counter, n: c.n + op.Delta, fixed: true}
	if op.Kind == msg.OpAdd && !c.fixed {
		endless := w.low[k] == math.MinInt64 || w.high[k] == math.MaxInt64
		if endless || !fits(next.n, w.low[k]) || !fits(next.n, w.high[k]) || !fits(c.delta, op.Delta) {
			return res, kv.KindOutOfRange
		}
		next.fixed, next.added, next.delta = false, true, c.delta+op.Delta
		w.cells[k] = next
		return res, 0
	}
	next.ver = version(kv.Version{})
	w.cells[k] = next
	if op.Kind == msg.OpAddGet {
		res = msg.Result{Found: true, Type: uint32(adt.Counter), Value: []byte(next.payload()), Version: next.ver}
	}
	return res, 0
}

// requireScan compares a scan with all existing keys: it is a prefix (in reverse, a suffix) of them
// up to the limit, and Resume is where the rest begins.
func (w *model) requireScan(t *rapid.T, op *msg.Op, res msg.Result, deletedRanges bool) {
	var all []msg.Pair
	for _, k := range keysOf(op) {
		if c := w.cells[k]; c.exists && op.Span().Contains([]byte(k)) {
			all = append(all, msg.Pair{Key: []byte(k), Value: []byte(c.payload()), Type: uint32(c.typ),
				Version: c.clientVersion()})
		}
	}
	n := len(res.Pairs)
	require.LessOrEqual(t, n, min(len(all), ScanLimit(op)))
	for i := range res.Pairs {
		require.Equal(t, string(all[i].Value), string(res.Pairs[i].Value))
		res.Pairs[i].Value, all[i].Value = nil, nil
		require.Equal(t, all[i], res.Pairs[i])
	}
	require.Equal(t, n > 0, res.Found)
	if res.Resume == nil {
		require.Len(t, all, n, "a scan without a resume key has returned everything")
		return
	}
	if !deletedRanges { // they can hide all rows that were read
		require.Equal(t, min(len(all), ScanLimit(op)), n, "a scan stops at its limit")
	}
	read := op.ReadUntil(res.Resume)
	require.True(t, n == 0 || read.Contains(all[n-1].Key))
	require.True(t, n == len(all) || !read.Contains(all[n].Key))
}

// TestExecMatchesReferenceModel executes random operations on a shard's View and on the reference
// model.
func TestExecMatchesReferenceModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawModel(t)
		drawOps(t, w)
		ref := &model{cells: maps.Clone(w.cells), low: w.low, high: w.high, versions: w.versions}
		x := Exec(w, slices.Clone(w.ops), w.version)
		deleted := false
		for i := range w.ops {
			op := &w.ops[i]
			res, failed := ref.execute(op, ref.version)
			if failed != 0 {
				require.NotNil(t, x.Failure, "%v of %q should fail with %v", op.Kind, op.Key, failed)
				require.Equal(t, failed, kv.Kind(x.Failure.Kind), x.Failure.Text)
				require.Equal(t, op.Seq, x.Failure.Seq)
				require.True(t, x.Failure.HasSeq)
				require.Empty(t, x.Effects, "all or nothing")
				require.Len(t, x.Results, i, "the results of the operations before it")
				if failed == kv.KindConditionFailed {
					c, now := ref.cells[string(op.Key)], x.Failure.Current
					require.Equal(t, c.exists, entry.Type(now.Type) != entry.TypeDeleted,
						"a failed condition reports the current value")
					require.True(t, !c.exists || string(now.Value) == c.payload() && now.Version == c.clientVersion())
				}
				return
			}
			if x.Failure != nil {
				require.Greater(t, x.Failure.Seq, op.Seq, "%v fails and should not: %v", op.Kind, x.Failure)
				continue
			}
			if op.Kind == msg.OpScan {
				ref.requireScan(t, op, x.Results[i], deleted)
				continue
			}
			deleted = deleted || op.Kind == msg.OpDeleteRange
			got := x.Results[i]
			require.Equal(t, string(res.Value), string(got.Value))
			res.Value, got.Value, res.Seq, res.Operation = nil, nil, op.Seq, adt.OperationOf(op)
			require.Equal(t, res, got, "%v of %q", op.Kind, op.Key)
		}
		require.Nil(t, x.Failure)
		w.requireEffects(t, x.Effects, ref)
	})
}

// requireEffects makes the effects visible and compares every key.
func (w *model) requireEffects(t *rapid.T, effects []entry.Effect, ref *model) {
	seen := map[string]bool{}
	for i := range effects {
		e := &effects[i]
		require.False(t, seen[string(e.Key)], "one effect a key")
		seen[string(e.Key)] = true
		require.Equal(t, e.Kind == entry.EffectAdd, e.Version.IsZero(), "an add gets its version later")
		s := NewStore(0)
		it := s.Acquire(e.Key)
		v, _ := w.Value(e.Key)
		s.Install(it, Found{Value: v, CSN: 1})
		v, err := s.MakeVisible(it, e, 2, kv.Version{Write: 77})
		require.NoError(t, err)
		require.Equal(t, it.Value, v)
		require.EqualValues(t, 2, it.CSN)
		want := ref.cells[string(e.Key)]
		require.Equal(t, want.exists, v.Exists(), "%q", e.Key)
		require.True(t, want.added || v.Version == want.ver)
		if want.exists {
			require.Equal(t, want.typ, v.Type)
			require.Equal(t, want.payload(), string(v.Payload))
		}
	}
	for _, k := range modelKeys {
		c := ref.cells[k]
		require.Equal(t, c.fixed || c.added, seen[k], "%q", k)
	}
}
