package anomaly

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// writeBoth returns a writer that writes one value of its own into x and y.
func (s *scene) writeBoth(writer int) func(round int) error {
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

// readFunc reads x and y in one transaction through a node: (*scene).readBoth or (*scene).scanBoth.
type readFunc func(s *scene, node int) (pair, error)

// of binds a readFunc to a scene.
func (read readFunc) of(s *scene) func(int) (pair, error) {
	return func(node int) (pair, error) { return read(s, node) }
}

// dirtyWrite: every transaction writes one value into both keys, so the keys are equal at the end and in every read.
func (read readFunc) dirtyWrite(s *scene) {
	for _, p := range flatten(race(s, s.writers(4, s.writeBoth), 2, read.of(s))) {
		require.Equal(s.T, p.x, p.y)
	}
	x, y := s.readXY(1)
	require.Equal(s.T, x, y)
	require.NotZero(s.T, x)
}

// failAndOverwrite returns a writer that writes 666 in a transaction with a condition that never holds, and
// then 777 before the value that may be read.
func (s *scene) failAndOverwrite(writer int) func(round int) error {
	return func(round int) error {
		err := s.db(writer).Execute(s.ctx, client.PutOp(s.x, value(666)), client.RequireOp(s.otherKey, client.IfExists()),
			client.PutOp(s.y, value(666)))
		if !errors.Is(err, client.ErrConditionFailed) {
			return fmt.Errorf("the condition on an absent key held: %w", err)
		}
		return s.db(writer).Execute(s.ctx, client.PutOp(s.x, value(777)), client.PutOp(s.y, value(777)),
			client.PutOp(s.x, value(round)), client.PutOp(s.y, value(round)))
	}
}

// dirtyRead: no read returns a value of a failed transaction (G1a), or one that the same transaction
// has overwritten (G1b).
func (read readFunc) dirtyRead(s *scene) {
	for _, p := range flatten(race(s, s.writers(2, s.failAndOverwrite), 2, read.of(s))) {
		require.Less(s.T, max(p.x, p.y), rounds)
		require.Equal(s.T, p.x, p.y)
	}
}

// lostUpdateExecute: of several concurrent compare-and-set operations on one value, one succeeds.
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
				// A second shard, so that the condition is not always on the last agent.
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
	x, _ := s.readXY(0)
	require.Equal(s.T, 4*rounds, x)
}

// transfer returns a writer that moves 1 from x to y, or back, by comparing and setting both.
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

// readSkew: the sum of two keys between which values are transferred is constant.
func (read readFunc) readSkew(s *scene) {
	s.requireExecute(0, client.PutOp(s.x, value(1000)), client.PutOp(s.y, value(1000)))
	for _, p := range flatten(race(s, s.writers(3, s.transfer), 2, read.of(s))) {
		require.Equal(s.T, 2000, p.x+p.y)
	}
}

// writeSkewExecute: each of two transactions sets its key if the other key is not set. Exactly one may
// commit.
func writeSkewExecute(s *scene) {
	var both, neither int
	for range rounds {
		a := s.executeAsync(0, client.RequireOp(s.y, client.IfValue(value(0))), client.PutOp(s.x, value(1)))
		b := s.executeAsync(1, client.RequireOp(s.x, client.IfValue(value(0))), client.PutOp(s.y, value(1)))
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
		s.requireExecute(2, client.PutOp(s.x, value(0)), client.PutOp(s.y, value(0)))
	}
	require.Zero(s.T, both, "both committed")
	require.Zero(s.T, neither, "neither committed")
}

// phantomExecute: two keys are inserted and deleted together, by point and range operations. A range read
// returns both or none.
func phantomExecute(s *scene) { raceInserts(s, s.scanOneShot) }

func (s *scene) scanOneShot(reader int) (map[string]int, error) {
	page := client.ScanOp(s.keyRange(), 0)
	err := s.db(reader).Execute(s.ctx, page)
	seen := map[string]int{}
	for _, e := range page.Value().Entries {
		seen[e.Key] = number(e.Value)
	}
	return seen, err
}

func raceInserts(s *scene, read func(int) (map[string]int, error)) {
	var removed atomic.Int64
	pairWriter := func(writer int) func(int) error {
		return func(round int) error {
			a, b := s.keyf("new/%d", writer), s.keyf("old/%d", writer)
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
	for _, keys := range flatten(race(s, s.writers(3, pairWriter), 2, read)) {
		for i := range 3 {
			a, hasA := keys[s.keyf("new/%d", i)]
			b, hasB := keys[s.keyf("old/%d", i)]
			require.Equal(s.T, hasA, hasB, "one key of a pair in %v", keys)
			require.Equal(s.T, a, b)
		}
		require.Contains(s.T, keys, s.x)
		require.Contains(s.T, keys, s.y)
	}
	require.NotZero(s.T, removed.Load())
}

// longFork: two independent writers of different keys. All readers agree on the order of the writes.
func (read readFunc) longFork(s *scene) {
	growing := s.writers(2, func(writer int) func(int) error {
		k := []string{s.x, s.y}[writer]
		return func(round int) error { return s.db(writer).Put(s.ctx, k, value(round+1)) }
	})
	requireTotalOrder(s, race(s, growing, 4, read.of(s)))
}

// realTime: after a write is acknowledged, a read at any node returns it.
func (read readFunc) realTime(s *scene) {
	requireReadsAfterWrites(s, func(node, n int) error {
		p, err := read(s, node)
		if err == nil && p != (pair{n, n}) {
			err = fmt.Errorf("saw %v after %d was acknowledged", p, n)
		}
		return err
	})
}

// requireReadsAfterWrites writes through each node and calls check for each node after each write.
func requireReadsAfterWrites(s *scene, check func(node, n int) error) {
	for n := 1; n <= rounds; n++ {
		for _, k := range []string{s.x, s.y} {
			s.requireExecute(n, client.PutOp(k, value(n)))
		}
		errs := make(chan error, len(s.dbs))
		for node := range s.dbs {
			go func() { errs <- check(node, n) }()
		}
		var all error
		for range s.dbs {
			all = errors.Join(all, <-errs)
		}
		require.NoError(s.T, all)
	}
}
