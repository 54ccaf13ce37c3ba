package snapshotqueue

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
)

var verbs = []string{"enter", "enter", "prepare", "prepare", "done", "done",
	"decide", "unseal", "hold", "leave", "renew", "withdraw", "unready", "nothing"}

// step applies one random operation to the queues and the model.
func (b *comparison) step() {
	switch rapid.SampledFrom(verbs).Draw(b.t, "verb") {
	case "enter":
		b.enter()
	case "prepare":
		b.prepare()
	case "hold":
		b.hold()
	case "done":
		b.done()
	case "decide":
		b.decide(drawName(b.t, 'A'))
	case "unseal":
		b.unseal()
	case "withdraw":
		b.withdraw(drawName(b.t, 'A'))
	case "unready":
		txn := drawName(b.t, 'A')
		b.q.AwaitVotes(b.now(), txn)
		b.model.unready(txn)
	case "leave":
		b.leave(drawName(b.t, 'R'))
	case "renew":
		id, until := drawName(b.t, 'R'), b.now()+int64(rapid.IntRange(1, 20).Draw(b.t, "lease"))
		require.Equal(b.t, b.model.renew(id, until), b.q.Renew(b.now(), id, until), "renew %v", id)
	}
	b.model.settle()
}

func (b *comparison) enter() {
	r := &Read{Reader: drawName(b.t, 'R'), Needs: drawNeeds(b.t, readerModes),
		Until: b.now() + int64(rapid.IntRange(1, 20).Draw(b.t, "lease"))}
	r.Lasting = rapid.Bool().Draw(b.t, "lasting")
	r.UntilDone = rapid.IntRange(0, 3).Draw(b.t, "stays") == 3
	r.WholeShard = rapid.IntRange(0, 3).Draw(b.t, "whole") == 3
	want := b.model.enter(r)
	require.Equal(b.t, want.state == readReady, b.q.Enter(b.now(), r), "%v reads %v", r.Reader, r.Needs)
	require.Equal(b.t, want.state == readRefused, r.Refused(), "%v reads %v", r.Reader, r.Needs)
}

// prepare adds a new update: a shard prepares an update once.
func (b *comparison) prepare() {
	txn, needs := drawName(b.t, 'A'), b.drawChanges()
	if b.model.update(txn) != nil {
		return
	}
	b.q.Prepared(b.now(), txn, needs)
	b.model.prepare(txn, needs, Held)
}

// hold adds a piece, or tries it again.
func (b *comparison) hold() {
	txn, needs := drawName(b.t, 'A'), drawNeeds(b.t, updateModes)
	if u := b.model.update(txn); u != nil && !u.piece {
		return
	}
	require.Equal(b.t, b.model.hold(txn, needs), b.q.Hold(b.now(), txn, needs), "hold %v", txn)
}

func (b *comparison) decide(txn kv.TxnRef) {
	b.q.Decided(b.now(), txn)
	if u := b.model.update(txn); u != nil && !u.piece {
		b.model.remove(txn)
	}
}

func (b *comparison) withdraw(txn kv.TxnRef) {
	b.q.Withdraw(b.now(), txn)
	if u := b.model.update(txn); u != nil && u.piece {
		b.model.remove(txn)
	}
}

// unseal responds for an update's current epoch, or for another one.
func (b *comparison) unseal() {
	txn := drawName(b.t, 'A')
	epoch := kv.Epoch{Incarnation: 2, Count: uint64(rapid.IntRange(0, 5).Draw(b.t, "count"))}
	if u := b.model.update(txn); u != nil && rapid.Bool().Draw(b.t, "current") {
		epoch = u.epoch
	}
	age := rapid.SampledFrom([]int64{0, 0, 3, 12}).Draw(b.t, "age")
	b.q.Unsealed(b.now(), txn, epoch, age)
	b.model.unsealed(txn, epoch, age)
}

// done ends a ready read, or gives one up.
func (b *comparison) done() {
	may := slices.DeleteFunc(slices.Clone(b.model.open), func(r *modelRead) bool { return !b.canEnd(r) })
	if len(may) == 0 {
		return
	}
	r := rapid.SampledFrom(may).Draw(b.t, "read")
	b.q.Done(b.now(), r.Read)
	b.model.done(r)
}

// canEnd keeps to what callers do. They do not end a read of an expired registration if the reader has registered
// again, and they give up a waiting read only together with its reader: a registration for a read that has ended
// would conflict with a sealed update (invariant 2).
func (b *comparison) canEnd(r *modelRead) bool {
	others := slices.ContainsFunc(b.model.registrations, func(e *registration) bool {
		return e.reader == r.Reader && e != r.registration && (e.lasting || !e.done)
	})
	switch r.state {
	case readReady:
		return r.registration == nil || slices.Contains(b.model.registrations, r.registration) ||
			!b.model.isRegistered(r.Reader)
	case readWaiting:
		return !r.Lasting && !others
	}
	return true
}

func (b *comparison) leave(id kv.TxnRef) {
	b.q.Deregister(b.now(), id)
	b.model.leave(id)
}
