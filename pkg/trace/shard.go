package trace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Shard makes the spans of one shard. Received and Sent are called with the shard's
// lock held.
type Shard struct {
	t     *Tracer
	about []attribute.KeyValue
	// open are the spans of what was asked for and is not answered.
	open map[workKey]*work
	// votes are what has come for a CommitRequest, which may come later.
	votes map[kv.TxnRef]*votes
}

// task is what a message asks a shard for.
type task string

const (
	taskPrepare task = "shard.prepare"
	taskExecute task = "shard.execute"
	taskDecide  task = "shard.decide"
	taskApply   task = "shard.apply"
	taskLock    task = "shard.lock"
	taskRead    task = "shard.read"
	taskCheck   task = "shard.check"
	taskPage    task = "shard.page"
)

type workKey struct {
	ref    kv.TxnRef
	asked  asked
	number uint64
}

// asked groups tasks by the message that answers them.
type asked uint8

const (
	askedVote asked = iota
	askedAnswer
	askedAck
	askedLock
	askedRead
	askedCheck
	askedPage
)

// work is one thing that a shard was asked for.
type work struct {
	task  task
	ctx   context.Context
	span  oteltrace.Span
	begun time.Time
	// stepped is when the step was over that answered it.
	stepped time.Time
	at      *msg.Trace
}

// votes are those for one CommitRequest.
type votes struct {
	last time.Time
	n    int
	// waits are those of the last vote of each participant, as its record has
	// them: one may vote any number of times.
	waits map[kv.ShardID]msg.Receipt
}

// Shard makes what traces a shard.
func (t *Tracer) Shard(id kv.ShardID, hot bool) *Shard {
	return &Shard{t: t, about: []attribute.KeyValue{t.node, attribute.String("linchpin.shard", id.String()),
		attribute.Bool("linchpin.hot", hot)},
		open: map[workKey]*work{}, votes: map[kv.TxnRef]*votes{}}
}

// Received begins the spans of what messages ask for.
func (s *Shard) Received(envs []*msg.Envelope) {
	var now time.Time
	for _, env := range envs {
		if env.Trace == nil {
			continue
		}
		if now.IsZero() {
			now = time.Now()
		}
		s.received(env, now)
	}
}

func (s *Shard) received(env *msg.Envelope, now time.Time) {
	switch b := env.Body.(type) {
	case *msg.Prepare:
		s.begin(workKey{b.Txn, askedVote, 0}, taskPrepare, env, len(b.Piece.Ops), now)
	case *msg.CommitRequest:
		what := taskDecide
		if len(b.Participants) == 0 {
			what = taskExecute
		}
		s.begin(workKey{b.Txn, askedAnswer, 0}, what, env, len(b.Piece.Ops), now)
	case *msg.Decision:
		s.giveUp(workKey{b.Txn, askedVote, 0})
		s.begin(workKey{b.Txn, askedAck, 0}, taskApply, env, 0, now)
	case *msg.Lock:
		s.begin(workKey{b.Txn, askedLock, uint64(b.Number)}, taskLock, env, len(b.Ops), now)
	case *msg.Read:
		s.begin(workKey{b.Reader, askedRead, uint64(b.Number)}, taskRead, env, len(b.Ops), now)
	case *msg.Check:
		s.begin(workKey{b.Txn, askedCheck, 0}, taskCheck, env, 0, now)
	case *msg.ReadPage:
		if !b.Done {
			s.begin(workKey{b.Txn, askedPage, b.Number}, taskPage, env, 0, now)
		}
	case *msg.Vote:
		if !b.Repeated {
			s.voted(b, now)
		}
	}
}

func (s *Shard) begin(k workKey, what task, env *msg.Envelope, ops int, now time.Time) {
	if s.open[k] != nil {
		return // it is repeated
	}
	if len(s.open) >= maxOpen && !s.forget(now) {
		return
	}
	ctx, span := s.t.tracer.Start(parent(env.Trace), string(what), oteltrace.WithTimestamp(now),
		oteltrace.WithAttributes(s.about...))
	span.SetAttributes(attribute.Int("linchpin.attempt", int(k.ref.Attempt)), attribute.Int("linchpin.ops", ops))
	s.open[k] = &work{task: what, ctx: ctx, span: span, begun: now, at: wire(span.SpanContext())}
}

func (s *Shard) voted(v *msg.Vote, now time.Time) {
	of := s.votes[v.Txn]
	if of == nil {
		if len(s.votes) >= maxOpen {
			clear(s.votes)
		}
		of = &votes{waits: map[kv.ShardID]msg.Receipt{}}
		s.votes[v.Txn] = of
	}
	of.n++
	of.last = now
	if v.Receipt.WaitedNanos > 0 {
		of.waits[v.Shard] = v.Receipt
	} else {
		delete(of.waits, v.Shard)
	}
}

// giveUp ends what was asked for and is not wanted any more.
func (s *Shard) giveUp(k workKey) {
	if w := s.open[k]; w != nil {
		delete(s.open, k)
		w.span.AddEvent("given up")
		w.span.End()
	}
}

