package mvcc

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Chain is what the newest row of a key rests on, if that is a delta.
type Chain struct {
	// Below are the rows under it, in order: a whole value, and deltas. Empty if
	// the newest row is whole itself. Whoever adds to it makes sure that nobody
	// else has it.
	Below []kv.Index
	// Weight is what the deltas count for together; see Weight.
	Weight int
	// Calls are those of the newest row, if it is a delta and they are known.
	Calls []msg.Call
	// CallsWeight is what it counts for.
	CallsWeight int
}

const (
	// wholeBytes is up to which size a value is always written whole: about what
	// a delta takes, so that there would be little to gain.
	wholeBytes = 512
	// leastChain is up to what weight deltas may follow a value, however small
	// it is. Somewhat arbitrary: a page.
	leastChain = 4 << 10
	// rowWeight is what a row costs beside its bytes and its key: about what the
	// store adds, and the work of reading it.
	rowWeight = 32
	// againBytes is up to which weight the calls of a row are remembered, so that
	// it can be written over.
	againBytes = 1 << 10
)

// Weight is what a row of calls counts for in a chain.
func Weight(key []byte, calls []msg.Call) int {
	return rowWeight + len(key) + entry.DeltaSize(calls)
}

// callWeight is Weight of calls alone.
func callWeight(calls []msg.Call) (n int) {
	for i := range calls {
		n += calls[i].Size() + 3 // tag, and a length of mostly one or two bytes
	}
	return n
}

// Step says of a change what may be done with the row before it.
type Step struct {
	// Old is that row's index.
	Old kv.Index
	// Unread: nobody can read at an index from that of the row on.
	Unread bool
	// Same: it was written in this very step of the shard, and is on its way only
	// with this change.
	Same bool
}

// Extend adds calls, which have made the item's value, to its chain. It returns
// what the newest row has to hold now, and whether that is written in the place
// of the newest row so far. With nil the value is to be written whole.
//
// A chain never weighs more than the value, or leastChain: writing a value
// whole is paid for by the deltas since the last time, and reading a chain
// costs no more than a few times reading the value.
func (it *Item) Extend(calls []msg.Call, s Step) (row []msg.Call, over bool) {
	size := adt.Size(&it.Value)
	if size <= wholeBytes || !it.Value.Exists() || s.Unread && s.Same && it.Calls == nil {
		return nil, false
	}
	c := &it.Chain
	fresh := rowWeight + len(it.Key) + entry.DeltaSize(nil) + callWeight(calls)
	if s.Unread && it.Calls != nil {
		row, weight := it.gathered(calls)
		if s.Same || weight <= 2*fresh {
			if c.Weight += weight - c.CallsWeight; c.Weight > max(size, leastChain) || weight > size {
				return nil, false
			}
			c.Calls, c.CallsWeight = row, weight
			return row, true
		}
	}
	if c.Weight+fresh > max(size, leastChain) || fresh > size {
		return nil, false
	}
	c.Below = append(c.Below, s.Old)
	c.Calls, c.CallsWeight = append([]msg.Call(nil), calls...), fresh
	c.Weight += fresh
	return c.Calls, false
}

// gathered are the calls of the newest row with more, and what they count for.
func (it *Item) gathered(more []msg.Call) ([]msg.Call, int) {
	n := len(it.Calls) - 1
	weight := it.CallsWeight - callWeight(it.Calls[n:])
	row := adt.Gather(it.Value.Type, it.Calls, more)
	return row, weight + callWeight(row[n:])
}

// Settle ends a step in which the item's newest row was written.
func (it *Item) Settle() {
	if it.CallsWeight > againBytes {
		it.Calls, it.CallsWeight = nil, 0
	}
}

// Found is what was read of a key.
type Found struct {
	Value entry.Value
	// Index is that of the newest row, 0 if there is none.
	Index kv.Index
	Chain
}

// Fold makes a value of a key's chain, newest row first, as a ReadKey returns
// it. What cannot be read is KindCorrupt.
func Fold(rows []entry.Row) (f Found, err error) {
	if len(rows) == 0 {
		return f, nil
	}
	f.Index = rows[0].Index
	last := len(rows) - 1
	if f.Value, err = entry.DecodeValue(rows[last].Value); err != nil || last == 0 {
		return f, err
	}
	defer func() {
		if p := recover(); p != nil { // what was damaged may have any arguments
			f, err = Found{}, damaged(rows[0].Key, fmt.Sprint(p))
		}
	}()
	f.Below = make([]kv.Index, 0, last)
	for i, row := range slices.Backward(rows[:last]) {
		f.Below = append(f.Below, rows[i+1].Index)
		v, calls, err := entry.DecodeDelta(row.Value)
		if err != nil {
			return Found{}, err
		}
		if v.Type != f.Value.Type {
			return Found{}, damaged(row.Key, "a "+adt.TypeName(f.Value.Type)+" is changed like a "+adt.TypeName(v.Type))
		}
		after, err := adt.Apply(v.Type, &f.Value, calls)
		switch {
		case err != nil && adt.Lookup(v.Type) == nil:
			return Found{}, &kv.Error{Kind: kv.KindOf(err), Op: -1, Key: row.Key, Text: kv.TextOf(err),
				Hint: "it is stored as changes, which only a program that declares its type can make"}
		case err != nil:
			return Found{}, damaged(row.Key, kv.TextOf(err))
		case after.Type != v.Type:
			return Found{}, damaged(row.Key, "nothing is left of it, though its end is not stored")
		}
		after.Version = v.Version
		f.Value = after
		f.Weight += rowWeight + len(row.Key) + len(row.Value)
	}
	return f, nil
}

func damaged(key []byte, text string) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Key: key, Text: "the stored changes of a value cannot be made: " + text,
		Hint: "restore the store from a backup, or delete the key"}
}
