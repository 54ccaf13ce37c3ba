package hotshard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOfMovesTheLastAreRemembered(t *testing.T) {
	p := NewPlanner(PlannerOptions{Hot: 9, Home: homeOf})
	for i := range 100 {
		key := []byte(fmt.Sprint("a", i))
		p.key(string(key)).move = &underway{hot: true, reason: "why"}
		p.Owned(int64(i), key, int64(i))
	}
	got := p.Moves()
	require.Len(t, got, keptMoves)
	require.Equal(t, Made{Move{[]byte("a99"), 1, 9, "why"}, 99}, got[0])
	require.EqualValues(t, 100-keptMoves, got[keptMoves-1].At)
}
