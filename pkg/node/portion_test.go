package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPortionTakesAboutTheTimeOfAStep(t *testing.T) {
	var p portion
	require.Equal(t, maxPortion, p.size())
	p.took(1000, 3*time.Millisecond)
	require.Equal(t, maxPortion, p.size(), "ordinary messages")
	p.took(100, 200*time.Millisecond)
	require.Equal(t, 2, p.size())
	p.took(2, time.Second)
	require.Equal(t, 1, p.size(), "never less than one")
	p.took(1, 4*time.Millisecond)
	require.Equal(t, 1, p.size())
	p.took(0, time.Microsecond)
	require.Equal(t, 1, p.size(), "a step with less than a portion tells nothing")
	for range 20 {
		p.took(p.size(), time.Millisecond)
	}
	require.Equal(t, maxPortion, p.size())
}
