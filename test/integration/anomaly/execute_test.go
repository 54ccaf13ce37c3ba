package anomaly

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// setBoth gives a writer that puts one value of its own into x and y.
func (s *scene) setBoth(writer int) func(round int) error {
	return func(round int) error {
		n := value(1 + writer + 10*round)
		ops := []client.Op{client.PutOp(s.x, n), client.PutOp(s.y, n)}
		if writer%2 == 1 {
			ops[0], ops[1] = ops[1], ops[0]
		}
		return s.db(writer).Execute(s.ctx, ops...)
	}
}

func (s *scene) writers(n int, make func(writer int) func(round int) error) (all []func(int) error) {
	for i := range n {
		all = append(all, make(i))
	}
	return all
}

// readBoth reads x and y in one transaction, in either order.
func (s *scene) readBoth(reader int) (pair, error) {
	x, y := client.GetOp(s.x), client.GetOp(s.y)
	ops := []client.Op{x, y}
	if reader%2 == 1 {
		ops = []client.Op{y, x}
	}
	err := s.db(reader).Execute(s.ctx, ops...)
	return pair{number(x.Value()), number(y.Value())}, err
}

// dirtyWriteExecute: transactions that each write one value everywhere must
// leave one value everywhere, and never show a mixture.
func dirtyWriteExecute(s *scene) {
	for _, p := range flat(race(s, s.writers(4, s.setBoth), 2, s.readBoth)) {
		require.Equal(s.T, p.x, p.y)
	}
	x, y := s.now(1)
	require.Equal(s.T, x, y)
	require.NotZero(s.T, x)
}

// failing gives a writer of 666 whose condition elsewhere never holds, and
// which writes 777 before it writes what may be seen.
func (s *scene) failing(writer int) func(round int) error {
	return func(round int) error {
		err := s.db(writer).Execute(s.ctx, client.PutOp(s.x, value(666)), client.RequireOp(s.aside, client.IfExists()),
			client.PutOp(s.y, value(666)))
		if !errors.Is(err, client.ErrConditionFailed) {
			return fmt.Errorf("the condition on an absent key held: %w", err)
		}
		return s.db(writer).Execute(s.ctx, client.PutOp(s.x, value(777)), client.PutOp(s.y, value(777)),
			client.PutOp(s.x, value(round)), client.PutOp(s.y, value(round)))
	}
}

// dirtyReadExecute: what a failed transaction wrote is never seen (G1a), nor
// what a transaction wrote and then replaced (G1b).
func dirtyReadExecute(s *scene) {
	for _, p := range flat(race(s, s.writers(2, s.failing), 2, s.readBoth)) {
		require.Less(s.T, max(p.x, p.y), rounds)
		require.Equal(s.T, p.x, p.y)
	}
}

// lostUpdateExecute: of all who replace one value, one succeeds.
func lostUpdateExecute(s *scene) {
	increment := func(writer int) func(int) error {
		return func(int) error {
			for {
				e, _, err := s.db(writer).Entry(s.ctx, s.x)
				if err != nil {
					return err
				}
				unchanged := client.IfValue(e.Value)
				if writer%2 == 1 {
					unchanged = client.IfVersion(e.Version)
				}
				// A second shard, so that the decision is elsewhere than the check.
				err = s.db(writer).Execute(s.ctx, client.PutOp(s.x, value(number(e.Value)+1), unchanged),
					client.PutOp(s.y, value(writer)))
				if !errors.Is(err, client.ErrConditionFailed) {
					return err
				}
			}
		}
	}
	seen := race(s, s.writers(4, increment), 1, s.readBoth)
	for i := 1; i < len(seen[0]); i++ {
		require.GreaterOrEqual(s.T, seen[0][i].x, seen[0][i-1].x)
	}
	x, _ := s.now(0)
	require.Equal(s.T, 4*rounds, x)
}

// transfer gives a writer that moves 1 from x to y, or back, by comparing and
// setting both.
func (s *scene) transfer(writer int) func(int) error {
	return func(int) error {
		d := 1 - 2*(writer%2)
		for {
			x, y := client.GetOp(s.x), client.GetOp(s.y)
			if err := s.db(writer).Execute(s.ctx, x, y); err != nil {
				return err
			}
			err := s.db(writer).Execute(s.ctx, client.PutOp(s.x, value(number(x.Value())-d), client.IfValue(x.Value())),
				client.PutOp(s.y, value(number(y.Value())+d), client.IfValue(y.Value())))
			if !errors.Is(err, client.ErrConditionFailed) {
				return err
			}
		}
	}
}

