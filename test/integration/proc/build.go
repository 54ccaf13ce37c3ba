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

// Build builds the programs, the first time it is called.
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
	if err := depend(repository()); err != nil {
		return Binaries{}, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // so that Node.UID can run it
		return Binaries{}, err
	}
	out, err := command(context.Background(), repository(), "go", "build", "-buildvcs=false", "-o", dir+string(filepath.Separator),
		"./cmd/linchpin", "./cmd/zetaload").CombinedOutput()
	if err != nil {
		return Binaries{}, fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return Binaries{filepath.Join(dir, "linchpin"), filepath.Join(dir, "zetaload")}, nil
}

// sources are what the programs are made of.
var sources = []string{"go.mod", "go.sum", "cmd", "deploy", "pkg"}

// depend has the go command know that what a test finds out depends on the sources.
// It remembers the results of tests, and runs one again if a package has changed that
// it imports, or a file that its process has looked at. A test that runs programs
// imports little of them; and the compiler that it runs is another process.
func depend(root string) error {
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

// Main runs a package's tests and removes what Build has built. A TestMain
// calls it and ends with its result.
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

// repository is the directory of go.mod.
func repository() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// Command prepares a program of somebody else's, which ends when the test binary
// does, whatever becomes of that.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return command(ctx, "", name, args...)
}

// command is an exec.Cmd without the settings of the test run that would
// change what a child does.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOCOVERDIR=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.SysProcAttr = dieWithParent()
	return cmd
}
