package backup

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// pairs are n keys of a type, whose scan counts how many were taken.
func pairs(n, size int, t client.Type, taken *int, end error) iter.Seq2[client.Entry, error] {
	return func(yield func(client.Entry, error) bool) {
		for i := range n {
			*taken++
			if !yield(client.Entry{Key: fmt.Sprintf("%06d", i), Type: t, Value: make([]byte, size)}, nil) {
				return
			}
		}
		if end != nil {
			yield(client.Entry{}, end)
		}
	}
}

// TestAPageIsBounded: large values would otherwise be 512 MiB, and those of data types
// 4 GiB.
func TestAPageIsBounded(t *testing.T) {
	for _, c := range []struct {
		n, size, want int
		more          bool
	}{{0, 0, 0, false}, {10, 10, 10, false}, {pageKeys, 10, pageKeys, true}, {pageKeys, 1 << 20, 4, true},
		{4, 1 << 20, 4, true}, {3, 1 << 20, 3, false}} {
		taken := 0
		page, more, err := firstPage(pairs(c.n, c.size, client.TypeValue, &taken, nil))
		require.NoError(t, err)
		require.Len(t, page, c.want)
		require.Equal(t, c.want, taken, "no more are read than are used")
		require.Equal(t, c.more, more, "%v", c)
	}
	taken := 0
	_, _, err := firstPage(pairs(3, 10, client.TypeValue, &taken, errors.New("broken")))
	require.ErrorContains(t, err, "broken")
}

func TestFewValuesOfDataTypesAreReadTogether(t *testing.T) {
	page := func(types ...client.Type) (out []client.Entry) {
		for _, x := range types {
			out = append(out, client.Entry{Type: x})
		}
		return out
	}
	var sets []client.Type
	for range 2*together + 1 {
		sets = append(sets, client.TypeSet)
	}
	require.Equal(t, together, readTogether(page(sets...)))
	require.Equal(t, 3, readTogether(page(sets[:3]...)))
	mixed := page(append([]client.Type{client.TypeValue, client.TypeCounter}, sets...)...)
	require.Equal(t, together+2, readTogether(mixed), "what a scan tells anyhow does not count")
	require.Equal(t, 40, readTogether(page(slices.Repeat([]client.Type{client.TypeValue}, 40)...)))
}
