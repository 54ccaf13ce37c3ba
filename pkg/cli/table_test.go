package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATableFits(t *testing.T) {
	var out bytes.Buffer
	p := &printer{out: &out, columns: func() int { return 40 }}
	x := p.table("KEY", "WAITED", "WHY")
	x.row("a-long-key-of-thirty-characters", "1.5ms", "it waited for another one, which wrote the key")
	x.row("k", "2ms", "no reason")
	require.NoError(t, x.flush())
	require.Equal(t, strings.TrimLeft(`
KEY              WAITED  WHY
a-long-key-of-…  1.5ms   it waited for
                         another one,
                         which wrote the
                         key
k                2ms     no reason
`, "\n"), out.String())

	out.Reset()
	p.columns = nil
	x = p.table("KEY", "WHY")
	x.row("a-long-key-of-thirty-characters", "it waited for another one, which wrote the key")
	require.NoError(t, x.flush())
	require.Contains(t, out.String(), "a-long-key-of-thirty-characters  it waited for another one, which wrote the key\n")
}
