package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPortionAdaptsToStepTime(t *testing.T) {
	var p portion
	require.Equal(t, maxPortion, p.size())
	p.adapt(1000, 3*time.Millisecond)
	require.Equal(t, maxPortion, p.size(), "short steps keep the maximum")
	p.adapt(100, 200*time.Millisecond)
	require.Equal(t, 2, p.size())
	p.adapt(2, time.Second)
	require.Equal(t, 1, p.size(), "at least one message")
	p.adapt(1, 4*time.Millisecond)
	require.Equal(t, 1, p.size())
	p.adapt(0, time.Microsecond)
	require.Equal(t, 1, p.size(), "a step with less than a portion does not count")
	for range 20 {
		p.adapt(p.size(), time.Millisecond)
	}
	require.Equal(t, maxPortion, p.size())
}
