package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABackupIsMadeVerifiedAndRestored(t *testing.T) {
	n := start(t)
	n.run(t, "put", "greeting", "hello").ok(t)
	n.run(t, "incr", "visits", "3").ok(t)
	n.run(t, "sadd", "tags", "a", "b").ok(t)
	file := filepath.Join(t.TempDir(), "file")
	made := objects(t, n.run(t, "backup", "create", file, "-o", "json").ok(t))[0]
	require.EqualValues(t, 3, made["keys"])
	require.Equal(t, made, objects(t, run(t, "", "backup", "verify", file, "-o", "json").ok(t))[0])
	require.Regexp(t, `^FILE +CLUSTER +SNAPSHOT +TIME +KEYS +BYTES\n`, run(t, "", "backup", "verify", file).ok(t))
	n.run(t, "backup", "create", file).fails(t, 2, "already exists")
	stream := n.run(t, "backup", "create", "-")
	require.Zero(t, stream.code, stream.errs)
	require.Regexp(t, `^FILE +CLUSTER`, stream.errs)
	require.NoError(t, os.WriteFile(file+"3", []byte(stream.out), 0o600))
	require.EqualValues(t, 3, objects(t, run(t, "", "backup", "verify", file+"3", "-o", "json").ok(t))[0]["keys"])
	n.run(t, "backup", "create", "-", "--continue").fails(t, 2, "--continue needs a file")
	n.run(t, "restore", file).fails(t, 2, "not empty: it has the key \"greeting\"")

	other := start(t)
	other.run(t, "restore", file, "--dry-run").ok(t)
	require.Empty(t, other.run(t, "scan", "-o", "json").ok(t))
	other.run(t, "restore", file).ok(t)
	require.Equal(t, "hello\n", other.run(t, "get", "greeting").ok(t))
	require.Equal(t, "3\n", other.run(t, "get", "visits").ok(t))
	require.Equal(t, "a\nb\n", other.run(t, "smembers", "tags").ok(t))
	other.run(t, "restore", file, "--continue").ok(t)

	require.NoError(t, os.WriteFile(file, []byte("something else"), 0o600))
	run(t, "", "backup", "verify", file).fails(t, 7, "damaged at byte 0")
	run(t, "", "backup", "verify", file, "-o", "xml").fails(t, 2, "--output")
	n.run(t, "backup", "create", file+"2", "--keep", "1s").fails(t, 2, "--keep")
}
