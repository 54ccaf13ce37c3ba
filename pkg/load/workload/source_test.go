package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/workload"
)

func TestASourceDrawsTheSameForASeed(t *testing.T) {
	draw := func(seed uint64, client int) (all []workload.Txn) {
		s, err := workload.NewSource(workload.Options{Keys: 100, Seed: seed}, "tag")
		require.NoError(t, err)
		next := s.Client(client)
		for range 50 {
			all = append(all, next())
		}
		return all
	}
	require.Equal(t, draw(1, 2), draw(1, 2))
	require.NotEqual(t, draw(1, 2), draw(2, 2))
	require.NotEqual(t, draw(1, 2), draw(1, 3))
	_, err := workload.NewSource(workload.Options{Placement: workload.Placement{Locality: 50}}, "tag")
	require.ErrorContains(t, err, "where keys live")
	_, err = workload.NewSource(workload.Options{Skew: -1}, "tag")
	require.ErrorContains(t, err, "skew")
}
