package anomaly

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

// setBoth gives a writer that puts one value of its own into x and y.
func (s *scene) setBoth(writer int) func(round int) error {
	return func(round int) error {
		n := value(1 + writer + 10*round)
		ops := []client.Op{client.Put(s.x, n), client.Put(s.y, n)}
		if writer%2 == 1 {
			ops[0], ops[1] = ops[1], ops[0]
		}
		_, err := s.db(writer).Execute(s.ctx, ops...)
		return err
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
	keys := [][]byte{s.x, s.y}
	if reader%2 == 1 {
		keys[0], keys[1] = keys[1], keys[0]
	}
	out, err := s.db(reader).Execute(s.ctx, client.Get(keys[0]), client.Get(keys[1]))
	if err != nil {
		return pair{}, err
	}
	p := pair{number(out.Results[0].Value), number(out.Results[1].Value)}
	if reader%2 == 1 {
		p.x, p.y = p.y, p.x
	}
	return p, nil
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
		_, err := s.db(writer).Execute(s.ctx, client.Put(s.x, value(666)), client.RequireExists(s.aside), client.Put(s.y, value(666)))
		if kv.KindOf(err) != kv.KindConditionFailed {
			return fmt.Errorf("the condition on an absent key held: %w", err)
		}
		_, err = s.db(writer).Execute(s.ctx, client.Put(s.x, value(777)), client.Put(s.y, value(777)),
			client.Put(s.x, value(round)), client.Put(s.y, value(round)))
		return err
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
				out, err := s.db(writer).Execute(s.ctx, client.Get(s.x))
				if err != nil {
					return err
				}
				v := out.Results[0]
				set := client.CompareAndSet(s.x, v.Value, value(number(v.Value)+1))
				if writer%2 == 1 {
					set = client.CompareVersionAndSet(s.x, v.Version, value(number(v.Value)+1))
				}
				// A second shard, so that the decision is elsewhere than the check.
				_, err = s.db(writer).Execute(s.ctx, set, client.Put(s.y, value(writer)))
				if kv.KindOf(err) != kv.KindConditionFailed {
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
			out, err := s.db(writer).Execute(s.ctx, client.Get(s.x), client.Get(s.y))
			if err != nil {
				return err
			}
			x, y := out.Results[0].Value, out.Results[1].Value
			_, err = s.db(writer).Execute(s.ctx, client.CompareAndSet(s.x, x, value(number(x)-d)),
				client.CompareAndSet(s.y, y, value(number(y)+d)))
			if kv.KindOf(err) != kv.KindConditionFailed {
				return err
			}
		}
	}
}

// readSkewExecute: what moves between two keys is always in one of them.
func readSkewExecute(s *scene) {
	s.must(0, client.Put(s.x, value(1000)), client.Put(s.y, value(1000)))
	for _, p := range flat(race(s, s.writers(3, s.transfer), 2, s.readBoth)) {
		require.Equal(s.T, 2000, p.x+p.y)
	}
}

// writeSkewExecute: each of two takes its turn only if the other has not; at
// most one can have it.
func writeSkewExecute(s *scene) {
	var both, neither int
	for range rounds {
		a := s.async(0, client.RequireEquals(s.y, value(0)), client.Put(s.x, value(1)))
		b := s.async(1, client.RequireEquals(s.x, value(0)), client.Put(s.y, value(1)))
		errA, errB := <-a, <-b
		for _, err := range []error{errA, errB} {
			if err != nil {
				require.Equal(s.T, kv.KindConditionFailed, kv.KindOf(err), "%v", err)
			}
		}
		if errA == nil && errB == nil {
			both++
		}
		if errA != nil && errB != nil {
			neither++
		}
		s.must(2, client.Put(s.x, value(0)), client.Put(s.y, value(0)))
	}
	require.Zero(s.T, both, "both had the turn")
	require.Zero(s.T, neither, "each was refused because of the other")
}

// phantomExecute: pairs of keys come and go together, by inserts, deletes and
// range deletes; a range read sees both or none.
func phantomExecute(s *scene) { phantoms(s, s.scanOnce) }

func (s *scene) scanOnce(reader int) (map[string]int, error) {
	out, err := s.db(reader).Execute(s.ctx, client.ScanRange(s.start, s.end, 0))
	if err != nil {
		return nil, err
	}
	seen := map[string]int{}
	for _, p := range out.Results[0].Pairs {
		seen[string(p.Key)] = number(p.Value)
	}
	return seen, nil
}

func phantoms(s *scene, read func(int) (map[string]int, error)) {
	var removed atomic.Int64
	couple := func(writer int) func(int) error {
		return func(round int) error {
			a, b := fmt.Appendf(nil, "%snew/%d", s.start, writer), fmt.Appendf(nil, "%sold/%d", s.start, writer)
			n := value(round)
			_, err := s.db(writer).Execute(s.ctx, client.Put(a, n), client.Put(b, n))
			if err == nil && round%3 == 2 {
				var out *client.Outcome
				out, err = s.db(writer+1).Execute(s.ctx, client.DeleteRange(fmt.Appendf(nil, "%snew", s.start), fmt.Appendf(nil, "%sp", s.start)))
				if err == nil {
					removed.Add(int64(out.Results[0].Count))
				}
			} else if err == nil && round%2 == 1 {
				_, err = s.db(writer+1).Execute(s.ctx, client.Delete(a), client.Delete(b))
			}
			return err
		}
	}
	for _, keys := range flat(race(s, s.writers(3, couple), 2, read)) {
		for i := range 3 {
			a, hasA := keys[fmt.Sprintf("%snew/%d", s.start, i)]
			b, hasB := keys[fmt.Sprintf("%sold/%d", s.start, i)]
			require.Equal(s.T, hasA, hasB, "half a pair in %v", keys)
			require.Equal(s.T, a, b)
		}
		require.Contains(s.T, keys, string(s.x))
		require.Contains(s.T, keys, string(s.y))
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
		k := [][]byte{s.x, s.y}[writer]
		return func(round int) error {
			_, err := s.db(writer).Execute(s.ctx, client.Put(k, value(round+1)))
			return err
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
		for _, k := range [][]byte{s.x, s.y} {
			s.must(n, client.Put(k, value(n)))
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
