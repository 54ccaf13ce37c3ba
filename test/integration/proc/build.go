package proc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Binaries are the paths of the programs.
type Binaries struct{ Linchpin, Zetaload string }

var built struct {
	sync.Mutex
	dir string
	bin Binaries
	err error
}

// Build builds the programs on its first call, and returns their paths.
func Build(t testing.TB) Binaries {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" && built.err == nil {
		built.bin, built.err = build()
	}
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.bin
}

func build() (Binaries, error) {
	dir, err := os.MkdirTemp("", "linchpin-integration-")
	if err != nil {
		return Binaries{}, err
	}
	built.dir = dir
	if err := registerSources(repository()); err != nil {
		return Binaries{}, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // executable by Node.UID
		return Binaries{}, err
	}
	cmd := command(context.Background(), repository(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o",
		dir+string(filepath.Separator), "./cmd/linchpin", "./cmd/zetaload")
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0") // as deploy/docker has them
	if out, err := cmd.CombinedOutput(); err != nil {
		return Binaries{}, fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return Binaries{filepath.Join(dir, "linchpin"), filepath.Join(dir, "zetaload")}, nil
}

// sources are the files and directories that the programs are built from.
var sources = []string{"go.mod", "go.sum", "cmd", "deploy", "pkg"}

// registerSources makes the cached result of a test depend on the sources of the programs.
//
// The go command reruns a cached test if an imported package has changed, or a file that the test process
// has opened or stat'ed. A test that runs the programs imports few of their packages, and the compiler that
// it starts is another process. So this function stats every source file.
func registerSources(root string) error {
	for _, s := range sources {
		if err := filepath.WalkDir(filepath.Join(root, s), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				_, err = os.Stat(path)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// Main runs the tests of a package, removes what Build has built, and returns the exit code. TestMain calls
// it.
func Main(m *testing.M) int {
	code := m.Run()
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		if err := os.RemoveAll(built.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	return code
}

// repository returns the directory of go.mod.
func repository() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// Command prepares a program from outside the repository. On Linux the program ends with the test binary.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return command(ctx, "", name, args...)
}

// command prepares a program without the environment variables of the test run that would change its
// behavior.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOCOVERDIR=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.SysProcAttr = killWithParent()
	return cmd
}
