package anomaly

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// dirtyWriteInteractive: two transactions lock the keys in opposite orders and write both. One aborts, and
// the keys are equal at the end.
func dirtyWriteInteractive(s *scene) {
	a, b := s.update(0), s.update(1)
	a.lock(s.x)
	b.lock(s.y)
	for _, k := range []string{s.x, s.y} {
		a.put(k, 1)
		b.put(k, 2)
	}
	a.requestCommit()
	b.requestCommit()
	first, second := a.awaitEnd(), b.awaitEnd()
	require.True(s.T, first != second, "both need the lock of the other: exactly one commits (%v, %v)", first, second)
	x, y := s.readXY(2)
	require.Equal(s.T, x, y)
	require.Equal(s.T, map[bool]int{true: 1, false: 2}[first], x)
}

// dirtyReadInteractive: a transaction writes and rolls back. A concurrent one does not read its writes.
func dirtyReadInteractive(s *scene) {
	for round := range 4 {
		reader, writer := s.view(round+1), s.update(round)
		if round%2 == 1 { // the writer is the older one
			reader.rollback()
			reader = s.view(round + 1)
		}
		writer.lock(s.x)
		writer.put(s.x, 666)
		writer.put(s.y, 666)
		got := -1
		reader.start(func(ctx context.Context, tx transaction) error {
			v, _, err := tx.Get(ctx, s.x)
			got = number(v)
			return err
		})
		writer.rollback()
		if reader.wait() == nil {
			require.Equal(s.T, 0, got)
			require.Equal(s.T, 0, reader.get(s.y))
		}
		require.True(s.T, reader.commit())
	}
	x, y := s.readXY(2)
	require.Equal(s.T, pair{0, 0}, pair{x, y})
}

// lostUpdateInteractive: two transactions read 0 and write 1. One aborts.
func lostUpdateInteractive(s *scene) {
	first, second := s.update(0), s.update(1)
	x1, x2 := first.get(s.x), second.get(s.x)
	require.Equal(s.T, pair{0, 0}, pair{x1, x2})
	first.put(s.x, x1+1)
	second.put(s.x, x2+1)
	second.requestCommit()
	first.requestCommit()
	a, b := first.awaitEnd(), second.awaitEnd()
	require.True(s.T, a != b, "both read 0: exactly one commits (%v, %v)", a, b)
	x, _ := s.readXY(2)
	require.Equal(s.T, 1, x)
}

// readSkewInteractive: between the two reads of a transaction, another one writes both keys. The first read
// of a hot key takes no lock, so only the commit detects the conflict.
func readSkewInteractive(s *scene) {
	for round := range 4 {
		x, y := s.readXY(0)
		require.Equal(s.T, x, y)
		reader := s.update(round)
		if round%2 == 1 {
			reader = s.view(round)
		}
		first := reader.get(s.x)
		require.Equal(s.T, x, first)
		written := s.executeAsync(round+1, client.PutOp(s.x, value(x+1)), client.PutOp(s.y, value(x+1)))
		second := reader.get(s.y)
		if round == 2 && second >= 0 { // commit as a writer of another key
			reader.put(s.otherKey, 1)
		}
		if reader.commit() {
			require.Equal(s.T, first, second, "round %d", round)
		}
		require.NoError(s.T, <-written)
	}
}

// writeSkewInteractive: two transactions read both keys, and each writes one. One aborts.
func writeSkewInteractive(s *scene) {
	a, b := s.update(0), s.update(1)
	for _, k := range []string{s.x, s.y} {
		require.Equal(s.T, 0, a.get(k))
		require.Equal(s.T, 0, b.get(k))
	}
	a.put(s.x, 1)
	b.put(s.y, 1)
	b.requestCommit()
	a.requestCommit()
	first, second := a.awaitEnd(), b.awaitEnd()
	require.True(s.T, first != second, "exactly one commits (%v, %v)", first, second)
	x, y := s.readXY(2)
	require.Equal(s.T, 1, x+y)
}

// phantomInteractive: a transaction counts a range twice; in between, another one inserts before the first
// and after the last key. Then two transactions insert depending on their counts.
func phantomInteractive(s *scene) {
	for round := range 4 {
		counter := s.update(round)
		if round%2 == 1 {
			counter = s.view(round)
		}
		first := counter.count()
		require.Equal(s.T, 2+2*round, first)
		inserted := s.executeAsync(round+1, client.PutOp(s.keyf("a%d", round), value(round), client.IfAbsent()),
			client.PutOp(s.keyf("z%d", round), value(round), client.IfAbsent()))
		second := counter.count()
		if counter.commit() {
			require.Equal(s.T, first, second)
		}
		require.NoError(s.T, <-inserted)
	}
	// Both count, and both insert depending on the count.
	a, b := s.update(0), s.update(1)
	n := a.count()
	require.Equal(s.T, n, b.count())
	a.put(s.prefix+"m0", n)
	b.put(s.prefix+"m1", n)
	b.requestCommit()
	a.requestCommit()
	first, second := a.awaitEnd(), b.awaitEnd()
	require.True(s.T, first != second, "exactly one commits (%v, %v)", first, second)
}

// longForkInteractive: each of two readers reads one key before and the other key after concurrent writes.
// They must not disagree on the order of the writes.
func longForkInteractive(s *scene) {
	for round := range 4 {
		x, y := s.readXY(0)
		a, b := s.view(round), s.view(round+1)
		ax, by := a.get(s.x), b.get(s.y)
		wroteX := s.executeAsync(round+2, client.PutOp(s.x, value(x+1)))
		wroteY := s.executeAsync(round, client.PutOp(s.y, value(y+1)))
		s.awaitBlocked()
		// A reader must not wait for the end of the other one, or there is a deadlock: both wait for the writers,
		// which wait for both readers.
		ay, bx := a.startGetAndCommit(s.y), b.startGetAndCommit(s.x)
		okA, okB := a.awaitEnd(), b.awaitEnd()
		if okA && okB {
			require.False(s.T, ax == x && *ay == y+1 && *bx == x+1 && by == y, "a long fork")
		}
		if okA {
			require.Equal(s.T, x, ax)
		}
		require.NoError(s.T, <-wroteX)
		require.NoError(s.T, <-wroteY)
	}
}

// realTimeInteractive: as realTime, in Views and in Updates that only read.
func realTimeInteractive(s *scene) {
	requireReadsAfterWrites(s, func(node, n int) error {
		var p pair
		read := func(ctx context.Context, r client.Reader) error {
			x, _, err := r.Get(ctx, s.x)
			if err != nil {
				return err
			}
			y, _, err := r.Get(ctx, s.y)
			p = pair{number(x), number(y)}
			return err
		}
		err := s.db(node).View(s.ctx, func(ctx context.Context, v *client.View) error { return read(ctx, v) })
		if n%2 == 0 {
			err = s.db(node).Update(s.ctx, func(ctx context.Context, tx *client.Tx) error { return read(ctx, tx) })
		}
		if err == nil && p != (pair{n, n}) {
			err = fmt.Errorf("saw %v after %d was acknowledged", p, n)
		}
		return err
	})
}
