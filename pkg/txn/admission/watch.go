package admission

import "maps"

// watch has walk count the keys of a slot, unless they are counted already.
func (p *Places) watch(at uint32) {
	sl := &p.slots[at]
	if sl.watched == 0 {
		sl.watched, sl.fresh = max(sl.n, 1), true
		p.fresh = append(p.fresh, at)
	}
}

// walk counts the keys of fresh slots among the transactions under way: those
// of all such slots at once, since that is what takes long.
func (p *Places) walk(now int64) {
	if len(p.fresh) == 0 {
		return
	}
	p.under(func(c Claim) {
		p.stamp++
		for i := range c.len() {
			if key := c.key(i); key != nil {
				if at := slotOf(key); p.slots[at].fresh {
					p.countKey(now, at, key)
				}
			}
		}
	})
	for _, at := range p.fresh {
		p.slots[at].fresh = false
	}
	p.fresh = p.fresh[:0]
}

// unwatch forgets the keys of a slot that has calmed down.
func (p *Places) unwatch(at uint32) {
	p.slots[at].watched = 0
	maps.DeleteFunc(p.keys, func(_ string, k *watchedKey) bool {
		if k.slot == at && k.n > p.opt.PerKey {
			p.over--
		}
		return k.slot == at
	})
}

// count has a claim counted with those of its keys that are watched.
func (p *Places) count(now int64, c Claim) {
	p.stamp++
	for i := range c.len() {
		if key := c.key(i); key != nil {
			if at := slotOf(key); p.slots[at].watched != 0 {
				p.countKey(now, at, key)
			}
		}
	}
}

func (p *Places) countKey(now int64, at uint32, key []byte) {
	k := p.keys[string(key)]
	if k == nil {
		k = &watchedKey{slot: at}
		p.keys[string(key)] = k
	}
	if k.stamp == p.stamp {
		return
	}
	k.stamp = p.stamp
	k.enter(now)
	if k.n == p.opt.PerKey+1 {
		p.over++
	}
}

// gone tries it with one more when as many have been served as there may be.
func (k *watchedKey) gone(unserved bool) {
	if k.most == 0 || unserved {
		return
	}
	k.served++
	if k.served >= k.most {
		k.most, k.served = k.most+1, 0
	}
}

// uncount undoes TakeKeys for a whole claim.
func (p *Places) uncount(now int64, c Claim, unserved bool) {
	p.stamp++
	for i := range c.len() {
		key := c.key(i)
		if key == nil {
			continue
		}
		at := slotOf(key)
		sl := &p.slots[at]
		sl.n--
		if sl.watched == 0 {
			continue
		}
		if k := p.keys[string(key)]; k != nil && k.stamp != p.stamp {
			k.stamp = p.stamp
			k.gone(unserved)
			k.leave(now, unserved)
			if k.n == p.opt.PerKey {
				p.over--
			}
			if k.n == 0 {
				delete(p.keys, string(key))
			}
		}
		if sl.n < sl.watched/2 || sl.n == 0 {
			p.unwatch(at)
		}
	}
}
