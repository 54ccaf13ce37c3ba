package activity

// Receipt is a contention receipt that is remembered.
type Receipt struct {
	// At is when the transaction ended, in nanoseconds since 1970.
	At int64
	Ended
}

const (
	// keptReceipts is how many are kept, perSecond how many of one second: of more
	// the longest. Somewhat arbitrary: more than a person reads.
	keptReceipts = 256
	perSecond    = 16
)

// receipts are the last ones, oldest first.
type receipts struct {
	all []Receipt
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
	if e.Wait.WaitedNanos > 0 {
		return e.Wait.WaitedNanos
	}
	return int64(e.Took)
}

func remembered(now int64, e *Ended) Receipt {
	r := Receipt{now, *e}
	r.Wait, r.By = owned(e.Wait), owned(e.By)
	return r
}

func (rs *receipts) newest(n int) []Receipt {
	n = min(n, len(rs.all))
	out := make([]Receipt, n)
	for i := range out {
		out[i] = rs.all[len(rs.all)-1-i]
	}
	return out
}
