package generated

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStaleFileIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page")
	require.ErrorIs(t, File(path, []byte("new"), true), os.ErrNotExist)
	require.NoFileExists(t, path, "a check writes nothing")
	require.NoError(t, File(path, []byte("new"), false))
	require.NoError(t, File(path, []byte("new"), true))
	require.ErrorContains(t, File(path, []byte("newer"), true), "is stale; run: make generate")
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(got))
}
