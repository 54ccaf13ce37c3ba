package snapshotqueue

import "slices"

// index finds updates and readers by the keys that they need, to find those that do not commute.
//
//	points   a ─▶ updates: U1, U2   readers: R1       a read of a compares with U1, U2 and U3
//	         b ─▶ updates: U1       readers:
//	ranged   updates: U3 [a, c)     readers: R2       an update of b compares with R2
type index struct {
	points map[string]*point
	// rangedUpdates and rangedReaders have a range among their needs. They are scanned in addition to the points.
	rangedUpdates []*update
	rangedReaders []*reader
	// listings numbers the searches: an update that needs several keys is listed once in each.
	listings uint64
}

// point is a key that some update or reader needs by a point access.
type point struct {
	updates []*update
	readers []*reader
}

// addUpdate adds an update by its needs.
func (x *index) addUpdate(u *update) {
	ranged := false
	for i := range u.needs {
		if u.needs[i].Span.IsPoint() {
			p := x.point(u.needs[i].Span.Start)
			p.updates = append(p.updates, u)
		} else {
			ranged = true
		}
	}
	if ranged {
		x.rangedUpdates = append(x.rangedUpdates, u)
	}
}

// removeUpdate removes an update from the keys that it needs. A key without updates and readers is not kept.
func (x *index) removeUpdate(u *update) {
	for i := range u.needs {
		if u.needs[i].Span.IsPoint() {
			key := u.needs[i].Span.Start
			if p := x.points[string(key)]; p != nil {
				p.updates = slices.DeleteFunc(p.updates, func(o *update) bool { return o == u })
				x.removeIfEmpty(key, p)
			}
		}
	}
	x.rangedUpdates = slices.DeleteFunc(x.rangedUpdates, func(o *update) bool { return o == u })
}

// addReader adds further needs of a reader.
func (x *index) addReader(rd *reader, needs []Need) {
	ranged := slices.Contains(x.rangedReaders, rd)
	for _, n := range needs {
		if slices.ContainsFunc(rd.needs, func(o Need) bool { return same(&o, &n) }) {
			continue
		}
		rd.needs = append(rd.needs, n)
		if n.Span.IsPoint() {
			p := x.point(n.Span.Start)
			p.readers = append(p.readers, rd)
		} else if !ranged {
			x.rangedReaders = append(x.rangedReaders, rd)
			ranged = true
		}
	}
}

// removeReader removes a reader with all its needs. The updates that it held are reevaluated by the caller.
func (x *index) removeReader(rd *reader) {
	for i := range rd.needs {
		if !rd.needs[i].Span.IsPoint() {
			continue
		}
		key := rd.needs[i].Span.Start
		if p := x.points[string(key)]; p != nil {
			p.readers = slices.DeleteFunc(p.readers, func(o *reader) bool { return o == rd })
			x.removeIfEmpty(key, p)
		}
	}
	x.rangedReaders = slices.DeleteFunc(x.rangedReaders, func(o *reader) bool { return o == rd })
}

// hasReader reports whether a registered reader does not commute with needs. ignoreRounds: readers of snapshot rounds
// do not count.
//
// A reader is compared as a whole, although it is found by one of its keys: the others may not commute either.
func (x *index) hasReader(needs []Need, ignoreRounds bool) bool {
	for _, rd := range x.rangedReaders {
		if !(ignoreRounds && rd.whole) && !commute(rd.needs, needs) {
			return true
		}
	}
	for i := range needs {
		if needs[i].Span.IsPoint() {
			if p := x.points[string(needs[i].Span.Start)]; p != nil && p.hasReader(needs, ignoreRounds) {
				return true
			}
			continue
		}
		for key, p := range x.points {
			if needs[i].Span.Contains([]byte(key)) && p.hasReader(needs, ignoreRounds) {
				return true
			}
		}
	}
	return false
}

// hasReader is index.hasReader for the readers of one key.
func (p *point) hasReader(needs []Need, ignoreRounds bool) bool {
	return slices.ContainsFunc(p.readers, func(rd *reader) bool {
		return !(ignoreRounds && rd.whole) && !commute(rd.needs, needs)
	})
}

// conflictingUpdates lists the updates and pieces that do not commute with needs, in the order of age.
func (x *index) conflictingUpdates(needs []Need) (out []*update) {
	x.listings++
	note := func(us []*update) {
		for _, u := range us {
			if u.listedIn != x.listings && !commute(needs, u.needs) {
				u.listedIn = x.listings
				out = append(out, u)
			}
		}
	}
	// Reads and updates of ranges are compared with everything; there are few of them.
	note(x.rangedUpdates)
	for i := range needs {
		if needs[i].Span.IsPoint() {
			if p := x.points[string(needs[i].Span.Start)]; p != nil {
				note(p.updates)
			}
			continue
		}
		for key, p := range x.points {
			if needs[i].Span.Contains([]byte(key)) {
				note(p.updates)
			}
		}
	}
	slices.SortFunc(out, func(a, b *update) int { return a.txn.CompareAge(b.txn) })
	return out
}

// WaiterCount is the number of held updates that change the key, plus the number of waiting reads of it. Ranges do not
// count.
//
// The hot shard's planner and the operator see it as the queue of the key, together with the requests that wait for
// locks.
func (x *index) WaiterCount(key []byte) (n int) {
	p := x.points[string(key)]
	if p == nil {
		return 0
	}
	x.listings++
	for _, u := range p.updates { // an update that needs the key in two modes is listed twice
		if u.state == Held && u.listedIn != x.listings {
			u.listedIn = x.listings
			n++
		}
	}
	for _, rd := range p.readers { // likewise
		if rd.countedIn == x.listings {
			continue
		}
		rd.countedIn = x.listings
		for _, r := range rd.reads {
			if r.state == readWaiting && r.readsKey(key) {
				n++
			}
		}
	}
	return n
}

// readsKey reports whether the read has a point access to the key.
func (r *Read) readsKey(key []byte) bool {
	return slices.ContainsFunc(r.Needs, func(n Need) bool {
		return n.Span.IsPoint() && string(n.Span.Start) == string(key)
	})
}

func (x *index) point(key []byte) *point {
	p := x.points[string(key)]
	if p == nil {
		p = &point{}
		x.points[string(key)] = p
	}
	return p
}

func (x *index) removeIfEmpty(key []byte, p *point) {
	if len(p.updates)+len(p.readers) == 0 {
		delete(x.points, string(key))
	}
}
