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
	// Weight is what the deltas count for together: their bytes and keys, and
	// rowWeight for each.
	Weight int
	// Calls are those of the newest row, if it is a delta and they are known.
	Calls []msg.Call
	// CallsWeight is what it counts for.
	CallsWeight int
	// Under is the value below that row, if it is a patch and Calls are known.
	Under entry.Value
	// Pages are those that the whole row names, if it is a directory.
	Pages []entry.PageRef
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

// callWeight is what calls count for in a row.
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
	// Before is the value in that row.
	Before entry.Value
	Paging Paging
}

// Extend adds calls, which have made the item's value, to its chain. It returns
// what the newest row has to hold now, and whether that is written in the place
// of the newest row so far. With nil the value is to be written whole.
//
// A chain never weighs more than the value, or leastChain: writing a value
// whole is paid for by the deltas since the last time, and reading a chain
// costs no more than a few times reading the value. Of a value in pages only those
// are written that have changed, and little is to be read: there it never weighs
// more than some pages do.
func (it *Item) Extend(calls []msg.Call, s Step) (row []msg.Call, over bool) {
	size, paged := adt.Size(&it.Value), adt.InPages(&it.Value)
	most, paging := max(size, leastChain), s.Paging.WithDefaults()
	switch {
	case !it.Value.Exists():
		return nil, false
	case paged && size <= paging.Over/2 && adt.Away(&it.Value) == 0:
		return nil, false // it need not be in pages any more
	case paged:
		size, most = paging.chain(size), paging.chain(size)
	case size <= wholeBytes || s.Unread && s.Same && it.Calls == nil:
		return nil, false
	case size > paging.Over && adt.CanBePaged(&it.Value):
		most = paging.chain(size)
	}
	c := &it.Chain
	fresh := rowWeight + len(it.Key) + entry.DeltaSize(&it.Value, nil) + callWeight(calls)
	if s.Unread && it.Calls != nil {
		row, weight := it.gathered(calls)
		if s.Same || weight <= 2*fresh {
			c.Weight += weight - c.CallsWeight
			if c.Weight > most || weight > size {
				return nil, false
			}
			c.Calls, c.CallsWeight = row, weight
			return row, true
		}
	}
	if c.Weight+fresh > most || fresh > size {
		return nil, false
	}
	c.Below = append(c.Below, s.Old)
	c.Calls, c.CallsWeight = append([]msg.Call(nil), calls...), fresh
	c.Weight += fresh
	if paged {
		c.Under = s.Before
	}
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
		it.Calls, it.CallsWeight, it.Under = nil, 0, entry.Value{}
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
// it. What cannot be read is KindCorrupt. Of a value in pages none is in memory.
func Fold(rows []entry.Row) (f Found, err error) {
	if len(rows) == 0 {
		return f, nil
	}
	f.Index = rows[0].Index
	last := len(rows) - 1
	f.Value, f.Pages, err = base(&rows[last])
	if err != nil || last == 0 {
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
		f.Weight += rowWeight + len(row.Key) + len(row.Value)
	}
	if f.Pages != nil {
		f.Value, err = patched(&f.Value, rows[:last])
	} else {
		f.Value, err = changed(&f.Value, rows[:last])
	}
	if err != nil {
		return Found{}, err
	}
	return f, nil
}

// base is the value that a chain begins with, and its pages, if it is in pages.
func base(row *entry.Row) (v entry.Value, pages []entry.PageRef, err error) {
	if !entry.IsDirectory(row.Value) {
		v, err = entry.DecodeValue(row.Value)
		return v, nil, err
	}
	head, pages, directory, err := entry.DecodeDirectory(row.Value)
	if err == nil {
		v, err = adt.Open(head, slices.Clone(pages), directory)
	}
	switch {
	case err != nil && adt.Lookup(head.Type) == nil:
		err = unknown(row.Key, err)
	case err != nil:
		err = DamagedPages(row.Key, kv.TextOf(err))
	}
	return v, pages, err
}

// changed is a value after the calls in rows, newest first.
func changed(before *entry.Value, rows []entry.Row) (v entry.Value, err error) {
	v = *before
	for _, row := range slices.Backward(rows) {
		head, calls, err := entry.DecodeDelta(row.Value)
		if err == nil {
			err = sameType(&row, v.Type, head.Type)
		}
		if err != nil {
			return v, err
		}
		after, err := adt.Apply(head.Type, &v, calls)
		err = outcome(&row, &head, &after, err)
		if err != nil {
			return v, err
		}
		v = after
	}
	return v, nil
}

// patched is a value in pages after the patches in rows, newest first.
func patched(before *entry.Value, rows []entry.Row) (v entry.Value, err error) {
	patches := make([][]byte, len(rows))
	var head entry.Value
	for i, row := range slices.Backward(rows) {
		head, patches[len(rows)-1-i], err = entry.DecodePatch(row.Value)
		if err == nil {
			err = sameType(&row, before.Type, head.Type)
		}
		if err != nil {
			return v, err
		}
	}
	after, err := adt.Patched(before, patches...)
	return after, outcome(&rows[0], &head, &after, err)
}

func sameType(row *entry.Row, value, change entry.Type) error {
	if value != change {
		return damaged(row.Key, "a "+adt.TypeName(value)+" has a stored change of a "+adt.TypeName(change))
	}
	return nil
}

// outcome gives what changes have made the identity that is in their row, or says
// what is wrong.
func outcome(row *entry.Row, head, after *entry.Value, err error) error {
	switch {
	case err != nil && adt.Lookup(head.Type) == nil:
		return unknown(row.Key, err)
	case err != nil:
		return damaged(row.Key, kv.TextOf(err))
	case after.Type != head.Type:
		return damaged(row.Key, "it would be removed, but its end is not stored")
	}
	after.Version, after.Expires = head.Version, head.Expires
	return nil
}

func unknown(key []byte, err error) error {
	return &kv.Error{Kind: kv.KindOf(err), Op: -1, Key: key, Text: kv.TextOf(err),
		Hint: "it is stored as changes or in pages, which only a program with the declaration of its type can read"}
}

func damaged(key []byte, text string) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Key: key, Text: "the stored changes of a value cannot be applied: " + text,
		Hint: "restore the store from a backup, or delete the key"}
}

// DamagedPages is the error of a value in pages that cannot be read.
func DamagedPages(key []byte, text string) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Key: key, Text: "the stored pages of a value cannot be read: " + text,
		Hint: "restore the store from a backup, or delete the key"}
}
