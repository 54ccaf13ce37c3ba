package flow

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoCallThatIsOverIsHeldOnTo: of many that end at once some are kept for others, and nothing
// refers to the rest.
func TestNoCallThatIsOverIsHeldOnTo(t *testing.T) {
	var p Pool
	for _, n := range []int{2 * maxFinished, 3} {
		for range n {
			o := &OneShot{}
			o.Token = "held on to"
			p.Put(o)
		}
		p.Recycle()
		require.LessOrEqual(t, cap(p.finished), maxFinished)
		for _, o := range p.finished[:cap(p.finished)] {
			require.Nil(t, o)
		}
		require.LessOrEqual(t, len(p.spare), maxSpare)
		require.Nil(t, p.Get().Token)
	}
}
