package mvcc

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Chain describes the rows below the newest row of a key, if that row is a delta:
//
//	CSN 4          CSN 6      CSN 9
//	whole value ◀─ delta ◀─── delta (newest)      Below = [4 6]
//
// Reading the key folds the deltas into the whole value ([Fold]). Deltas make an update of a large
// value cheap; the weight of a chain bounds the cost of reading it.
type Chain struct {
	// Below are the CSNs of the rows below the newest, ascending: a whole value, then deltas. It is
	// empty if the newest row is whole. The slice must not be shared when rows are appended.
	Below []kv.CSN
	// Weight is the size of the deltas: their bytes and keys, and rowOverhead for each.
	Weight int
	// Calls are the calls of the newest row if it is a delta and they are still in memory.
	Calls []msg.Call
	// CallsWeight is the weight of that row.
	CallsWeight int
	// Under is the value below that row, if it is a patch and Calls are known.
	Under entry.Value
	// Pages are the pages that the whole row names, if it is a directory.
	Pages []entry.PageRef
}

const (
	// wholeMaxBytes is the size up to which a value is always written whole: a delta would take
	// about as much.
	wholeMaxBytes = 512
	// minChainWeight is the weight that a chain may always have, however small the value is: one
	// page.
	minChainWeight = 4 << 10
	// rowOverhead is the cost of a row beside its bytes and its key: the store's metadata, and
	// reading it.
	rowOverhead = 32
	// mergeMaxBytes is the weight up to which the calls of a row stay in memory, so that the next
	// change can replace the row instead of adding one.
	mergeMaxBytes = 1 << 10
)

// callWeight returns the encoded size of calls in a row.
func callWeight(calls []msg.Call) (n int) {
	for i := range calls {
		n += calls[i].Size() + 3 // tag, and a length of mostly one or two bytes
	}
	return n
}

// Step describes how a change relates to the row before it.
type Step struct {
	// PreviousCSN is the CSN of that row.
	PreviousCSN kv.CSN
	// Unread: no read can be at a CSN from that row's on, so the row may be replaced.
	Unread bool
	// SameStep: the row was written in the same step of the shard, and reaches the disk only with this
	// change.
	SameStep bool
	// Before is the value of that row.
	Before entry.Value
	Paging Paging
}

// Extend adds calls, whose result is already the item's value, to the chain. It returns the calls
// that the newest row must contain, and in over whether that row replaces the newest one. A nil row
// means that the value must be written whole.
//
// The weight of a chain never exceeds the size of the value or minChainWeight. So the deltas since
// the last whole write pay for the next one, and reading a chain costs at most a few times as much
// as reading the value. For a value in pages only changed pages are written and few are read, so
// the limit is the size of some pages.
//
//	the newest row                                   the change
//	is whole, and the value small                    writes the value
//	is whole, and the value large                    adds a delta
//	is a delta that cannot be read, and small        replaces it by a delta with both changes
//	is a delta, and the chain is as large as the value   writes the value
func (it *Item) Extend(calls []msg.Call, s Step) (row []msg.Call, over bool) {
	size, paged := adt.Size(&it.Value), adt.InPages(&it.Value)
	most, paging := max(size, minChainWeight), s.Paging.WithDefaults()
	switch {
	// A tombstone is always written whole.
	case !it.Value.Exists():
		return nil, false
	case paged && size <= paging.Threshold/2 && adt.UnloadedBytes(&it.Value) == 0:
		return nil, false // small enough to be stored whole again
	// Of a value in pages only the directory and changed pages are written, so the cost of a whole
	// write is about maxChainWeight.
	case paged:
		size, most = paging.maxChainWeight(size), paging.maxChainWeight(size)
	// A delta of a small value saves nothing. If the previous row was written whole in this step and
	// no read sees it, replacing it costs no more than a delta.
	case size <= wholeMaxBytes || s.Unread && s.SameStep && it.Calls == nil:
		return nil, false
	case size > paging.Threshold && adt.CanBePaged(&it.Value):
		most = paging.maxChainWeight(size)
	}
	c := &it.Chain
	fresh := rowOverhead + len(it.Key) + entry.DeltaSize(&it.Value, nil) + callWeight(calls)
	// The newest row cannot be read, so a row with all calls replaces it. Without this, each update
	// of a hot key would add a row until the next whole write.
	if s.Unread && it.Calls != nil {
		row, weight := it.mergedCalls(calls)
		// A row of an earlier step is on disk. Replacing it writes its calls again, so that is
		// limited to twice the size of the new ones.
		if s.SameStep || weight <= 2*fresh {
			c.Weight += weight - c.CallsWeight
			if c.Weight > most || weight > size {
				return nil, false
			}
			c.Calls, c.CallsWeight = row, weight
			return row, true
		}
	}
	// The deltas since the last whole write have paid for the next one.
	if c.Weight+fresh > most || fresh > size {
		return nil, false
	}
	c.Below = append(c.Below, s.PreviousCSN)
	c.Calls, c.CallsWeight = append([]msg.Call(nil), calls...), fresh
	c.Weight += fresh
	if paged {
		c.Under = s.Before
	}
	return c.Calls, false
}

