package txnlang_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli/txnlang"
)

func TestWordsArePartedAsOperationsAre(t *testing.T) {
	for in, want := range map[string][]txnlang.Part{
		"":                     nil,
		" ; ;# nothing":        nil,
		"get a":                {{[]string{"get", "a"}, "get a"}},
		`put "a;b" "\n" # why`: {{[]string{"put", "a;b", "\n"}, `put "a;b" "\n"`}},
		"get a; put b 1 ;":     {{[]string{"get", "a"}, "get a"}, {[]string{"put", "b", "1"}, "put b 1"}},
	} {
		got, err := txnlang.Words(in)
		require.NoError(t, err, in)
		require.Len(t, got, len(want), in)
		for i := range want {
			require.Equal(t, want[i].Words, got[i].Words, in)
			parsed, err := txnlang.Parse(got[i].Text)
			require.NoError(t, err, in)
			wanted, err := txnlang.Parse(want[i].Text)
			require.NoError(t, err, in)
			require.Equal(t, wanted[0].Op.String(), parsed[0].Op.String(), in)
		}
	}
	_, err := txnlang.Words(`get "a`)
	require.ErrorContains(t, err, "line 1, column 5")
}
