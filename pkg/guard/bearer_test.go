package guard

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/users"
)

func TestBearer(t *testing.T) {
	token := users.TokenText([users.SecretBytes]byte{7})
	want, _ := users.HashToken(token)
	for _, good := range []string{"Bearer " + token, "bearer " + token} {
		hash, ok := bearer([]string{good})
		require.True(t, ok)
		require.Equal(t, want, hash)
	}
	for _, bad := range [][]string{{}, {token}, {"Basic " + token}, {"Bearer  " + token}, {"Bearer " + token + " "},
		{"Bearer " + token, "Bearer " + token}, {"Bearer"}, {""}} {
		_, ok := bearer(bad)
		require.False(t, ok, "%q", bad)
	}
}

// FuzzBearer: only what is a token, whole and alone, has a hash.
func FuzzBearer(f *testing.F) {
	f.Add("Bearer " + users.TokenText([users.SecretBytes]byte{7}))
	f.Add("Basic YTpi")
	f.Fuzz(func(t *testing.T, header string) {
		hash, ok := bearer([]string{header})
		if !ok {
			require.Zero(t, hash)
			return
		}
		_, text, _ := strings.Cut(header, " ")
		again, is := users.HashToken(text)
		require.True(t, is)
		require.Equal(t, again, hash)
	})
}