// readSkewExecute: what moves between two keys is always in one of them.
func readSkewExecute(s *scene) {
	s.must(0, client.PutOp(s.x, value(1000)), client.PutOp(s.y, value(1000)))
	for _, p := range flat(race(s, s.writers(3, s.transfer), 2, s.readBoth)) {
		require.Equal(s.T, 2000, p.x+p.y)
	}
}

// writeSkewExecute: each of two takes its turn only if the other has not; at
// most one can have it.
func writeSkewExecute(s *scene) {
	var both, neither int
	for range rounds {
		a := s.async(0, client.RequireOp(s.y, client.IfValue(value(0))), client.PutOp(s.x, value(1)))
		b := s.async(1, client.RequireOp(s.x, client.IfValue(value(0))), client.PutOp(s.y, value(1)))
		errA, errB := <-a, <-b
		for _, err := range []error{errA, errB} {
			if err != nil {
				require.ErrorIs(s.T, err, client.ErrConditionFailed)
			}
		}
		if errA == nil && errB == nil {
			both++
		}
		if errA != nil && errB != nil {
			neither++
		}
		s.must(2, client.PutOp(s.x, value(0)), client.PutOp(s.y, value(0)))
	}
	require.Zero(s.T, both, "both had the turn")
	require.Zero(s.T, neither, "each was refused because of the other")
}

// phantomExecute: pairs of keys come and go together, by inserts, deletes and
// range deletes; a range read sees both or none.
func phantomExecute(s *scene) { phantoms(s, s.scanOnce) }

func (s *scene) scanOnce(reader int) (map[string]int, error) {
	page := client.ScanOp(s.keys(), 0)
	err := s.db(reader).Execute(s.ctx, page)
	seen := map[string]int{}
	for _, e := range page.Value().Entries {
		seen[e.Key] = number(e.Value)
	}
	return seen, err
}

func phantoms(s *scene, read func(int) (map[string]int, error)) {
	var removed atomic.Int64
	couple := func(writer int) func(int) error {
		return func(round int) error {
			a, b := s.name("new/%d", writer), s.name("old/%d", writer)
			n := value(round)
			err := s.db(writer).Execute(s.ctx, client.PutOp(a, n), client.PutOp(b, n))
			if err == nil && round%3 == 2 {
				var count int
				count, err = s.db(writer+1).DeleteRange(s.ctx, client.Range{Start: s.prefix + "new", End: s.prefix + "p"})
				removed.Add(int64(count))
			} else if err == nil && round%2 == 1 {
				err = s.db(writer+1).Execute(s.ctx, client.DeleteOp(a), client.DeleteOp(b))
			}
			return err
		}
	}
	for _, keys := range flat(race(s, s.writers(3, couple), 2, read)) {
		for i := range 3 {
			a, hasA := keys[s.name("new/%d", i)]
			b, hasB := keys[s.name("old/%d", i)]
			require.Equal(s.T, hasA, hasB, "half a pair in %v", keys)
			require.Equal(s.T, a, b)
		}
		require.Contains(s.T, keys, s.x)
		require.Contains(s.T, keys, s.y)
	}
	require.NotZero(s.T, removed.Load())
}

// longForkExecute: two writers on different keys know nothing of each other,
// but all readers agree on which of them was first.
func longForkExecute(s *scene) {
	ordered(s, race(s, s.growing(), 4, s.readBoth))
}

// growing are two writers, one of x and one of y, of growing values.
func (s *scene) growing() []func(int) error {
	return s.writers(2, func(writer int) func(int) error {
		k := []string{s.x, s.y}[writer]
		return func(round int) error {
			return s.db(writer).Put(s.ctx, k, value(round+1))
		}
	})
}

// realTimeExecute: whoever asks after a write was acknowledged sees it,
// whichever node is asked.
func realTimeExecute(s *scene) {
	afterwards(s, func(node, n int) error {
		p, err := s.readBoth(node)
		if err == nil && p != (pair{n, n}) {
			err = fmt.Errorf("saw %v after %d was acknowledged", p, n)
		}
		return err
	})
}

// afterwards writes through each node and has look check through each.
func afterwards(s *scene, look func(node, n int) error) {
	for n := 1; n <= rounds; n++ {
		for _, k := range []string{s.x, s.y} {
			s.must(n, client.PutOp(k, value(n)))
		}
		errs := make(chan error, len(s.dbs))
		for node := range s.dbs {
			go func() { errs <- look(node, n) }()
		}
		var all error
		for range s.dbs {
			all = errors.Join(all, <-errs)
		}
		require.NoError(s.T, all)
	}
}
