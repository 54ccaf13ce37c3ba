//go:build mutants

package scenario

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestMutantsBlockTypedSchedules runs each schedule with a rule broken that it depends on: then it does not end in
// time.
func TestMutantsBlockTypedSchedules(t *testing.T) {
	for _, s := range typedSchedules {
		for _, rules := range s.broken {
			t.Run(fmt.Sprint(s.name, rules), func(t *testing.T) {
				require.False(t, s.play(New(t, 3, mutant.Of(rules...))))
			})
		}
	}
}
