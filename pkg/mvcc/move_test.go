package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// testShard is a shard of one key.
type testShard struct {
	id     kv.ShardID
	store  *Store
	it     *Item
	csn    kv.CSN
	writes uint64
	// redirectTo is the shard of the key if it is not this one.
	redirectTo *kv.ShardID
	rows       RangeRows
}

func newTestShard(id kv.ShardID) *testShard {
	p := &testShard{id: id, store: NewStore(0)}
	p.it = p.store.Acquire([]byte("k"))
	p.store.Install(p.it, Found{})
	return p
}

func (p *testShard) Value([]byte) (entry.Value, error) {
	if p.redirectTo != nil {
		return p.it.Value, OnOtherShard{*p.redirectTo}
	}
	return p.it.Value, nil
}

func (p *testShard) Calls() *Calls { return nil }
func (p *testShard) Clock() int64  { return 0 }

func (p *testShard) Pending([]byte) (low, high int64) { return 0, 0 }
func (p *testShard) Rows(uint32) RangeRows            { return p.rows }

func (p *testShard) next(before kv.Version) kv.Version {
	p.writes++
	return NextVersion(before, p.id, p.writes, 0)
}

// execute executes operations and makes their effects visible.
func (p *testShard) execute(t require.TestingT, ops ...msg.Op) ([]msg.Result, *msg.Failure) {
	for i := range ops {
		ops[i].Seq = uint32(i)
		if len(ops[i].Key) == 0 {
			ops[i].Key = []byte("k")
		}
	}
	x := Exec(p, ops, p.next)
	if x.Failure != nil {
		require.Empty(t, x.Effects, "a failure has no effects")
		return nil, x.Failure
	}
	for i := range x.Effects {
		e := &x.Effects[i]
		var v kv.Version
		if e.Kind == entry.EffectAdd {
			v = p.next(p.it.Value.Version)
		}
		p.csn++
		_, err := p.store.MakeVisible(p.it, e, p.csn, v)
		require.NoError(t, err)
		switch e.Kind {
		case entry.EffectMoveOut:
			to := ops[len(ops)-1].To
			p.redirectTo = &to
		case entry.EffectMoveIn:
			p.redirectTo = nil
		}
	}
	return x.Results, nil
}

// move moves the key as a gateway does.
func move(t require.TestingT, from, to *testShard, leave entry.Type) {
	res, f := from.execute(t, msg.Op{Kind: msg.OpMoveOut, To: to.id, Type: uint32(leave)})
	require.Nil(t, f)
	r := res[0]
	_, f = to.execute(t, msg.Op{Kind: msg.OpMoveIn, Type: r.Type, Value: r.Value, Version: r.Version})
	require.Nil(t, f)
}

// TestKeyMovesOutAndInOnce: a shard without the key redirects a move, and one with the key rejects
// another.
func TestKeyMovesOutAndInOnce(t *testing.T) {
	home, hot := newTestShard(1), newTestShard(2)
	atHome := kv.ShardID(1)
	hot.redirectTo = &atHome
	_, f := hot.execute(t, msg.Op{Kind: msg.OpMoveOut, To: 1, Type: uint32(entry.TypeDeleted)})
	require.Equal(t, msg.ReasonMoved, f.Reason)
	_, f = home.execute(t, msg.Op{Kind: msg.OpMoveIn, Type: uint32(adt.Value), Value: []byte("x")})
	require.Equal(t, kv.KindInternal, kv.Kind(f.Kind), "the shard has the key already")
	move(t, home, hot, entry.TypeMoved)
	_, f = home.execute(t, msg.Op{Kind: msg.OpMoveOut, To: 2, Type: uint32(entry.TypeMoved)})
	require.Equal(t, msg.ReasonMoved, f.Reason)
	require.Equal(t, hot.id, f.MovedTo)
}

// TestOperationsOnMovedKeyAreRedirected includes operations that do not read the value.
func TestOperationsOnMovedKeyAreRedirected(t *testing.T) {
	p, to := newTestShard(1), kv.ShardID(7)
	p.redirectTo = &to
	for _, op := range []msg.Op{
		{Kind: msg.OpGet}, {Kind: msg.OpPut}, {Kind: msg.OpPut, Expect: msg.ExpectAbsent}, {Kind: msg.OpDelete},
		{Kind: msg.OpRequire, Expect: msg.ExpectExists}, {Kind: msg.OpAdd, Delta: 1}, {Kind: msg.OpAddGet, Delta: 1},
		{Kind: msg.OpMoveOut},
	} {
		_, f := p.execute(t, op)
		require.NotNil(t, f, "%v", op.Kind)
		require.Equal(t, msg.ReasonMoved, f.Reason, "%v", op.Kind)
		require.Equal(t, to, f.MovedTo)
		require.Equal(t, "k", string(f.Key))
	}
}

// TestDeleteRangeVersionsFollowOwnWrites: the version of a deletion follows that of the deleted
// value, whether the piece has incremented it, created it or only found it in the range, and
// whether the last write was on this shard or before a move.
func TestDeleteRangeVersionsFollowOwnWrites(t *testing.T) {
	all := msg.Op{Kind: msg.OpDeleteRange, Key: []byte("a"), End: []byte("z")}
	for name, own := range map[string][]msg.Op{
		"found": nil, "added to": {{Kind: msg.OpAdd, Delta: 1}}, "added to with a sum": {{Kind: msg.OpAddGet, Delta: 1}},
	} {
		p := newTestShard(1)
		moved := entry.Value{Type: adt.Counter, Version: kv.Version{Moves: 3, Shard: 2, Write: 9},
			Payload: adt.EncodeCounter(5)}
		p.it.Value = moved
		p.csn = 1
		p.rows = RangeRows{Rows: []RangeRow{{Key: []byte("k"), Value: moved, CSN: 1}}}
		_, f := p.execute(t, append(own, all)...)
		require.Nil(t, f, name)
		require.Equal(t, entry.TypeDeleted, p.it.Value.Type, name)
		require.Equal(t, kv.Version{Moves: 4, Shard: 1, Write: p.writes}, p.it.Value.Version, name)
	}
	p := newTestShard(1)
	_, f := p.execute(t, msg.Op{Kind: msg.OpPut, Value: []byte("x")}, all)
	require.Nil(t, f)
	require.Equal(t, entry.TypeDeleted, p.it.Value.Type, "a value that the piece created")
}
