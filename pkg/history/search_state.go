package history

// fits reports whether v, placed now, observes what it recorded, and overwrites nothing that an unplaced transaction
// has yet to read.
func (s *search) fits(v int32) bool {
	for i := s.first[v]; i < s.first[v+1]; i++ {
		a := &s.acc[i]
		st := &s.state[a.key]
		if !s.matches(st, a) {
			return false
		}
		if a.eff == effNone {
			continue
		}
		waiting := s.unread0[a.key]
		if st.by >= 0 {
			waiting = s.unread[st.by]
		}
		if waiting > 0 && s.certain[v] && (a.from == fromInitial && st.by < 0 || a.from >= 0 && st.by >= 0) {
			waiting-- // v itself
		}
		if waiting > 0 && !s.keys[a.key].counter || waiting > 0 && st.obs == obsAbsent {
			return false
		}
	}
	for _, c := range s.counts[v] {
		n := c.n
		for _, k := range c.keys {
			if s.state[k].obs != obsAbsent {
				n--
			}
		}
		if n != 0 {
			return false
		}
	}
	return true
}

// matches reports whether the state is what the access observed.
func (s *search) matches(st *keyContent, a *access) bool {
	switch a.obs {
	case obsNone:
		return true
	case obsAbsent:
		return st.obs == obsAbsent
	case obsExists:
		return st.obs != obsAbsent
	case obsNumber:
		return st.obs == obsNumber && st.num == a.num
	case obsBase:
		return st.obs == obsNumber && st.num == a.num || st.obs == obsAbsent && a.num == 0
	}
	if st.obs != obsValue {
		return false
	}
	if st.by < 0 {
		return s.initial[a.key] == a.saw
	}
	return s.acc[st.by].put == a.saw
}

// isHarmless reports whether v, which fits, cannot block another transaction when it is placed: no unplaced transaction
// has yet to read what it writes. Any order that continues from here without v stays valid if v is moved to its front.
func (s *search) isHarmless(v int32) bool {
	for i := s.first[v]; i < s.first[v+1]; i++ {
		if s.acc[i].eff != effNone && (s.unread[i] > 0 || s.unsettled[s.acc[i].key]) {
			return false
		}
	}
	return true
}

// place places v.
func (s *search) place(f *searchFrame, v int32) {
	f.node, f.undo = v, len(s.undo)
	s.isIn[v] = true
	s.hash.toggle(uint64(v)+1, 0, 0)
	for i := s.first[v]; i < s.first[v+1]; i++ {
		a := &s.acc[i]
		s.count(i, -1)
		if a.eff == effNone {
			continue
		}
		st := &s.state[a.key]
		s.undo = append(s.undo, undoState{a.key, *st})
		s.toggle(a.key)
		switch a.eff {
		case effPut:
			*st = keyContent{by: i, obs: obsValue}
		case effDel:
			*st = keyContent{by: i, obs: obsAbsent}
		case effSet:
			*st = keyContent{by: i, obs: obsNumber, num: a.delta}
		case effAdd:
			st.num = st.num + a.delta
			st.obs = obsNumber
		}
		s.toggle(a.key)
	}
	if !s.certain[v] {
		return
	}
	s.placed++
	s.next[s.prev[v]], s.prev[s.next[v]] = s.next[v], s.prev[v]
	for _, e := range s.g.outEdges(v) {
		s.preds[e.to]--
	}
	for s.firstHi < len(s.byHi) && s.isIn[s.byHi[s.firstHi]] {
		s.firstHi++
	}
}

// unplace undoes place.
func (s *search) unplace(f *searchFrame) {
	v := f.node
	f.node = -1
	s.isIn[v] = false
	s.hash.toggle(uint64(v)+1, 0, 0)
	for n := len(s.undo) - 1; n >= f.undo; n-- {
		u := s.undo[n]
		s.toggle(u.key)
		s.state[u.key] = u.old
		s.toggle(u.key)
	}
	s.undo = s.undo[:f.undo]
	for i := s.first[v]; i < s.first[v+1]; i++ {
		s.count(i, 1)
	}
	if !s.certain[v] {
		return
	}
	s.placed--
	s.next[s.prev[v]], s.prev[s.next[v]] = v, v
	for _, e := range s.g.outEdges(v) {
		s.preds[e.to]++
	}
	s.firstHi = min(s.firstHi, int(s.atHi[v]))
}

// toggle adds a key's state to the hash, or removes it.
func (s *search) toggle(k int32) {
	st := &s.state[k]
	s.hash.toggle(uint64(k)<<32|uint64(st.obs)<<1|1<<63, uint64(st.by+1), uint64(st.num))
}

// stateHash is the hash of a set. It has 128 bits, so that two different sets are not confused: each element is mixed
// separately and all are combined by xor.
type stateHash [2]uint64

func (h *stateHash) toggle(a, b, c uint64) {
	x := mix(mix(mix(a)^b) ^ c)
	h[0] ^= x
	h[1] ^= mix(x ^ mix(c^0x9e3779b97f4a7c15) ^ mix(a+b<<1))
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