// mergedCalls returns the calls of the newest row combined with more, and their weight.
func (it *Item) mergedCalls(more []msg.Call) ([]msg.Call, int) {
	n := len(it.Calls) - 1
	weight := it.CallsWeight - callWeight(it.Calls[n:])
	row := adt.CombineCalls(it.Value.Type, it.Calls, more)
	return row, weight + callWeight(row[n:])
}

// Settle ends a step in which the item's newest row was written. It frees calls above
// mergeMaxBytes.
func (it *Item) Settle() {
	if it.CallsWeight > mergeMaxBytes {
		it.Calls, it.CallsWeight, it.Under = nil, 0, entry.Value{}
	}
}

// Found is the result of reading a key from the store.
type Found struct {
	Value entry.Value
	// CSN is the CSN of the newest row, 0 if there is none.
	CSN kv.CSN
	Chain
}

// Fold computes a value from a key's chain, newest row first, as a ReadKey returns it. Errors are
// KindCorrupt, or KindInvalid if the data type is not declared in this program. No page of a value
// in pages is loaded.
//
// It is a function of the rows alone, and may run in the goroutine that has read them.
func Fold(rows []entry.Row) (f Found, err error) {
	if len(rows) == 0 {
		return f, nil
	}
	f.CSN = rows[0].CSN
	last := len(rows) - 1
	f.Value, f.Pages, err = decodeBase(&rows[last])
	if err != nil || last == 0 {
		return f, err
	}
	defer func() {
		if p := recover(); p != nil { // damaged calls can have arguments that no method expects
			f, err = Found{}, damagedDeltaError(rows[0].Key, fmt.Sprint(p))
		}
	}()
	f.Below = make([]kv.CSN, 0, last)
	for i, row := range slices.Backward(rows[:last]) {
		f.Below = append(f.Below, rows[i+1].CSN)
		f.Weight += rowOverhead + len(row.Key) + len(row.Value)
	}
	if f.Pages != nil {
		f.Value, err = applyPatches(&f.Value, rows[:last])
	} else {
		f.Value, err = applyDeltas(&f.Value, rows[:last])
	}
	if err != nil {
		return Found{}, err
	}
	return f, nil
}

// decodeBase decodes the row that a chain begins with, and returns its pages if the value is in
// pages.
func decodeBase(row *entry.Row) (v entry.Value, pages []entry.PageRef, err error) {
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
		err = unknownTypeError(row.Key, err)
	case err != nil:
		err = DamagedPages(row.Key, kv.TextOf(err))
	}
	return v, pages, err
}

// applyDeltas applies the calls in rows, newest first, to a value.
func applyDeltas(before *entry.Value, rows []entry.Row) (v entry.Value, err error) {
	v = *before
	for _, row := range slices.Backward(rows) {
		head, calls, err := entry.DecodeDelta(row.Value)
		if err == nil {
			err = checkSameType(&row, v.Type, head.Type)
		}
		if err != nil {
			return v, err
		}
		after, err := adt.Apply(head.Type, &v, calls)
		err = checkOutcome(&row, &head, &after, err)
		if err != nil {
			return v, err
		}
		v = after
	}
	return v, nil
}

// applyPatches applies the patches in rows, newest first, to a value in pages.
func applyPatches(before *entry.Value, rows []entry.Row) (v entry.Value, err error) {
	patches := make([][]byte, len(rows))
	var head entry.Value
	for i, row := range slices.Backward(rows) {
		head, patches[len(rows)-1-i], err = entry.DecodePatch(row.Value)
		if err == nil {
			err = checkSameType(&row, before.Type, head.Type)
		}
		if err != nil {
			return v, err
		}
	}
	after, err := adt.Patched(before, patches...)
	return after, checkOutcome(&rows[0], &head, &after, err)
}

// checkSameType returns an error if a delta belongs to another type than the value below it.
func checkSameType(row *entry.Row, value, change entry.Type) error {
	if value != change {
		return damagedDeltaError(row.Key, "a "+adt.TypeName(value)+" has a stored change of a "+adt.TypeName(change))
	}
	return nil
}

// checkOutcome copies version and expiry from the row's head to the result of its changes, or
// returns the error that the row is damaged.
func checkOutcome(row *entry.Row, head, after *entry.Value, err error) error {
	switch {
	case err != nil && adt.Lookup(head.Type) == nil:
		return unknownTypeError(row.Key, err)
	case err != nil:
		return damagedDeltaError(row.Key, kv.TextOf(err))
	case after.Type != head.Type:
		return damagedDeltaError(row.Key, "it would be removed, but its end is not stored")
	}
	after.Version, after.Expires = head.Version, head.Expires
	return nil
}

// unknownTypeError is the error for a stored value of a type that this program does not declare.
func unknownTypeError(key []byte, err error) error {
	return &kv.Error{Kind: kv.KindOf(err), Op: -1, Key: key, Text: kv.TextOf(err),
		Hint: "it is stored as changes or in pages, which only a program with the declaration of its type can read"}
}

// damagedDeltaError is the error for deltas that cannot be applied.
func damagedDeltaError(key []byte, text string) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Key: key,
		Text: "the stored changes of a value cannot be applied: " + text,
		Hint: "restore the store from a backup, or delete the key"}
}

// DamagedPages returns the error for a value in pages that cannot be read.
func DamagedPages(key []byte, text string) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Key: key, Text: "the stored pages of a value cannot be read: " + text,
		Hint: "restore the store from a backup, or delete the key"}
}
