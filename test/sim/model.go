package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// cell is a key's state in the model. The zero cell is an absent key.
type cell struct {
	exists  bool
	counter bool
	text    string // a register's bytes
	n       int64  // a counter's number
	typ     entry.Type
	object  object // another data type's value
	version kv.Version
	csn     kv.CSN // the CSN at which the version became visible
	// maybeVersion is the version before calls of the current transaction that left the value as it was. Whether such
	// calls make a new version is up to the shard.
	maybeVersion kv.Version
	// expires is the version's deadline, in milliseconds.
	expires int64
}

// model is the whole store as one map, and executes transactions one after another. It is the reference model.
type model struct{ cells map[string]cell }

// own is what a transaction has done to a key.
type own struct {
	cell
	// added: the transaction has only added delta to the value.
	added bool
	delta int64
	// called: the transaction has only called methods on the value.
	called bool
}

// trial executes one transaction on a model without changing the model.
type trial struct {
	m          *model
	own        map[string]own
	hidesFound bool // results of blind writes do not report the previous value
	// pointsOnly: only results of point operations are known.
	pointsOnly bool
	// uncertain: a condition may hold or not (cell.maybeVersion).
	uncertain bool
}

func (t *trial) get(key string) (c cell, mine bool) {
	if o, ok := t.own[key]; ok {
		return o.cell, true
	}
	return t.m.cells[key], false
}

// call executes operations in order; all of them, or none. It returns the kind of failure and the number of the failed
// operation.
func (t *trial) call(ops []msg.Op, results []msg.Result) (kv.Kind, int, error) {
	before := maps.Clone(t.own)
	for i := range ops {
		var res *msg.Result
		if results != nil {
			if i >= len(results) {
				return 0, i, fmt.Errorf("result %d is missing", i)
			}
			res = &results[i]
			if t.pointsOnly && ops[i].IsRange() {
				res = nil
			}
		}
		kind, err := t.op(&ops[i], res)
		if err != nil {
			return 0, i, fmt.Errorf("%s%w", describe(ops[i:i+1]), err)
		}
		if kind != kv.KindOK {
			t.own = before
			return kind, i, nil
		}
	}
	return kv.KindOK, 0, nil
}

func (t *trial) op(op *msg.Op, res *msg.Result) (kv.Kind, error) {
	switch op.Kind {
	case msg.OpScan:
		return kv.KindOK, t.scan(op, res)
	case msg.OpDeleteRange:
		keys := t.existing(op.Key, op.End)
		for _, k := range keys {
			t.own[k] = own{}
		}
		if res != nil && res.Count != uint64(len(keys)) {
			return kv.KindOK, fmt.Errorf("removed %d keys, the model %d", res.Count, len(keys))
		}
		return kv.KindOK, nil
	}
	key := string(op.Key)
	c, mine := t.get(key)
	switch op.Kind {
	case msg.OpGet:
		if op.Stored && res != nil && res.Found && c.object != nil {
			return kv.KindOK, sameDump(c, res)
		}
		return kv.KindOK, t.compare(c, mine, res)
	case msg.OpAdd, msg.OpAddGet:
		return t.add(op, res)
	case msg.OpQuery, msg.OpUpdate, msg.OpUpdateGet:
		return t.invoke(op, res)
	case msg.OpExpire, msg.OpDeleteExpired:
		return kv.KindOK, t.expire(op, res)
	}
	if op.Expect == msg.ExpectVersion && !c.maybeVersion.IsZero() && c.maybeVersion == op.ExpectVersion {
		t.uncertain = true
	} else if !holds(op, c) {
		return kv.KindConditionFailed, nil
	}
	if op.Kind == msg.OpRequire {
		return kv.KindOK, nil
	}
	if op.Kind == msg.OpPut && c.exists && (c.counter || c.object != nil) {
		return kv.KindWrongType, nil
	}
	if err := t.compareFound(c, op, res); err != nil {
		return kv.KindOK, err
	}
	o := own{}
	if op.Kind == msg.OpPut {
		o.cell = (cell{exists: true, text: string(op.Value)})
		if op.Expiry != 0 {
			o.expires = unknownDeadline
		}
	}
	t.own[key] = o
	return kv.KindOK, nil
}

// compareFound compares a write's report of whether the key existed.
func (t *trial) compareFound(c cell, op *msg.Op, res *msg.Result) error {
	if res != nil && (!t.hidesFound || op.ReturnFound) && res.Found != c.exists {
		return fmt.Errorf("found %v, the model %v", res.Found, c.exists)
	}
	return nil
}

func holds(op *msg.Op, c cell) bool {
	switch op.Expect {
	case msg.ExpectExists:
		return c.exists
	case msg.ExpectAbsent:
		return !c.exists
	case msg.ExpectValue:
		return c.exists && (c.object == nil && c.payload() == string(op.ExpectValue) || c.object != nil &&
			equalsStored(c, op.ExpectValue))
	case msg.ExpectVersion:
		return c.exists && c.version == op.ExpectVersion
	}
	return true
}

