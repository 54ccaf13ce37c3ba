package flow

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFinishedCallsAreNotRetained: some finished calls are kept for reuse, and nothing refers to
// the others.
func TestFinishedCallsAreNotRetained(t *testing.T) {
	var p Pool
	for _, n := range []int{2 * maxFinished, 3} {
		for range n {
			o := &OneShot{}
			o.Handle = "retained"
			p.Put(o)
		}
		p.Recycle()
		require.LessOrEqual(t, cap(p.finished), maxFinished)
		for _, o := range p.finished[:cap(p.finished)] {
			require.Nil(t, o)
		}
		require.LessOrEqual(t, len(p.spare), maxSpare)
		require.Nil(t, p.Get().Handle)
	}
}
