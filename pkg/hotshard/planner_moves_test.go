package hotshard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLastMovesAreRemembered(t *testing.T) {
	p := NewPlanner(PlannerOptions{Hot: 9, Home: homeOf})
	for i := range 100 {
		key := []byte(fmt.Sprint("a", i))
		p.key(string(key)).move = &pendingMove{hot: true, reason: "why"}
		p.KeyArrived(int64(i), key, int64(i))
	}
	got := p.Moves()
	require.Len(t, got, maxCompletedMoves)
	require.Equal(t, CompletedMove{Move{[]byte("a99"), 1, 9, "why"}, 99}, got[0])
	require.EqualValues(t, 100-maxCompletedMoves, got[maxCompletedMoves-1].At)
}
