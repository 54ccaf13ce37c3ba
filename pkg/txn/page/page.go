package page

import (
	"bytes"
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// Paging is a scan that has fixed the state of every shard.
type Paging struct {
	// Span is what is scanned; Reverse begins with the last key.
	Span    kv.Span
	Reverse bool
	// User is whose scan it is.
	User kv.Account
	// Name is under which the shards keep the state, Pin the number of the snapshot, if that
	// is what is scanned.
	Name kv.TxnRef
	Pin  uint64
	// At is the state that is scanned.
	At    vclock.Clock
	parts []*part // by shard
	// limit is how many pairs the page under way may have, left how many the scan may still have; 0 is
	// no bound.
	limit, left int
	retry       env.Retry
}

// part is one shard's part of a scan.
type part struct {
	shard kv.ShardID
	inc   kv.Incarnation
	pairs []msg.Pair
	// from is where the next page begins, or ends if it is in reverse; nil when there is none.
	from []byte
	ask  *msg.Envelope
	// asked is how many pairs it was asked for last.
	asked int
}

// Fix takes the states of all shards, at which the pages are read. incs may be nil.
func (p *Paging) Fix(name kv.TxnRef, at *vclock.Clock, incs []kv.Incarnation, shards []kv.ShardID) {
	p.Name, p.At, p.parts = name, *at, nil
	from := p.Span.Start
	if p.Reverse {
		from = p.Span.End
	}
	if from == nil {
		from = []byte{}
	}
	for _, s := range shards {
		x := &part{shard: s, from: from}
		if incs != nil {
			x.inc = incs[s]
		}
		p.parts = append(p.parts, x)
	}
}

// pageLimit is how many pairs a scan fetches at a time. Somewhat arbitrary.
const pageLimit = 1000

// Start begins a page, of a scan that may still have left pairs; 0 is no bound.
func (p *Paging) Start(e *env.Env, left int) {
	p.begin(left)
	e.Start(&p.retry, 0)
}

func (p *Paging) begin(left int) {
	p.left, p.limit = left, pageLimit
	if left > 0 {
		p.limit = min(left, pageLimit)
	}
}

// share is how many pairs a shard is asked for. Where the scan is bounded the shards share what is
// left: each is asked for its part of it, and some more, since keys are placed by hash and not evenly.
// A shard that has more than its share is asked for twice as many the next time.
func (p *Paging) share(x *part) int {
	if p.left == 0 {
		return p.limit
	}
	even := (p.left + len(p.parts) - 1) / len(p.parts)
	x.asked = min(max(even+3*int(math.Sqrt(float64(even))), 2*x.asked), p.limit)
	return x.asked
}

// Due lists the shards that have to be asked before the page can be merged.
func (p *Paging) Due() (shards []kv.ShardID) {
	for _, x := range p.parts {
		if x.ask == nil && len(x.pairs) == 0 && x.from != nil {
			shards = append(shards, x.shard)
		}
	}
	return shards
}

// Ask asks a shard for more, under a number.
func (p *Paging) Ask(e *env.Env, s kv.ShardID, number uint64) {
	x := p.part(s)
	rest := kv.Range(x.from, p.Span.End)
	if p.Reverse {
		rest = kv.Range(p.Span.Start, x.from)
	}
	x.ask = e.To(s)
	x.ask.Body = &msg.ReadPage{
		Txn:         p.Name,
		Gateway:     e.Node,
		Number:      number,
		Pin:         p.Pin,
		Incarnation: x.inc,
		Index:       p.At.At(s),
		Start:       rest.Start,
		End:         rest.End,
		Reverse:     p.Reverse,
		User:        p.User,
		Limit:       uint32(p.share(x)),
		KeepNanos:   int64(kv.DefaultScanKeep),
	}
}

func (p *Paging) part(s kv.ShardID) *part {
	i := slices.IndexFunc(p.parts, func(x *part) bool { return x.shard == s })
	if i < 0 {
		return nil
	}
	return p.parts[i]
}

// Tick asks again for what has no answer.
func (p *Paging) Tick(e *env.Env) {
	if !e.Due(&p.retry, 0) {
		return
	}
	for _, x := range p.parts {
		if x.ask != nil {
			e.Send(x.ask)
		}
	}
}

// Awaits lists the shards that have not answered.
func (p *Paging) Awaits() (out []kv.ShardID) {
	for _, x := range p.parts {
		if x.ask != nil {
			out = append(out, x.shard)
		}
	}
	return out
}

// Stop has the shards that have not answered stop reading.
func (p *Paging) Stop(e *env.Env) {
	for _, x := range p.parts {
		if x.ask != nil {
			e.To(x.shard).Body = &msg.ReadPage{Txn: p.Name, Done: true}
		}
	}
}

// Asked are the numbers of the requests without an answer.
func (p *Paging) Asked() (numbers []uint64) {
	for _, x := range p.parts {
		if x.ask != nil {
			numbers = append(numbers, msg.As[msg.ReadPage](x.ask).Number)
		}
	}
	return numbers
}

// Took takes a shard's page, and reports whether it was awaited.
func (p *Paging) Took(r *msg.ReadPageResponse) bool {
	x := p.part(r.Shard)
	if x == nil || p.Name != r.Txn || x.ask == nil || msg.As[msg.ReadPage](x.ask).Number != r.Number {
		return false
	}
	x.ask, x.pairs, x.from = nil, r.Pairs, nil
	if len(r.Resume) > 0 {
		x.from = r.Resume
	}
	return true
}

// Merge gives the next pairs, when no shard is awaited, and whether there may be more.
func (p *Paging) Merge() (out []msg.Pair, more bool) {
	for len(out) < p.limit {
		next := p.next()
		if next == nil {
			break
		}
		out = append(out, next.pairs[0])
		next.pairs = next.pairs[1:]
		if len(next.pairs) == 0 && next.from != nil {
			break // its next key is not known yet
		}
	}
	more = slices.ContainsFunc(p.parts, func(x *part) bool { return len(x.pairs) > 0 || x.from != nil })
	return out, more
}

// next is the part with the first pair, nil if there is none.
func (p *Paging) next() (first *part) {
	for _, x := range p.parts {
		if len(x.pairs) > 0 && (first == nil || p.before(x.pairs[0].Key, first.pairs[0].Key)) {
			first = x
		}
	}
	return first
}

// before reports whether a key comes before another one.
func (p *Paging) before(a, b []byte) bool {
	if p.Reverse {
		return bytes.Compare(a, b) > 0
	}
	return bytes.Compare(a, b) < 0
}