func (c cell) payload() string {
	if c.counter {
		return string(adt.EncodeCounter(c.n))
	}
	return c.text
}

func (t *trial) add(op *msg.Op, res *msg.Result) (kv.Kind, error) {
	key := string(op.Key)
	c, mine := t.get(key)
	if c.exists && !c.counter { // or it has another data type
		return kv.KindWrongType, nil
	}
	sum, ok := adt.Sum(c.n, op.Delta)
	if !ok {
		return kv.KindOutOfRange, nil
	}
	o := own{cell: c, added: true, delta: op.Delta}
	if mine {
		o = t.own[key]
		o.delta += op.Delta
	}
	o.exists, o.counter, o.n, o.version = true, true, sum, kv.Version{}
	if op.Kind == msg.OpAddGet && !t.hidesFound {
		o.added = false
	}
	t.own[key] = o
	if op.Kind == msg.OpAddGet && res != nil && string(res.Value) != o.payload() {
		return kv.KindOK, fmt.Errorf("returned the sum %x, the model %x", res.Value, o.payload())
	}
	return kv.KindOK, nil
}

// compare compares a read's result with a cell.
func (t *trial) compare(c cell, mine bool, res *msg.Result) error {
	if res == nil {
		return nil
	}
	return sameValue(c, mine, res.Found, res.Value, entry.Type(res.Type), res.Version)
}

func sameValue(c cell, mine, found bool, value []byte, typ entry.Type, v kv.Version) error {
	switch {
	case found != c.exists:
		return fmt.Errorf("found %v, the model %v (%v)", found, c.exists, c)
	case !found:
		return nil
	case c.object != nil && (value != nil || typ != c.typ):
		return fmt.Errorf("read a %s as %q, the model has a %s", adt.TypeName(typ), value, adt.TypeName(c.typ))
	case string(value) != c.payload() || (typ == adt.Counter) != c.counter:
		return fmt.Errorf("read %q, the model %q at %v", value, c.payload(), c.version)
	case !mine && v != c.version:
		return fmt.Errorf("read version %v, the model has %v", v, c.version)
	}
	return nil
}

// existing lists the keys of a range that exist, in order.
func (t *trial) existing(start, end []byte) []string {
	var keys []string
	span := kv.Range(start, end)
	for k := range t.m.cells {
		if _, mine := t.own[k]; !mine && span.Contains([]byte(k)) && t.m.cells[k].exists {
			keys = append(keys, k)
		}
	}
	for k, o := range t.own {
		if o.exists && span.Contains([]byte(k)) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// scan compares a result with the part of the range that it covers.
func (t *trial) scan(op *msg.Op, res *msg.Result) error {
	if res == nil {
		return nil
	}
	if len(res.Resume) > 0 {
		if limit := int(op.Limit); limit > 0 && limit < 100 && len(res.Pairs) > limit {
			return fmt.Errorf("returned %d pairs, the limit is %d", len(res.Pairs), limit)
		}
	}
	var keys []string
	if read := op.ReadUntil(res.Resume); !read.IsEmpty() {
		keys = t.existing(read.Start, read.End)
	}
	if op.Reverse {
		slices.Reverse(keys)
	}
	if len(keys) != len(res.Pairs) {
		return fmt.Errorf("returned %d pairs and stopped at %q, the model has %s", len(res.Pairs), res.Resume,
			strings.Join(keys, " "))
	}
	for i, k := range keys {
		c, mine := t.get(k)
		p := &res.Pairs[i]
		if string(p.Key) != k {
			return fmt.Errorf("returned %q, the model %q", p.Key, k)
		}
		if err := sameValue(c, mine, true, p.Value, entry.Type(p.Type), p.Version); err != nil {
			return fmt.Errorf("%q: %w", k, err)
		}
	}
	return nil
}

// expire executes an expiry operation in the model, or a deletion by an expiry. The deadline itself is known only when
// the version becomes visible; until then it is unknownDeadline.
func (t *trial) expire(op *msg.Op, res *msg.Result) error {
	key := string(op.Key)
	c, mine := t.get(key)
	if op.Kind == msg.OpDeleteExpired {
		if c.exists && c.expires == op.Expiry {
			t.own[key] = own{}
		}
		return nil
	}
	if err := t.compareFound(c, op, res); err != nil || !c.exists || op.Expiry == 0 && c.expires == 0 {
		return err
	}
	o := own{cell: c}
	if mine {
		o = t.own[key]
	}
	o.version = kv.Version{} // a new version, not known yet
	o.expires = 0
	if op.Expiry != 0 {
		o.expires = unknownDeadline
	}
	t.own[key] = o
	return nil
}

// unknownDeadline is the deadline of a version that is not visible yet.
const unknownDeadline = math.MaxInt64
