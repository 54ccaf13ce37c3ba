package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestResultsDependOnSources: the test log, from which the go command learns the dependencies of a cached
// result, lists the sources of the programs.
func TestResultsDependOnSources(t *testing.T) {
	const inner = "LINCHPIN_TEST_DEPENDS"
	if os.Getenv(inner) != "" {
		require.NoError(t, registerSources(repository()))
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.testlogfile="+log)
	cmd.Env = append(os.Environ(), inner+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	testLog, err := os.ReadFile(log)
	require.NoError(t, err)
	for _, path := range []string{"go.sum", "cmd/linchpin/main.go", "cmd/zetaload/main.go", "pkg/program/checktypes.go",
		"pkg/shard/exec/run.go"} {
		require.FileExists(t, filepath.Join(repository(), path))
		require.Contains(t, string(testLog), "stat "+filepath.Join(repository(), path)+"\n")
	}
	require.Contains(t, string(testLog), "open "+filepath.Join(repository(), "pkg/shard")+"\n",
		"directories, for new files")
}
