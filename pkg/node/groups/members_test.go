package groups

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReplacementsBeginOneByOne: a node with many groups does not replace all of their replicas at the same time.
func TestReplacementsBeginOneByOne(t *testing.T) {
	s := new(Set)
	require.True(t, s.mayBegin(beginEvery))
	require.False(t, s.mayBegin(2*beginEvery-1))
	require.True(t, s.mayBegin(2*beginEvery))
}
