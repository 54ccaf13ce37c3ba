package admission

import "maps"

// watch makes countFresh count the keys of a bucket, unless they are counted exactly already.
// watch makes countFresh count the keys of a bucket, unless they are counted exactly already.
func (p *Slots) watch(at uint32) {
	sl := &p.buckets[at]
	if sl.watched == 0 {
		sl.watched, sl.fresh = max(sl.n, 1), true
		p.fresh = append(p.fresh, at)
	}
}

// countFresh counts the keys of all fresh buckets in one scan of the transactions in flight, which is the
// expensive part.
//
// It costs a walk over all transactions in flight, some thousands, and happens when a key becomes hot: then the
// bucket stays watched until it has fallen to half.
func (p *Slots) countFresh(now int64) {
	if len(p.fresh) == 0 {
		return
	}
	p.inFlight(func(c Claim) {
		p.stamp++
		for i := range c.len() {
			if key := c.key(i); key != nil {
				if at := bucketOf(key); p.buckets[at].fresh {
					p.countKey(now, at, key)
				}
			}
		}
	})
	for _, at := range p.fresh {
		p.buckets[at].fresh = false
	}
	p.fresh = p.fresh[:0]
}

// unwatch drops the exact counts of a bucket.
func (p *Slots) unwatch(at uint32) {
	p.buckets[at].watched = 0
	maps.DeleteFunc(p.keys, func(_ string, k *watchedKey) bool {
		if k.bucket == at && k.n > p.opt.PerKey {
			p.excess--
		}
		return k.bucket == at
	})
}

// count adds a claim to the exact counts of its keys.
func (p *Slots) count(now int64, c Claim) {
	p.stamp++
	for i := range c.len() {
		if key := c.key(i); key != nil {
			if at := bucketOf(key); p.buckets[at].watched != 0 {
				p.countKey(now, at, key)
			}
		}
	}
}

func (p *Slots) countKey(now int64, at uint32, key []byte) {
	k := p.keys[string(key)]
	if k == nil {
		k = &watchedKey{bucket: at}
		p.keys[string(key)] = k
	}
	// The transaction has the key in another operation: it counts once.
	if k.stamp == p.stamp {
		return
	}
	k.stamp = p.stamp
	k.add(now)
	if k.n == p.opt.PerKey+1 {
		p.excess++
	}
}

// onEnd raises the bound of a key by one after as many completions as the bound allows in flight.
//
// It rises like a congestion window: by one for each round of completions.
func (k *watchedKey) onEnd(unserved bool) {
	if k.limit == 0 || unserved {
		return
	}
	k.served++
	if k.served >= k.limit {
		k.limit, k.served = k.limit+1, 0
	}
}

// uncount removes a whole claim from the counters.
//
// A bucket is unwatched at half of the count at which it was watched, and not right below it: a key that varies
// around its bound would cause a walk each time.
func (p *Slots) uncount(now int64, c Claim, unserved bool) {
	p.stamp++
	for i := range c.len() {
		key := c.key(i)
		if key == nil {
			continue
		}
		at := bucketOf(key)
		sl := &p.buckets[at]
		sl.n--
		if sl.watched == 0 {
			continue
		}
		if k := p.keys[string(key)]; k != nil && k.stamp != p.stamp {
			k.stamp = p.stamp
			k.onEnd(unserved)
			k.remove(now, unserved)
			if k.n == p.opt.PerKey {
				p.excess--
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
