package snapshotqueue

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
)

var verbs = []string{"enter", "enter", "prepare", "prepare", "done", "done", "decide", "unseal", "hold", "leave", "renew", "withdraw", "unready", "nothing"}

// step does one random thing to both.
func (b *both) step() {
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
		b.q.Unready(b.now(), txn)
		b.twin.unready(txn)
	case "leave":
		b.leave(drawName(b.t, 'R'))
	case "renew":
		id, until := drawName(b.t, 'R'), b.now()+int64(rapid.IntRange(1, 20).Draw(b.t, "lease"))
		require.Equal(b.t, b.twin.renew(id, until), b.q.Renew(b.now(), id, until), "renew %v", id)
	}
	b.twin.settle()
}

func (b *both) enter() {
	r := &Read{Reader: drawName(b.t, 'R'), Needs: drawNeeds(b.t, readerModes), Until: b.now() + int64(rapid.IntRange(1, 20).Draw(b.t, "lease"))}
	r.Lasting = rapid.Bool().Draw(b.t, "lasting")
	r.Stays = rapid.IntRange(0, 3).Draw(b.t, "stays") == 3
	r.Whole = rapid.IntRange(0, 3).Draw(b.t, "whole") == 3
	want := b.twin.enter(r)
	require.Equal(b.t, want.state == readReady, b.q.Enter(b.now(), r), "%v reads %v", r.Reader, r.Needs)
	require.Equal(b.t, want.state == readRefused, r.Refused(), "%v reads %v", r.Reader, r.Needs)
}

// prepare enters an update that is not here. Its shard prepares it once.
func (b *both) prepare() {
	txn, needs := drawName(b.t, 'A'), b.drawChanges()
	if b.twin.update(txn) != nil {
		return
	}
	b.q.Prepared(b.now(), txn, needs)
	b.twin.prepare(txn, needs, Held)
}

// hold enters a piece, or tries it again.
func (b *both) hold() {
	txn, needs := drawName(b.t, 'A'), drawNeeds(b.t, updateModes)
	if u := b.twin.update(txn); u != nil && !u.piece {
		return
	}
	require.Equal(b.t, b.twin.hold(txn, needs), b.q.Hold(b.now(), txn, needs), "hold %v", txn)
}

func (b *both) decide(txn kv.TxnRef) {
	b.q.Decided(b.now(), txn)
	if u := b.twin.update(txn); u != nil && !u.piece {
		b.twin.remove(txn)
	}
}

func (b *both) withdraw(txn kv.TxnRef) {
	b.q.Withdraw(b.now(), txn)
	if u := b.twin.update(txn); u != nil && u.piece {
		b.twin.remove(txn)
	}
}

// unseal answers for an update's current epoch, or for another one.
func (b *both) unseal() {
	txn := drawName(b.t, 'A')
	epoch := kv.Epoch{Incarnation: 2, Count: uint64(rapid.IntRange(0, 5).Draw(b.t, "count"))}
	if u := b.twin.update(txn); u != nil && rapid.Bool().Draw(b.t, "current") {
		epoch = u.epoch
	}
	age := rapid.SampledFrom([]int64{0, 0, 3, 12}).Draw(b.t, "age")
	b.q.Unsealed(b.now(), txn, epoch, age)
	b.twin.unsealed(txn, epoch, age)
}

// done ends a read that is ready, or gives one up.
func (b *both) done() {
	may := slices.DeleteFunc(slices.Clone(b.twin.open), func(r *twinRead) bool { return !b.mayEnd(r) })
	if len(may) == 0 {
		return
	}
	r := rapid.SampledFrom(may).Draw(b.t, "read")
	b.q.Done(b.now(), r.Read)
	b.twin.done(r)
}

// mayEnd keeps to what a caller may do. A read whose registration is gone is
// not ended when the reader has come back since; and a read is given up while
// it waits only if its reader goes with it, else the reader would be
// registered, by what it did not read, in the way of an update that is sealed.
func (b *both) mayEnd(r *twinRead) bool {
	others := slices.ContainsFunc(b.twin.entered, func(e *twinEntry) bool {
		return e.reader == r.Reader && e != r.entry && (e.lasting || !e.done)
	})
	switch r.state {
	case readReady:
		return r.entry == nil || slices.Contains(b.twin.entered, r.entry) || !b.twin.registered(r.Reader)
	case readWaiting:
		return !r.Lasting && !others
	}
	return true
}

func (b *both) leave(id kv.TxnRef) {
	b.q.Leave(b.now(), id)
	b.twin.leave(id)
}
