package txn

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// enquiry asks every shard what became of a transaction.
type enquiry struct {
	id         kv.TxnID
	user       kv.Account
	tokens     []Token
	missing    []kv.ShardID
	tooOld     bool
	exhausted  bool
	deadline   int64
	next, wait int64
}

// Outcome finds out what became of a transaction whose answer was lost. If it
// has not committed it is closed for good, on every shard and durably, before
// the answer "aborted" is given. Its Done says Committed, with the results if
// they are still known; not committed is no failure. What is closed is counted to the
// user, and there may be no room for one more.
func (g *Gateway) Outcome(now int64, token Token, id kv.TxnID, user kv.Account, deadline int64) {
	g.now = max(g.now, now)
	q := g.enquiries[id]
	if q != nil {
		q.tokens = append(q.tokens, token)
		q.deadline = max(q.deadline, deadline)
		return
	}
	q = &enquiry{id: id, user: user, tokens: []Token{token}, deadline: deadline, wait: int64(g.cfg.Repeat)}
	for s := range g.cfg.Router.Shards() {
		q.missing = append(q.missing, kv.ShardID(s))
	}
	g.enquiries[id] = q
	g.enquire(q)
}

func (g *Gateway) enquire(q *enquiry) {
	for _, s := range q.missing {
		g.sendShard(s, func(e *msg.Envelope) { e.Enquire = &msg.Enquire{Id: q.id, Gateway: g.cfg.Node, User: q.user} })
	}
	q.next = g.now + q.wait
	g.timed(min(q.next, q.deadline))
}

func (g *Gateway) tickEnquiries() {
	ids := make([]kv.TxnID, 0, len(g.enquiries))
	for id := range g.enquiries {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, kv.TxnID.Compare)
	for _, id := range ids {
		q := g.enquiries[id]
		switch {
		case g.onlyDown(q):
		case g.now >= q.deadline:
			f := g.unreachable(q.missing)
			if f == nil {
				f = failure(msg.ReasonCancelled, kv.KindUnavailable, "not every shard has answered the enquiry; ask again")
			}
			g.endEnquiry(q, Done{Failure: f})
		case g.now >= q.next:
			q.wait = min(2*q.wait, int64(g.cfg.Liveness))
			g.enquire(q)
		default:
			g.timed(min(q.next, q.deadline))
		}
	}
}

// onlyDown ends an enquiry that all shards have answered whose nodes are not down, and
// reports whether it has. It cannot be told yet then.
func (g *Gateway) onlyDown(q *enquiry) bool {
	for _, s := range q.missing {
		if g.unreachable([]kv.ShardID{s}) == nil {
			return false
		}
	}
	f := g.unreachable(q.missing)
	f.Hint = "what has become of the transaction can be told when the node is back; ask again then, or wait for it " +
		"(--wait-for-shards, client.WithWaitForShards)"
	g.endEnquiry(q, Done{Failure: f})
	return true
}

func (g *Gateway) endEnquiry(q *enquiry, d Done) {
	delete(g.enquiries, q.id)
	d.Txn = kv.TxnRef{TxnID: q.id}
	for _, t := range q.tokens {
		d.Token = t
		g.out.Done = append(g.out.Done, d)
	}
}

func (g *Gateway) onEnquireReply(r *msg.EnquireReply) {
	q := g.enquiries[r.Id]
	if q == nil {
		return
	}
	if r.Committed {
		g.endEnquiry(q, Done{Committed: true, Results: recorded(r.Results), ResultsLost: r.ResultsLost})
		return
	}
	q.tooOld, q.exhausted = q.tooOld || r.TooOld, q.exhausted || r.Exhausted
	q.missing = slices.DeleteFunc(q.missing, func(s kv.ShardID) bool { return s == r.Shard })
	if len(q.missing) > 0 {
		if len(g.down) > 0 {
			g.onlyDown(q)
		}
		return
	}
	if q.tooOld {
		g.endEnquiry(q, Done{Failure: failure(msg.ReasonTooOld, kv.KindTooOld, "the transaction is too old to tell; outcomes are kept for ten minutes")})
		return
	}
	if q.exhausted {
		g.endEnquiry(q, Done{Failure: tooManyEnquiries()})
		return
	}
	g.endEnquiry(q, Done{})
}

// tooManyEnquiries: some shards have not committed it, and do not promise that they never
// will.
func tooManyEnquiries() *msg.Failure {
	f := failure(msg.ReasonExhausted, kv.KindExhausted, fmt.Sprintf("the transaction has not committed so far, and it cannot be closed: "+
		"the user has asked for the outcomes of %d others that had not", kv.MaxFences))
	f.Hint = "each is remembered until its id is ten minutes old; ask again then, and only for ids that were sent"
	return f
}
