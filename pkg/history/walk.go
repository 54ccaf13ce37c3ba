package history

import "fmt"

// walker reduces the operations of one transaction to its accesses. It executes them on the part of the state that the
// transaction itself knows: its observations and its effects.
type walker struct {
	m    *model
	node int32
	txn  *Txn
	at   map[int32]int // key to its access
	// known is parallel to the node's accesses: the current content of the key.
	known []cell
}

// cell is what a transaction knows of a key's current state.
type cell struct {
	obs   obsKind // obsNone: unknown
	value string
	num   int64
	own   bool // it results from the transaction's own effect
}

func (w *walker) walk(node int32, t *Txn) {
	w.node, w.txn = node, t
	clear(w.at)
	w.known = w.known[:0]
	for i := range t.Ops {
		op := &t.Ops[i]
		switch op.Kind {
		case Read:
			w.observe(w.m.intern(op.Key), seenCell(op.Saw, op.Value, op.Number), false)
		case Write:
			w.put(w.m.intern(op.Key), op.Value)
		case Delete:
			k := w.m.intern(op.Key)
			if op.Saw != SawNothing {
				w.observe(k, seenCell(op.Saw, "", 0), false)
			}
			w.delete(k)
		case Add:
			w.increment(w.m.intern(op.Key), op)
		case Scan:
			w.scan(op)
		case DeleteRange:
			w.deleteRange(op)
		}
	}
}

// report reports an anomaly within the transaction. If the transaction may not have committed, it is reported once the
// commit is certain.
func (w *walker) report(a Anomaly, line string) {
	if w.txn.Outcome == Committed {
		w.m.verdict.add(a, line)
	} else {
		w.m.held[w.node] = append(w.m.held[w.node], Problem{a, []string{line}})
	}
}

func seenCell(s Saw, value string, num int64) cell {
	switch s {
	case SawAbsent:
		return cell{obs: obsAbsent}
	case SawValue:
		return cell{obs: obsValue, value: value}
	case SawNumber:
		return cell{obs: obsNumber, num: num}
	}
	return cell{obs: obsExists}
}

// get returns the access and the cell of a key.
func (w *walker) get(k int32) (*access, *cell) {
	at, ok := w.at[k]
	if !ok {
		at = len(w.known)
		w.at[k] = at
		w.m.acc = append(w.m.acc, access{node: w.node, key: k, from: fromNone})
		w.known = append(w.known, cell{})
	}
	first := len(w.m.acc) - len(w.known)
	return &w.m.acc[first+at], &w.known[at]
}

// observe records an observation of a key.
func (w *walker) observe(k int32, seen cell, ranged bool) {
	a, c := w.get(k)
	switch {
	case c.obs == obsNone && a.eff == effAdd:
		w.observeSum(a, c, seen)
	case c.obs == obsNone:
		a.obs, a.saw, a.num, a.ranged = seen.obs, seen.value, seen.num, ranged
		*c = seen
	case c.obs == obsExists && !c.own && seen.obs != obsAbsent && seen.obs != obsExists:
		a.obs, a.saw, a.num = seen.obs, seen.value, seen.num // now more is known
		*c = seen
	case !c.agrees(seen):
		name, whose := NonRepeatableRead, "had seen"
		if c.own {
			name, whose = OwnWriteMissed, "had itself left"
		}
		w.report(name, fmt.Sprintf("%s %s %v at %q, and then saw %v there.", describeTxn(w.txn), whose, c, w.m.names[k],
			seen))
	}
}

// observeSum records an observation of a counter to which the transaction has already added, from an unknown number.
func (w *walker) observeSum(a *access, c *cell, seen cell) {
	switch seen.obs {
	case obsNumber:
		base := obsBase
		if a.obs == obsExists {
			base = obsNumber // zero does not mean absent: the key was observed to exist
		}
		a.obs, a.num = base, seen.num-a.delta
		*c = cell{obs: obsNumber, num: seen.num, own: true}
	case obsExists: // implied
	default:
		w.report(OwnWriteMissed, fmt.Sprintf("%s had added to %q, and then saw %v there.", describeTxn(w.txn),
			w.m.names[a.key], seen))
	}
}

