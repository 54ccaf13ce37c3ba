package anomaly

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// dirtyWriteInteractive: both write both keys, having locked them crosswise.
// One must give way; whatever commits leaves one value.
func dirtyWriteInteractive(s *scene) {
	a, b := s.update(0), s.update(1)
	a.lock(s.x)
	b.lock(s.y)
	for _, k := range []string{s.x, s.y} {
		a.put(k, 1)
		b.put(k, 2)
	}
	a.finish()
	b.finish()
	first, second := a.committed(), b.committed()
	require.True(s.T, first != second, "both held what the other needed: exactly one can commit (%v, %v)", first, second)
	x, y := s.now(2)
	require.Equal(s.T, x, y)
	require.Equal(s.T, map[bool]int{true: 1, false: 2}[first], x)
}

// dirtyReadInteractive: one transaction has written and will roll back; what
// another reads meanwhile is not that.
func dirtyReadInteractive(s *scene) {
	for round := range 4 {
		reader, writer := s.view(round+1), s.update(round)
		if round%2 == 1 { // the writer is older
			reader.rollback()
			reader = s.view(round + 1)
		}
		writer.lock(s.x)
		writer.put(s.x, 666)
		writer.put(s.y, 666)
		got := -1
		reader.begin(func(ctx context.Context, tx transaction) error {
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
	x, y := s.now(2)
	require.Equal(s.T, pair{0, 0}, pair{x, y})
}

// lostUpdateInteractive: both read 0, and each writes 1 more than it read.
func lostUpdateInteractive(s *scene) {
	first, second := s.update(0), s.update(1)
	x1, x2 := first.get(s.x), second.get(s.x)
	require.Equal(s.T, pair{0, 0}, pair{x1, x2})
	first.put(s.x, x1+1)
	second.put(s.x, x2+1)
	second.finish()
	first.finish()
	a, b := first.committed(), second.committed()
	require.True(s.T, a != b, "both read 0: exactly one can commit (%v, %v)", a, b)
	x, _ := s.now(2)
	require.Equal(s.T, 1, x)
}

// readSkewInteractive: between a transaction's two reads another writes both
// keys. With a hot key the first read took no lock, and only the commit finds
// out.
func readSkewInteractive(s *scene) {
	for round := range 4 {
		x, y := s.now(0)
		require.Equal(s.T, x, y)
		reader := s.update(round)
		if round%2 == 1 {
			reader = s.view(round)
		}
		first := reader.get(s.x)
		require.Equal(s.T, x, first)
		written := s.async(round+1, client.PutOp(s.x, value(x+1)), client.PutOp(s.y, value(x+1)))
		second := reader.get(s.y)
		if round == 2 && second >= 0 { // commit as a writer of something else
			reader.put(s.aside, 1)
		}
		if reader.commit() {
			require.Equal(s.T, first, second, "round %d", round)
		}
		require.NoError(s.T, <-written)
	}
}

// writeSkewInteractive: both read both keys, and each writes one.
func writeSkewInteractive(s *scene) {
	a, b := s.update(0), s.update(1)
	for _, k := range []string{s.x, s.y} {
		require.Equal(s.T, 0, a.get(k))
		require.Equal(s.T, 0, b.get(k))
	}
	a.put(s.x, 1)
	b.put(s.y, 1)
	b.finish()
	a.finish()
	first, second := a.committed(), b.committed()
	require.True(s.T, first != second, "exactly one can commit (%v, %v)", first, second)
	x, y := s.now(2)
	require.Equal(s.T, 1, x+y)
}

// phantomInteractive: a transaction counts a range twice, and notes the count;
// in between another inserts, behind a key that was there and before it.
func phantomInteractive(s *scene) {
	for round := range 4 {
		counter := s.update(round)
		if round%2 == 1 {
			counter = s.view(round)
		}
		first := counter.count()
		require.Equal(s.T, 2+2*round, first)
		inserted := s.async(round+1, client.PutOp(s.name("a%d", round), value(round), client.IfAbsent()),
			client.PutOp(s.name("z%d", round), value(round), client.IfAbsent()))
		second := counter.count()
		if counter.commit() {
			require.Equal(s.T, first, second)
		}
		require.NoError(s.T, <-inserted)
	}
	// Both count, both insert because of what they counted.
	a, b := s.update(0), s.update(1)
	n := a.count()
	require.Equal(s.T, n, b.count())
	a.put(s.prefix+"m0", n)
	b.put(s.prefix+"m1", n)
	b.finish()
	a.finish()
	first, second := a.committed(), b.committed()
	require.True(s.T, first != second, "exactly one can commit (%v, %v)", first, second)
}

// longForkInteractive: each reader holds what one of the writers wants, and
// then reads the other's key. They may not both see only the other's write.
func longForkInteractive(s *scene) {
	for round := range 4 {
		x, y := s.now(0)
		a, b := s.view(round), s.view(round+1)
		ax, by := a.get(s.x), b.get(s.y)
		wroteX := s.async(round+2, client.PutOp(s.x, value(x+1)))
		wroteY := s.async(round, client.PutOp(s.y, value(y+1)))
		s.waiting()
		// Neither may wait for the other's end, since both wait for writers
		// that wait for both.
		ay, bx := a.getAndCommit(s.y), b.getAndCommit(s.x)
		okA, okB := a.committed(), b.committed()
		if okA && okB {
			require.False(s.T, ax == x && *ay == y+1 && *bx == x+1 && by == y, "a fork")
		}
		if okA {
			require.Equal(s.T, x, ax)
		}
		require.NoError(s.T, <-wroteX)
		require.NoError(s.T, <-wroteY)
	}
}

// realTimeInteractive: as realTimeExecute, in Views and in Updates that only
// read.
func realTimeInteractive(s *scene) {
	afterwards(s, func(node, n int) error {
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
