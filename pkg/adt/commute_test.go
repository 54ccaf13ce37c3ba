package adt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mvcc"
)

// keyView is a View of a single key, for both orders of two operations.
type keyView struct {
	value  entry.Value
	writes uint64
}

func (k *keyView) Value([]byte) (entry.Value, error) { return k.value, nil }
func (k *keyView) Calls() *mvcc.Calls                { return nil }
func (k *keyView) Clock() int64                      { return 0 }

func (k *keyView) Pending([]byte) (low, high int64)  { return 0, 0 }
func (k *keyView) Rows(uint32) (rows mvcc.RangeRows) { return rows }
func (k *keyView) version(kv.Version) kv.Version     { k.writes++; return kv.Version{Write: k.writes} }
func (k *keyView) item() *mvcc.Item                  { return &mvcc.Item{Value: k.value, Loaded: true} }
func (k *keyView) state() (bool, entry.Type, []byte) {
	return k.value.Exists(), k.value.Type, k.value.Payload
}

// answer is what a transaction of one operation returns. Versions are left out: they name writes
// and are not state.
type answer struct {
	failed kv.Kind
	found  bool
	value  string
}

func (k *keyView) execute(t *testing.T, op msg.Op) answer {
	x := mvcc.Exec(k, []msg.Op{op}, k.version)
	if x.Failure != nil {
		return answer{failed: kv.Kind(x.Failure.Kind)}
	}
	for i := range x.Effects {
		v, err := mvcc.NewStore(0).MakeVisible(k.item(), &x.Effects[i], 1, k.version(kv.Version{}))
		require.NoError(t, err)
		k.value = v
	}
	return answer{found: x.Results[0].Found, value: string(x.Results[0].Value)}
}

// values has a value of each kind that a key may hold.
func values() []entry.Value {
	old := kv.Version{Write: 99}
	return []entry.Value{{}, {Type: entry.TypeDeleted, Version: old},
		{Type: adt.Value, Version: old, Payload: []byte("old")},
		{Type: adt.Counter, Version: old, Payload: adt.EncodeCounter(0)}, {Type: adt.Counter, Version: old,
			Payload: adt.EncodeCounter(7)}}
}

// allOps returns each operation, with its possible values and expectations.
func allOps() (out []msg.Op) {
	add := func(op msg.Op) {
		op.Key, op.ExpectValue, op.ExpectVersion = []byte("k"), []byte("old"), kv.Version{Write: 99}
		for op.Expect = range msg.Expect(5) {
			if op.Expect != msg.ExpectNothing || op.Kind != msg.OpRequire {
				out = append(out, op)
			}
		}
	}
	for _, kind := range []msg.OpKind{msg.OpRequire, msg.OpDelete, msg.OpGet} {
		add(msg.Op{Kind: kind})
	}
	add(msg.Op{Kind: msg.OpGet, ForUpdate: true})
	for _, v := range []string{"x", "y", "old"} {
		add(msg.Op{Kind: msg.OpPut, Value: []byte(v)})
	}
	for _, delta := range []int64{-7, 0, 3} {
		add(msg.Op{Kind: msg.OpAdd, Delta: delta})
		add(msg.Op{Kind: msg.OpAddGet, Delta: delta})
	}
	return out
}

// TestCompatibleModesCommute executes operations with compatible modes in both orders: final state
// and answers are the same. For each pair of incompatible modes it requires two operations that do
// not commute, so the table is not stricter than needed.
func TestCompatibleModesCommute(t *testing.T) {
	conflicting := map[[2]adt.Mode]bool{}
	ops := allOps()
	for _, start := range values() {
		for _, a := range ops {
			for _, b := range ops {
				ab, ba := &keyView{value: start, writes: 100}, &keyView{value: start, writes: 100}
				a1, b1 := ab.execute(t, a), ab.execute(t, b)
				b2, a2 := ba.execute(t, b), ba.execute(t, a)
				exists1, type1, payload1 := ab.state()
				exists2, type2, payload2 := ba.state()
				commute := a1 == a2 && b1 == b2 && exists1 == exists2 &&
					(!exists1 || type1 == type2 && string(payload1) == string(payload2))
				modes := [2]adt.Mode{adt.ModeOf(&a), adt.ModeOf(&b)}
				if adt.Compatible(modes[0], modes[1]) {
					require.True(t, commute, "on %v, %v and %v: %v %v the one way, %v %v the other", start, a, b, a1, b1, a2, b2)
				} else if !commute {
					conflicting[modes], conflicting[[2]adt.Mode{modes[1], modes[0]}] = true, true
				}
			}
		}
	}
	for _, a := range []adt.Mode{adt.ModeRead, adt.ModeAdd, adt.ModeWrite} {
		for _, b := range []adt.Mode{adt.ModeRead, adt.ModeAdd, adt.ModeWrite} {
			require.Equal(t, !adt.Compatible(a, b), conflicting[[2]adt.Mode{a, b}], "%v and %v", a, b)
		}
	}
}