func (c *cell) agrees(seen cell) bool {
	if seen.obs == obsExists || c.obs == obsExists {
		return c.obs != obsAbsent && seen.obs != obsAbsent
	}
	return c.obs == seen.obs && c.value == seen.value && c.num == seen.num
}

func (c cell) String() string {
	switch c.obs {
	case obsAbsent:
		return "no key"
	case obsValue:
		return quote(c.value)
	case obsNumber, obsBase:
		return fmt.Sprintf("the number %d", c.num)
	}
	return "some value"
}

// recordReplaced records a value of the transaction that no other transaction may read.
func (w *walker) recordReplaced(a *access) {
	if a.eff == effPut {
		w.m.intermediate[valueKey{a.key, a.put}] = w.txn
	}
}

func (w *walker) put(k int32, value string) {
	a, c := w.get(k)
	w.recordReplaced(a)
	a.eff, a.put = effPut, value
	*c = cell{obs: obsValue, value: value, own: true}
}

func (w *walker) delete(k int32) {
	a, c := w.get(k)
	w.recordReplaced(a)
	a.eff = effDel
	*c = cell{obs: obsAbsent, own: true}
}

// increment adds to a counter. If the key's state is known because the transaction deleted it, the effect is a set,
// otherwise an addition.
func (w *walker) increment(k int32, op *Op) {
	a, c := w.get(k)
	if a.eff == effDel || a.eff == effPut || a.eff == effSet {
		if a.eff != effSet {
			a.delta = 0
		}
		a.eff = effSet
		a.delta += op.Delta
		*c = cell{obs: obsNumber, num: a.delta, own: true}
	} else {
		a.eff = effAdd
		a.delta += op.Delta
		switch c.obs {
		case obsNumber:
			*c = cell{obs: obsNumber, num: c.num + op.Delta, own: true}
		case obsAbsent:
			*c = cell{obs: obsNumber, num: op.Delta, own: true}
		case obsExists:
			c.obs = obsNone
		}
	}
	if op.Saw == SawNumber {
		w.observe(k, cell{obs: obsNumber, num: op.Number}, false)
	}
}

func (w *walker) scan(op *Op) {
	end := op.End
	if n := len(op.Pairs); op.Limit > 0 && n >= op.Limit {
		end = op.Pairs[n-1].Key + "\x00"
	}
	if n := len(op.Pairs); op.Limit > 0 && n > op.Limit {
		w.report(BadScan, fmt.Sprintf("%s scanned from %q to %q for at most %d keys and got %d.", describeTxn(w.txn), op.Key,
			op.End, op.Limit, n))
		return
	}
	next := 0
	for i, p := range op.Pairs {
		if p.Key < op.Key || op.End != "" && p.Key >= op.End || i > 0 && p.Key <= op.Pairs[i-1].Key {
			w.report(BadScan, fmt.Sprintf("%s scanned from %q to %q and got %q out of place.", describeTxn(w.txn), op.Key,
				op.End, p.Key))
			return
		}
	}
	for _, k := range w.m.between(op.Key, end) {
		if next < len(op.Pairs) && op.Pairs[next].Key == w.m.names[k] {
			p := op.Pairs[next]
			next++
			w.observe(k, seenCell(p.Saw, p.Value, p.Number), false)
		} else if w.m.written[k] || w.m.h.InitialUnknown {
			w.observe(k, cell{obs: obsAbsent}, true)
		}
	}
}

func (w *walker) deleteRange(op *Op) {
	count := countObs{n: op.Number}
	for _, k := range w.m.between(op.Key, op.End) {
		if !w.m.written[k] && !w.m.h.InitialUnknown {
			continue
		}
		a, c := w.get(k)
		switch {
		case !c.own && a.eff == effNone:
			count.keys = append(count.keys, k)
		case c.obs != obsAbsent:
			count.n--
		}
		w.delete(k)
	}
	if op.Saw == SawNumber {
		w.m.counts[w.node] = append(w.m.counts[w.node], count)
	}
}
