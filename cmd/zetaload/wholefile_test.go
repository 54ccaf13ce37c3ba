package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func hello(w io.Writer) error {
	_, err := io.WriteString(w, "hello")
	return err
}

// What is no file cannot be replaced by one: a device such as /dev/null would be
// gone.
func TestAPipeIsWrittenToAndStaysAPipe(t *testing.T) {
	path := file(t, "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	read := make(chan string, 1)
	go func() {
		b, err := os.ReadFile(path)
		read <- string(b)
		if err != nil {
			t.Error(err)
		}
	}()
	w, err := newWholeFile(path)
	require.NoError(t, err)
	require.NoError(t, w.write(hello))
	require.NoError(t, w.close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.ModeNamedPipe, info.Mode().Type())
	require.Equal(t, "hello", <-read)
}

func TestALinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "there"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, os.Symlink(path, link))
	w, err := newWholeFile(link)
	require.NoError(t, err)
	require.NoError(t, w.write(hello))
	require.NoError(t, w.close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
}
