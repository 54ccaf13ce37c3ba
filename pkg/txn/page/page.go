package page

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// Paging is a scan at a snapshot.
type Paging struct {
	// Span is the range; Reverse scans it from its end.
	Span    kv.Span
	Reverse bool
	// User is the user of the scan.
	User kv.Account
	// Name is the name under which the shards retain the snapshot. SnapshotNumber is the number of a retained
	// snapshot, 0 for the snapshot of a round.
	Name           kv.TxnRef
	SnapshotNumber uint64
	// At is the snapshot.
	At    vclock.Clock
	parts []*part // by shard
	// limit is the largest number of pairs of the current page; remaining is that of the rest of the scan, 0 for no
	// bound.
	limit, remaining int
	retry            env.Retry
}

// part is the part of a scan on one shard.
type part struct {
	shard kv.ShardID
	kept  env.RetainedState
	// sent is when the request was sent.
	sent  int64
	pairs []msg.Pair
	// resume is the key at which the next page begins (in reverse: ends); nil after the last page.
	resume  []byte
	request *msg.Envelope
	// lastShare is the number of pairs requested last.
	lastShare int
}

// SetSnapshot sets the snapshot. kept returns what is known of the states of the shards, and is nil for a snapshot of
// the registry.
//
// Each shard gets its own incarnation and CSN in the requests: a restarted shard may have lost versions below the CSN.
func (p *Paging) SetSnapshot(name kv.TxnRef, at *vclock.Clock, kept func(kv.ShardID) env.RetainedState,
	shards []kv.ShardID) {
	p.Name, p.At, p.parts = name, *at, nil
	from := p.Span.Start
	if p.Reverse {
		from = p.Span.End
	}
	if from == nil {
		from = []byte{}
	}
	for _, s := range shards {
		x := &part{shard: s, resume: from}
		if kept != nil {
			x.kept = kept(s)
		}
		p.parts = append(p.parts, x)
	}
}

// pageLimit is the largest number of pairs of a page. The value is somewhat arbitrary.
const pageLimit = 1000

// Start begins a page. left is the number of pairs that the scan may still return, 0 for no bound.
func (p *Paging) Start(e *env.Env, left int) {
	p.setLimits(left)
	e.StartRetry(&p.retry, 0)
}

func (p *Paging) setLimits(left int) {
	p.remaining, p.limit = left, pageLimit
	if left > 0 {
		p.limit = min(left, pageLimit)
	}
}

// share is the number of pairs to request from a shard. A bounded scan requests an even share of the rest from each
// shard, and some more, since placement by hash is not even. A shard that has more pairs than its share gets twice
// the share in the next request.
//
// Example: 100 more pairs are needed from 4 shards. Each is asked for 25 and 15 more, instead of 100: 160 rows are
// read, not 400. A shard with 50 of the next 100 keys is asked again, for 80.
func (p *Paging) share(x *part) int {
	if p.remaining == 0 {
		return p.limit
	}
	even := (p.remaining + len(p.parts) - 1) / len(p.parts)
	x.lastShare = min(max(even+3*int(math.Sqrt(float64(even))), 2*x.lastShare), p.limit)
	return x.lastShare
}

// DueShards lists the shards that must be read before the page can be merged.
//
// A part with pairs left from the last page needs no request, and one without a resume key has ended.
func (p *Paging) DueShards() (shards []kv.ShardID) {
	for _, x := range p.parts {
		if x.request == nil && len(x.pairs) == 0 && x.resume != nil {
			shards = append(shards, x.shard)
		}
	}
	return shards
}

// Send requests the next page of a shard, under a number.
//
// The request also prolongs the retention of the CSN on the shard, for a minute.
func (p *Paging) Send(e *env.Env, s kv.ShardID, number uint64) {
	x := p.part(s)
	rest := kv.Range(x.resume, p.Span.End)
	if p.Reverse {
		rest = kv.Range(p.Span.Start, x.resume)
	}
	x.request, x.sent = e.SendTo(s), e.Now
	x.request.Body = &msg.ReadPage{
		Txn:            p.Name,
		Gateway:        e.Node,
		Number:         number,
		SnapshotNumber: p.SnapshotNumber,
		Incarnation:    x.kept.Incarnation,
		CSN:            p.At.At(s),
		Start:          rest.Start,
		End:            rest.End,
		Reverse:        p.Reverse,
		User:           p.User,
		Limit:          uint32(p.share(x)),
		RetainNanos:    int64(kv.DefaultScanRetention),
	}
}

