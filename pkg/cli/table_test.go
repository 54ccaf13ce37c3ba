package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyOneColumnIsCut: keys and ids stay whole.
func TestOnlyOneColumnIsCut(t *testing.T) {
	rows := func(columns int) string {
		var out bytes.Buffer
		p := &printer{out: &out, columns: func() int { return columns }}
		x := p.table("KEY", "VALUE", "VERSION")
		x.shrink = 1
		x.row("a-long-key-of-thirty-characters", "a value that is longer than there is room for", "0.0.1")
		x.row("k", "v", "0.0.2")
		require.NoError(t, x.flush())
		return out.String()
	}
	require.Equal(t, strings.TrimLeft(`
KEY                              VALUE             VERSION
a-long-key-of-thirty-characters  a value that is…  0.0.1
k                                v                 0.0.2
`, "\n"), rows(40))
	require.Contains(t, rows(0), "a-long-key-of-thirty-characters  a value that is longer than there is room for  0.0.1\n")
}
