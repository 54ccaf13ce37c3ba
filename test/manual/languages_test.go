package manual

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// unreachable is what pip and npm say when they get no answer from where packages are.
var unreachable = regexp.MustCompile(`(?i)temporary failure|max retries|connection (refused|reset|broken)|` +
	`connecttimeout|ENOTFOUND|` +
	`ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|network is unreachable|failed to establish`)

// TestOtherLanguages: clients in Python and TypeScript, generated from the public .proto by
// protoc and by buf, do what the page about them says.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	const page = "docs/languages.md"
	for _, name := range []string{"python3", "node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s here, and .ci/needs could not install it", name)
		}
	}
	s := StartShell(t, built(t), FreePorts(t))
	// Installing takes its time.
	s.StepTimeout = 5 * time.Minute
	for _, dir := range []string{"proto", "examples/python", "examples/typescript"} {
		copySources(t, dir, s.Dir)
	}
	for _, b := range read(t, page) {
		for _, c := range b.Commands {
			if !strings.Contains(c.Text, "pip install") && !strings.Contains(c.Text, "npm ci") {
				s.Run(t, page, c)
				continue
			}
			out, code := s.Do(t, strings.ReplaceAll(c.Text, "npm ci --silent", "npm ci"))
			if code != 0 && unreachable.MatchString(out) {
				t.Skipf("no packages can be fetched here: %s\n%s", c.Text, out)
			}
			require.Zero(t, code, "%s:%d: %s\n%s", page, c.Line, c.Text, out)
		}
	}
	s.Ended(t)
}

// made are directories that the page's lines make, as a checkout may have.
var made = map[string]bool{
	"examples/python/venv": true, "examples/python/linchpin": true, "examples/python/__pycache__": true,
	"examples/typescript/node_modules": true, "examples/typescript/gen": true, "examples/typescript/out": true,
}

// copySources copies a directory of the module, but for what is made there.
func copySources(t *testing.T, dir, to string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(root), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case made[name]:
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		raw, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), raw, 0o644)
	}))
}