// part returns the part on a shard; nil if the scan has none there.
func (p *Paging) part(s kv.ShardID) *part {
	i := slices.IndexFunc(p.parts, func(x *part) bool { return x.shard == s })
	if i < 0 {
		return nil
	}
	return p.parts[i]
}

// Tick retries the requests that are due.
//
// A shard ignores the copy of a request that it is reading, and reads a page again whose response was lost.
func (p *Paging) Tick(e *env.Env) {
	if !e.IsDue(&p.retry, 0) {
		return
	}
	for _, x := range p.parts {
		if x.request != nil {
			e.Send(x.request)
		}
	}
}

// PendingShards lists the shards that have not responded.
//
// A call that fails by its deadline names them.
func (p *Paging) PendingShards() (out []kv.ShardID) {
	for _, x := range p.parts {
		if x.request != nil {
			out = append(out, x.shard)
		}
	}
	return out
}

// Stop requests that shards with a pending request stop reading.
// Without it, a shard may read megabytes for a client that has closed the scan.
func (p *Paging) Stop(e *env.Env) {
	for _, x := range p.parts {
		if x.request != nil {
			e.SendTo(x.shard).Body = &msg.ReadPage{Txn: p.Name, Done: true}
		}
	}
}

// PendingNumbers returns the numbers of the pending requests.
//
// The gateway routes pages by these numbers, and forgets them with the scan, so that a late page is ignored.
func (p *Paging) PendingNumbers() (numbers []uint64) {
	for _, x := range p.parts {
		if x.request != nil {
			numbers = append(numbers, msg.As[msg.ReadPage](x.request).Number)
		}
	}
	return numbers
}

// OnPage handles a shard's page, and reports whether it was expected, and whether the state of the scan is gone.
// A page that a slow shard has cut short, perhaps to nothing, has a resume key: DueShards lists the shard again.
// If the shard's leader has changed, the page may be one of a state that is not kept any more.
func (p *Paging) OnPage(e *env.Env, r *msg.ReadPageResponse) (expected, gone bool) {
	x := p.part(r.Shard)
	if x == nil || p.Name != r.Txn || x.request == nil || msg.As[msg.ReadPage](x.request).Number != r.Number {
		return false, false
	}
	gone = r.Gone ||
		p.SnapshotNumber == 0 && !x.kept.Confirm(e, cmp.Or(r.Incarnation, x.kept.Incarnation), x.sent)
	x.request, x.pairs, x.resume = nil, r.Pairs, nil
	if len(r.Resume) > 0 {
		x.resume = r.Resume
	}
	return true, gone
}

// Merge returns the next pairs, and whether there may be more. No request may be pending.
//
//	shard 1   a d, more       shard 2   b e, nothing more
//	          a b d │ stop: whether shard 1 has a key before e is not known
func (p *Paging) Merge() (out []msg.Pair, more bool) {
	for len(out) < p.limit {
		next := p.firstPart()
		if next == nil {
			break
		}
		out = append(out, next.pairs[0])
		next.pairs = next.pairs[1:]
		if len(next.pairs) == 0 && next.resume != nil {
			break // the part's next key is not known yet
		}
	}
	more = slices.ContainsFunc(p.parts, func(x *part) bool { return len(x.pairs) > 0 || x.resume != nil })
	return out, more
}

// firstPart returns the part with the first pair, nil if there is none.
//
// There are few shards, so it compares all of them for each pair.
func (p *Paging) firstPart() (first *part) {
	for _, x := range p.parts {
		if len(x.pairs) > 0 && (first == nil || p.comesBefore(x.pairs[0].Key, first.pairs[0].Key)) {
			first = x
		}
	}
	return first
}

// comesBefore reports whether key a precedes b in the direction of the scan.
func (p *Paging) comesBefore(a, b []byte) bool {
	if p.Reverse {
		return bytes.Compare(a, b) > 0
	}
	return bytes.Compare(a, b) < 0
}
