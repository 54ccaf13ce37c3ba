package mvcc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// place is a shard that may have one key.
type place struct {
	id     kv.ShardID
	store  *Store
	it     *Item
	index  kv.Index
	writes uint64
	// away is where the key is if it is not here.
	away *kv.ShardID
	rows RangeRows
}

func newPlace(id kv.ShardID) *place {
	p := &place{id: id, store: NewStore(0)}
	p.it = p.store.Pin([]byte("k"))
	p.store.Install(p.it, Found{}, false)
	return p
}

func (p *place) Value([]byte) (entry.Value, error) {
	if p.away != nil {
		return p.it.Value, Elsewhere{*p.away}
	}
	return p.it.Value, nil
}

func (p *place) Calls() *Calls { return nil }
func (p *place) Clock() int64  { return 0 }

func (p *place) Pending([]byte) (low, high int64) { return 0, 0 }
func (p *place) Rows(uint32) RangeRows            { return p.rows }

func (p *place) next(before kv.Version) kv.Version {
	p.writes++
	return NextVersion(before, p.id, p.writes, 0)
}

// run executes operations and makes their effects visible.
func (p *place) run(t require.TestingT, ops ...msg.Op) ([]msg.Result, *msg.Failure) {
	for i := range ops {
		ops[i].Seq = uint32(i)
		if len(ops[i].Key) == 0 {
			ops[i].Key = []byte("k")
		}
	}
	x := Exec(p, ops, p.next)
	if x.Failure != nil {
		require.Empty(t, x.Effects, "what fails changes nothing")
		return nil, x.Failure
	}
	for i := range x.Effects {
		e := &x.Effects[i]
		var v kv.Version
		if e.Kind == entry.EffectAdd {
			v = p.next(p.it.Value.Version)
		}
		p.index++
		_, err := p.store.Show(p.it, e, p.index, v)
		require.NoError(t, err)
		switch e.Kind {
		case entry.EffectMoveOut:
			to := ops[len(ops)-1].To
			p.away = &to
		case entry.EffectMoveIn:
			p.away = nil
		}
	}
	return x.Results, nil
}

// move is what a gateway does: it takes what the one place says to the other.
func move(t require.TestingT, from, to *place, leave entry.Type) {
	res, f := from.run(t, msg.Op{Kind: msg.OpMoveOut, To: to.id, Type: uint32(leave)})
	require.Nil(t, f)
	r := res[0]
	_, f = to.run(t, msg.Op{Kind: msg.OpMoveIn, Type: r.Type, Value: r.Value, Version: r.Version})
	require.Nil(t, f)
}

// TestMovesOfWhatIsNotThere: a key goes once, and comes once.
func TestMovesOfWhatIsNotThere(t *testing.T) {
	home, hot := newPlace(1), newPlace(2)
	atHome := kv.ShardID(1)
	hot.away = &atHome
	_, f := hot.run(t, msg.Op{Kind: msg.OpMoveOut, To: 1, Type: uint32(entry.TypeDeleted)})
	require.Equal(t, msg.ReasonMoved, f.Reason)
	_, f = home.run(t, msg.Op{Kind: msg.OpMoveIn, Type: uint32(adt.Value), Value: []byte("x")})
	require.Equal(t, kv.KindInternal, kv.Kind(f.Kind), "it would be there twice")
	move(t, home, hot, entry.TypeMoved)
	_, f = home.run(t, msg.Op{Kind: msg.OpMoveOut, To: 2, Type: uint32(entry.TypeMoved)})
	require.Equal(t, msg.ReasonMoved, f.Reason)
	require.Equal(t, hot.id, f.MovedTo)
}

// TestEveryOperationSeesThatAKeyIsElsewhere, also those that see nothing of it.
func TestEveryOperationSeesThatAKeyIsElsewhere(t *testing.T) {
	p, to := newPlace(1), kv.ShardID(7)
	p.away = &to
	for _, op := range []msg.Op{
		{Kind: msg.OpGet}, {Kind: msg.OpPut}, {Kind: msg.OpPut, Expect: msg.ExpectAbsent}, {Kind: msg.OpDelete},
		{Kind: msg.OpRequire, Expect: msg.ExpectExists}, {Kind: msg.OpAdd, Delta: 1}, {Kind: msg.OpAddGet, Delta: 1}, {Kind: msg.OpMoveOut},
	} {
		_, f := p.run(t, op)
		require.NotNil(t, f, "%v", op.Kind)
		require.Equal(t, msg.ReasonMoved, f.Reason, "%v", op.Kind)
		require.Equal(t, to, f.MovedTo)
		require.Equal(t, "k", string(f.Key))
	}
}

// TestDeleteRangeAfterAnOwnWrite: the identity of a deletion follows that of what it
// deletes, whether the piece has added to it before, or made it, or found it in the
// range, and whether it was last written here or elsewhere.
func TestDeleteRangeAfterAnOwnWrite(t *testing.T) {
	all := msg.Op{Kind: msg.OpDeleteRange, Key: []byte("a"), End: []byte("z")}
	for name, own := range map[string][]msg.Op{
		"found": nil, "added to": {{Kind: msg.OpAdd, Delta: 1}}, "summed up": {{Kind: msg.OpAddGet, Delta: 1}},
	} {
		p := newPlace(1)
		came := entry.Value{Type: adt.Counter, Version: kv.Version{Moves: 3, Shard: 2, Write: 9}, Payload: adt.EncodeCounter(5)}
		p.it.Value = came
		p.index = 1
		p.rows = RangeRows{Rows: []RangeRow{{Key: []byte("k"), Value: came, Index: 1}}}
		_, f := p.run(t, append(own, all)...)
		require.Nil(t, f, name)
		require.Equal(t, entry.TypeDeleted, p.it.Value.Type, name)
		require.Equal(t, kv.Version{Moves: 4, Shard: 1, Write: p.writes}, p.it.Value.Version, name)
	}
	p := newPlace(1)
	_, f := p.run(t, msg.Op{Kind: msg.OpPut, Value: []byte("x")}, all)
	require.Nil(t, f)
	require.Equal(t, entry.TypeDeleted, p.it.Value.Type, "what the piece has made itself")
}
