package adt_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// oneKey is a store of a single key, for both orders of two operations.
type oneKey struct {
	value  entry.Value
	writes uint64
}

func (k *oneKey) Value([]byte) (entry.Value, error) { return k.value, nil }
func (k *oneKey) Calls() *mvcc.Calls                { return nil }
func (k *oneKey) Clock() int64                      { return 0 }

func (k *oneKey) Pending([]byte) (low, high int64)  { return 0, 0 }
func (k *oneKey) Rows(uint32) (rows mvcc.RangeRows) { return rows }
func (k *oneKey) version(kv.Version) kv.Version     { k.writes++; return kv.Version{Write: k.writes} }
func (k *oneKey) item() *mvcc.Item                  { return &mvcc.Item{Value: k.value, Loaded: true} }
func (k *oneKey) state() (bool, entry.Type, []byte) {
	return k.value.Exists(), k.value.Type, k.value.Payload
}

// answer is what a transaction of one operation tells its client. Versions
// are left out: they are names of writes, and names are not state.
type answer struct {
	failed kv.Kind
	found  bool
	value  string
}

func (k *oneKey) run(t *rapid.T, op msg.Op) answer {
	x := mvcc.Exec(k, []msg.Op{op}, k.version)
	if x.Failure != nil {
		return answer{failed: kv.Kind(x.Failure.Kind)}
	}
	for i := range x.Effects {
		v, err := mvcc.NewStore(0).Show(k.item(), &x.Effects[i], 1, k.version(kv.Version{}))
		require.NoError(t, err)
		k.value = v
	}
	return answer{found: x.Results[0].Found, value: string(x.Results[0].Value)}
}

func drawValue(t *rapid.T) entry.Value {
	switch rapid.IntRange(0, 3).Draw(t, "state") {
	case 0:
		return entry.Value{}
	case 1:
		return entry.Value{Type: entry.TypeDeleted, Version: kv.Version{Write: 99}}
	case 2:
		return entry.Value{Type: adt.Register, Version: kv.Version{Write: 99}, Payload: []byte("old")}
	}
	return entry.Value{Type: adt.Counter, Version: kv.Version{Write: 99}, Payload: adt.EncodeCounter(rapid.Int64Range(-100, 100).Draw(t, "n"))}
}

func drawOp(t *rapid.T) msg.Op {
	op := msg.Op{Key: []byte("k"), Kind: rapid.SampledFrom([]msg.OpKind{msg.OpGet, msg.OpAdd, msg.OpRequire, msg.OpPut, msg.OpDelete, msg.OpAddGet}).Draw(t, "op")}
	op.Value = []byte(rapid.SampledFrom([]string{"x", "y", "old"}).Draw(t, "value"))
	op.Delta = rapid.Int64Range(-3, 3).Draw(t, "delta")
	op.ForUpdate = rapid.Bool().Draw(t, "for update")
	if op.Kind == msg.OpRequire || rapid.Bool().Draw(t, "conditional") {
		op.Expect = msg.Expect(rapid.IntRange(1, 4).Draw(t, "expect"))
		op.ExpectValue, op.ExpectVersion = []byte("old"), kv.Version{Write: 99}
	}
	return op
}

// TestCompatibleModesCommute: whatever the table says may go together is
// applied both ways round. The state afterwards and all answers are the same.
// And modes that never go together have two operations that do not commute,
// or the table would forbid too much.
func TestCompatibleModesCommute(t *testing.T) {
	clash := map[[2]adt.Mode]bool{}
	rapid.Check(t, func(t *rapid.T) {
		start, a, b := drawValue(t), drawOp(t), drawOp(t)
		ab, ba := &oneKey{value: start, writes: 100}, &oneKey{value: start, writes: 100}
		a1, b1 := ab.run(t, a), ab.run(t, b)
		b2, a2 := ba.run(t, b), ba.run(t, a)
		exists1, type1, payload1 := ab.state()
		exists2, type2, payload2 := ba.state()
		commute := a1 == a2 && b1 == b2 && exists1 == exists2 && (!exists1 || type1 == type2 && string(payload1) == string(payload2))
		modes := [2]adt.Mode{adt.ModeOf(&a), adt.ModeOf(&b)}
		if adt.Compatible(modes[0], modes[1]) {
			require.True(t, commute, "on %v, %v and %v: %v %v the one way, %v %v the other", start, a, b, a1, b1, a2, b2)
		} else if !commute {
			clash[modes], clash[[2]adt.Mode{modes[1], modes[0]}] = true, true
		}
	})
	for _, a := range []adt.Mode{adt.ModeRead, adt.ModeAdd, adt.ModeWrite} {
		for _, b := range []adt.Mode{adt.ModeRead, adt.ModeAdd, adt.ModeWrite} {
			require.Equal(t, !adt.Compatible(a, b), clash[[2]adt.Mode{a, b}], "%v and %v", a, b)
		}
	}
}