// forget ends spans whose end has been missed, and reports whether there is room.
func (s *Shard) forget(now time.Time) bool {
	for k, w := range s.open {
		if older(w.begun, now) {
			s.giveUp(k)
		}
	}
	return len(s.open) < maxOpen
}

// Sent has messages carry the trace of what they answer. Their spans end when they
// leave.
func (s *Shard) Sent(envs []*msg.Envelope) {
	if len(s.open) == 0 {
		return
	}
	var now time.Time
	for _, env := range envs {
		k, r, ok := answers(env)
		if w := s.open[k]; ok && w != nil && env.Trace == nil {
			if now.IsZero() {
				now = time.Now()
			}
			s.answered(k, w, r, now)
			env.Trace = w.at
			s.t.leaves(env, w)
		}
	}
	// Messages to participants follow the answer in the same step.
	for _, env := range envs {
		if d := msg.As[msg.Decision](env); d != nil && env.Trace == nil {
			if w := s.open[workKey{d.Txn, askedAnswer, 0}]; w != nil {
				env.Trace = w.at
			}
		}
	}
	for _, env := range envs {
		if k, _, ok := answers(env); ok {
			delete(s.open, k)
		}
	}
}

// answers says what a message answers, with the receipt that it has.
func answers(env *msg.Envelope) (k workKey, r *msg.Receipt, ok bool) {
	switch b := env.Body.(type) {
	case *msg.Vote:
		return workKey{b.Txn, askedVote, 0}, &b.Receipt, true
	case *msg.CommitResponse:
		return workKey{b.Txn, askedAnswer, 0}, b.Receipt, true
	case *msg.DecisionAck:
		return workKey{b.Txn, askedAck, 0}, nil, true
	case *msg.LockResponse:
		return workKey{b.Txn, askedLock, uint64(b.Number)}, &b.Receipt, true
	case *msg.ReadResponse:
		return workKey{b.Reader, askedRead, uint64(b.Number)}, &b.Receipt, true
	case *msg.CheckResponse:
		return workKey{b.Txn, askedCheck, 0}, nil, true
	case *msg.ReadPageResponse:
		return workKey{b.Txn, askedPage, b.Number}, nil, true
	}
	return k, nil, false
}

// answered records the wait of an answer.
func (s *Shard) answered(k workKey, w *work, r *msg.Receipt, now time.Time) {
	w.stepped = now
	of := s.votes[k.ref]
	if k.asked == askedAnswer {
		delete(s.votes, k.ref)
		if of != nil && of.last.After(w.begun) {
			s.child(w, "wait for votes", w.begun, of.last, attribute.Int("linchpin.votes", of.n))
		}
	}
	if r != nil && r.WaitedNanos > 0 && !of.contains(r) {
		from := now.Add(-time.Duration(r.WaitedNanos))
		if from.Before(w.begun) {
			from = w.begun
		}
		s.child(w, waitName(r.Cause), from, now, waited(r)...)
	}
}

// contains reports whether it is the wait of a participant, which its vote reported: the answer has the longest
// of all.
func (v *votes) contains(r *msg.Receipt) bool {
	if v == nil {
		return false
	}
	for _, w := range v.waits {
		if w.WaitedNanos == r.WaitedNanos && string(w.Key) == string(r.Key) {
			return true
		}
	}
	return false
}

// waitName names a wait's span.
func waitName(c msg.Cause) string {
	switch c {
	case msg.CauseLock, msg.CauseRange, msg.CauseQueue:
		return "wait for a lock"
	case msg.CauseSnapshot:
		return "wait for a snapshot"
	case msg.CauseReaders, msg.CauseRecovery:
		return "wait for readers"
	case msg.CauseIntent:
		return "wait for an update"
	}
	return "wait"
}

func (s *Shard) child(w *work, name string, from, to time.Time, as ...attribute.KeyValue) {
	_, span := s.t.tracer.Start(w.ctx, name, oteltrace.WithTimestamp(from), oteltrace.WithAttributes(s.about...),
		oteltrace.WithAttributes(as...))
	span.End(oteltrace.WithTimestamp(to))
}

// leaves has a span end when the message leaves.
func (t *Tracer) leaves(env *msg.Envelope, w *work) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.leaving) < maxOpen {
		t.leaving[env] = w
		return
	}
	w.span.End()
}

// Left ends the spans of what messages answer: they leave now.
func (t *Tracer) Left(envs []*msg.Envelope) {
	for _, env := range envs {
		if env.Trace == nil {
			continue
		}
		t.mu.Lock()
		w := t.leaving[env]
		delete(t.leaving, env)
		t.mu.Unlock()
		if w == nil {
			continue
		}
		now := time.Now()
		_, span := t.tracer.Start(w.ctx, "durable", oteltrace.WithTimestamp(w.stepped), oteltrace.WithAttributes(t.node))
		span.End(oteltrace.WithTimestamp(now))
		w.span.End(oteltrace.WithTimestamp(now))
	}
}
