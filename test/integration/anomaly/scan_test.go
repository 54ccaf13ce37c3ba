package anomaly

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// scanBoth reads x and y by a scan with a page size of 1.
func (s *scene) scanBoth(reader int) (pair, error) {
	keys, err := s.scan(reader)
	if err != nil {
		return pair{}, err
	}
	x, hasX := keys[s.x]
	y, hasY := keys[s.y]
	if !hasX || !hasY || len(keys) != 2 {
		return pair{}, fmt.Errorf("the scan returned %v", keys)
	}
	return pair{x, y}, nil
}

// lostUpdateScan: a transaction scans, and writes the largest value plus 1.
func lostUpdateScan(s *scene) {
	increment := func(writer int) func(int) error {
		return func(round int) error {
			return s.db(writer).Update(s.ctx, func(ctx context.Context, tx *client.Tx) error {
				n := 0
				for e, err := range tx.Scan(ctx, s.keyRange()) {
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
	x, y := s.readXY(0)
	require.Equal(s.T, 3*rounds, max(x, y))
}

// writeSkewScan: each of two transactions sets its key if a scan finds no key set. One commits.
func writeSkewScan(s *scene) {
	noneSet := func(ctx context.Context, tx *client.Tx) (bool, error) {
		for e, err := range tx.Scan(ctx, s.keyRange()) {
			if err != nil || number(e.Value) != 0 {
				return false, err
			}
		}
		return true, nil
	}
	for range rounds / 3 {
		committed := make(chan bool, 2)
		for i, k := range []string{s.x, s.y} {
			go func() {
				set := false
				err := s.db(i).Update(s.ctx, func(ctx context.Context, tx *client.Tx) error {
					ok, err := noneSet(ctx, tx)
					set = ok
					if err != nil || !ok {
						return err
					}
					return tx.Put(ctx, k, value(1))
				})
				committed <- err == nil && set
			}()
		}
		a, b := <-committed, <-committed
		require.True(s.T, a != b, "exactly one commits (%v, %v)", a, b)
		s.requireExecute(2, client.PutOp(s.x, value(0)), client.PutOp(s.y, value(0)))
	}
}

func phantomScan(s *scene) { raceInserts(s, s.scan) }
