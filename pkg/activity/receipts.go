package activity

import "bytes"

const (
	// keptReceipts is how many are kept, perSecond how many of one second: of more
	// the longest. Somewhat arbitrary: more than a person reads.
	keptReceipts = 256
	perSecond    = 16
)

// receipts are the last ones, oldest first.
type receipts struct {
	all []Ended
	// second is the one that the last fresh ones are of.
	second int64
	fresh  int
}

func (rs *receipts) add(now int64, e *Ended) {
	if second := now / 1e9; second != rs.second {
		rs.second, rs.fresh = second, 0
	}
	if rs.fresh < perSecond {
		if len(rs.all) == keptReceipts {
			rs.all = append(rs.all[:0], rs.all[1:]...)
		}
		rs.all = append(rs.all, remembered(now, e))
		rs.fresh++
		return
	}
	least := len(rs.all) - perSecond
	for i := least + 1; i < len(rs.all); i++ {
		if rs.all[i].weight() < rs.all[least].weight() {
			least = i
		}
	}
	if e.weight() > rs.all[least].weight() {
		copy(rs.all[least:], rs.all[least+1:])
		rs.all[len(rs.all)-1] = remembered(now, e)
	}
}

// weight is what the longest go by: the wait, or if there was none the time that a
// transaction took with the attempts that it lost.
func (e *Ended) weight() int64 {
	if e.Receipt.WaitedNanos > 0 {
		return e.Receipt.WaitedNanos
	}
	return int64(e.Took)
}

// remembered is a copy that shares no bytes of keys with the messages that the keys came with.
func remembered(now int64, e *Ended) Ended {
	r, c := *e, *e.Contention
	c.Receipt.Key = bytes.Clone(c.Receipt.Key)
	if c.Ended.By != nil {
		by := *c.Ended.By
		by.Key = bytes.Clone(by.Key)
		c.Ended.By = &by
	}
	r.At, r.Contention = now, &c
	return r
}

func (rs *receipts) newest(n int) []Ended {
	n = min(n, len(rs.all))
	out := make([]Ended, n)
	for i := range out {
		out[i] = rs.all[len(rs.all)-1-i]
	}
	return out
}
