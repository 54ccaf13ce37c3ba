package anomaly

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// scanBoth reads x and y by a scan of the range, a pair a page.
func (s *scene) scanBoth(reader int) (pair, error) {
	keys, err := s.scan(reader)
	if err != nil {
		return pair{}, err
	}
	x, hasX := keys[s.x]
	y, hasY := keys[s.y]
	if !hasX || !hasY || len(keys) != 2 {
		return pair{}, fmt.Errorf("a scan found %v", keys)
	}
	return pair{x, y}, nil
}

func dirtyWriteScan(s *scene) {
	for _, p := range flat(race(s, s.writers(3, s.setBoth), 2, s.scanBoth)) {
		require.Equal(s.T, p.x, p.y)
	}
}

func dirtyReadScan(s *scene) {
	for _, p := range flat(race(s, s.writers(2, s.failing), 2, s.scanBoth)) {
		require.Less(s.T, max(p.x, p.y), rounds)
		require.Equal(s.T, p.x, p.y)
	}
}

// lostUpdateScan: a transaction scans, and writes one more than the largest
// number that it found.
func lostUpdateScan(s *scene) {
	increment := func(writer int) func(int) error {
		return func(round int) error {
			return s.db(writer).Update(s.ctx, func(ctx context.Context, tx *client.Tx) error {
				n := 0
				for e, err := range tx.Scan(ctx, s.keys()) {
					if err != nil {
						return err
					}
					n = max(n, number(e.Value))
				}
				return tx.Put(ctx, []string{s.x, s.y}[round%2], value(n+1))
			})
		}
	}
	race(s, s.writers(3, increment), 1, s.scanBoth)
	x, y := s.now(0)
	require.Equal(s.T, 3*rounds, max(x, y))
}

func readSkewScan(s *scene) {
	s.must(0, client.PutOp(s.x, value(1000)), client.PutOp(s.y, value(1000)))
	for _, p := range flat(race(s, s.writers(3, s.transfer), 2, s.scanBoth)) {
		require.Equal(s.T, 2000, p.x+p.y)
	}
}

// writeSkewScan: each takes the turn if a scan finds that nobody has it.
func writeSkewScan(s *scene) {
	free := func(ctx context.Context, tx *client.Tx) (bool, error) {
		for e, err := range tx.Scan(ctx, s.keys()) {
			if err != nil || number(e.Value) != 0 {
				return false, err
			}
		}
		return true, nil
	}
	for range rounds / 3 {
		took := make(chan bool, 2)
		for i, k := range []string{s.x, s.y} {
			go func() {
				mine := false
				err := s.db(i).Update(s.ctx, func(ctx context.Context, tx *client.Tx) error {
					ok, err := free(ctx, tx)
					mine = ok
					if err != nil || !ok {
						return err
					}
					return tx.Put(ctx, k, value(1))
				})
				took <- err == nil && mine
			}()
		}
		a, b := <-took, <-took
		require.True(s.T, a != b, "exactly one has the turn (%v, %v)", a, b)
		s.must(2, client.PutOp(s.x, value(0)), client.PutOp(s.y, value(0)))
	}
}

func phantomScan(s *scene) { phantoms(s, s.scan) }

func longForkScan(s *scene) {
	ordered(s, race(s, s.growing(), 4, s.scanBoth))
}

func realTimeScan(s *scene) {
	afterwards(s, func(node, n int) error {
		p, err := s.scanBoth(node)
		if err == nil && p != (pair{n, n}) {
			err = fmt.Errorf("saw %v after %d was acknowledged", p, n)
		}
		return err
	})
}
