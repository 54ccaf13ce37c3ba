//go:build unix

package shell

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// terminal is one with a shell on it, as a user has it: a process of its own.
type terminal struct {
	*testing.T
	file *os.File
	cmd  *exec.Cmd

	mu   sync.Mutex
	more sync.Cond
	all  string
	over bool
	// read is how much of it has been asked for.
	read int
}

func openTerminal(t *testing.T, addr, history string) *terminal {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LINCHPIN_TEST_SHELL="+addr, "LINCHPIN_TEST_HISTORY="+history, "TERM=xterm")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	require.NoError(t, err)
	x := &terminal{T: t, file: f, cmd: cmd}
	x.more.L = &x.mu
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := f.Read(buf)
			x.mu.Lock()
			x.all += string(buf[:n])
			x.over = err != nil
			x.more.Broadcast()
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	// A shell that hangs is ended, and the test fails.
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = f.Close()
		<-done
	})
	return x
}

// says waits for a text behind all that was waited for before.
func (x *terminal) says(text string) {
	x.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for {
		if at := strings.Index(x.all[x.read:], text); at >= 0 {
			x.read += at + len(text)
			return
		}
		if x.over {
			x.Fatalf("it has ended, and has not said %q, but %q", text, x.all)
		}
		x.more.Wait()
	}
}

// prompts waits until the shell reads a line. It shows its prompt a moment before it
// takes keys one by one, and another one before ctrl-C is a key; until then that and
// ctrl-D are the terminal's, which throws away what was typed before.
func (x *terminal) prompts(prompt string) {
	x.Helper()
	x.says(prompt)
	require.Eventually(x, func() bool {
		stty := exec.Command("stty", "-a")
		stty.Stdin = x.file
		modes, err := stty.Output()
		return err == nil && strings.Contains(string(modes), "-icanon") && strings.Contains(string(modes), "-isig")
	}, 30*time.Second, time.Millisecond, "the terminal still gathers lines")
}

func (x *terminal) types(text string) {
	x.Helper()
	_, err := x.file.WriteString(text)
	require.NoError(x, err)
}

// ends waits for the end of the process.
func (x *terminal) ends() {
	x.Helper()
	require.NoError(x, x.cmd.Wait())
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
	up    = "\x1b[A"
)

func TestOnATerminal(t *testing.T) {
	addr, file := serve(t), filepath.Join(t.TempDir(), "history")
	x := openTerminal(t, addr, file)
	x.prompts("linchpin> ")
	x.types("put fruit:apple red\r")
	x.says("version ")
	x.prompts("linchpin> ")
	x.types("get fru\t")
	x.says("get fruit:apple")
	x.types("\r")
	x.says("red")
	x.prompts("linchpin> ")
	x.types("half a line" + ctrlC)
	x.prompts("linchpin> ")
	x.types("begin\r")
	x.prompts("linchpin(txn)> ")
	x.types("put fruit:apple green\r")
	x.says("done")
	x.prompts("linchpin(txn)> ")
	x.types("put fruit:apple \\\r")
	x.prompts("...> ")
	x.types("ripe\r")
	x.says("done")
	x.prompts("linchpin(txn)> ")
	x.types("put\r")
	x.says("The transaction is still open.")
	x.prompts("linchpin(txn)> ")
	x.types("commit\r")
	x.says("committed ")
	x.prompts("linchpin> ")
	x.types(" put hidden 1\r")
	x.says("version ")
	x.prompts("linchpin> ")
	x.types(ctrlD)
	x.ends()

	saved, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "put fruit:apple red\nget fruit:apple\nbegin\nput fruit:apple green\nput fruit:apple ripe\nput\n"+
		"commit\n", string(saved))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	x = openTerminal(t, addr, file)
	x.prompts("linchpin> ")
	x.types(up + up + up + up + up + up + "\r") // the sixth from the end
	x.says("get fruit:apple")
	x.says("ripe")
	x.prompts("linchpin> ")
	x.types("begin\r")
	x.prompts("linchpin(txn)> ")
	x.types(ctrlD)
	x.says("The open transaction is rolled back")
	x.ends()
}

// TestAnInterruptEndsTheCommandAndNotTheShell: what is interrupted watches for ever.
func TestAnInterruptEndsTheCommandAndNotTheShell(t *testing.T) {
	x := openTerminal(t, serve(t), "")
	x.prompts("linchpin> ")
	x.types("hot --watch\r")
	x.says("mode: auto")
	x.types(ctrlC)
	x.prompts("linchpin> ")
	x.types("put a 1\r")
	x.says("version ")
	x.prompts("linchpin> ")
	x.types(ctrlD)
	x.ends()
}

// TestASignalEndsTheShellAtItsPrompt: also while a transaction is open, and the history
// is kept.
func TestASignalEndsTheShellAtItsPrompt(t *testing.T) {
	addr := serve(t)
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		file := filepath.Join(t.TempDir(), "history")
		x := openTerminal(t, addr, file)
		x.prompts("linchpin> ")
		x.types("begin\r")
		x.prompts("linchpin(txn)> ")
		require.NoError(t, x.cmd.Process.Signal(s))
		x.says("The open transaction is rolled back")
		x.ends()
		saved, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "begin\n", string(saved))
	}
}

// TestWhatIsNoFileIsNotReplacedByTheHistory: root can replace /dev/null.
func TestWhatIsNoFileIsNotReplacedByTheHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	require.NoError(t, history{path}.save(func(w io.Writer) (int, error) { return io.WriteString(w, "get a\n") }))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, os.ModeNamedPipe, info.Mode().Type())
	require.NoError(t, history{path}.load(func(io.Reader) (int, error) { return 0, errors.New("it has been read") }))
}
