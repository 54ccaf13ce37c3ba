package manual

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stepTimeout bounds one command, unless the shell has more.
const stepTimeout = time.Minute

// Shell is a bash that does what a page says.
type Shell struct {
	// Dir is where it begins.
	Dir string
	// StepTimeout bounds one command.
	StepTimeout time.Duration
	ports       Ports
	cmd         *exec.Cmd
	in          io.WriteCloser
	status      *bufio.Reader
	// own has files of the shell's that the page does not see.
	own string
	// out is where what runs now writes to. What it leaves running goes on there.
	out   string
	steps int
}

// StartShell starts a shell in an empty directory. The programs of the directory bin are
// found. It ends with the test, with all that was started in it. Ports are those of
// FreePorts, which shells may share.
func StartShell(t testing.TB, bin string, ports Ports) *Shell {
	t.Helper()
	s := &Shell{Dir: t.TempDir(), StepTimeout: stepTimeout, own: t.TempDir(), ports: ports}
	s.cmd = exec.Command("bash", "--norc", "--noprofile")
	s.cmd.Dir = s.Dir
	s.cmd.Env = s.environment(bin)
	// A group of its own, by which everything in it can be ended.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(filepath.Join(s.own, "log"))
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.ExtraFiles = log, log, []*os.File{write}
	s.in, err = s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	_ = log.Close()
	s.status = bufio.NewReader(read)
	t.Cleanup(func() {
		_ = s.in.Close()
		// Not by name, and not only the shell: its whole group.
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		_ = s.cmd.Wait()
		_ = read.Close()
	})
	// If this process ends before it can clean up, the shell's input does.
	s.send("trap 'kill $(jobs -p) 2>&-' EXIT")
	return s
}

// environment is that of a user who has set nothing for linchpin.
func (s *Shell) environment(bin string) (env []string) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "LINCHPIN_") && name != "GOCOVERDIR" &&
			name != "PATH" && name != "XDG_STATE_HOME" {
			env = append(env, v)
		}
	}
	return append(env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "XDG_STATE_HOME="+s.own,
		"TMPDIR="+s.own,
		"LINCHPIN_ADDR=127.0.0.1:"+s.ports["7070"], "LINCHPIN_FIRST_PORT="+s.ports["7001"])
}

func (s *Shell) send(line string) { _, _ = io.WriteString(s.in, line+"\n") }

var portName = regexp.MustCompile(`\b(70|71|91)\d\d\b`)

// Here is a text of a page with the ports that are used here.
func (s *Shell) Here(text string) string {
	return portName.ReplaceAllStringFunc(text, func(p string) string {
		if here := s.ports[p]; here != "" {
			return here
		}
		return p
	})
}

// Do runs a text, and gives its output and exit code.
func (s *Shell) Do(t testing.TB, text string) (out string, code int) {
	t.Helper()
	s.steps++
	file := filepath.Join(s.own, fmt.Sprintf("step-%d", s.steps))
	s.out = file + ".out"
	if err := os.WriteFile(file, []byte(s.Here(text)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Its input is that of the shell, as of lines that are pasted: a command that reads it
	// would take the next lines, and does not end here.
	s.send(fmt.Sprintf(". %s > %s 2>&1 3>&-; echo $? >&3", file, s.out))
	ended := make(chan int, 1)
	go func() {
		line, _ := s.status.ReadString('\n')
		code, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			code = -1 // the shell has ended
		}
		ended <- code
	}()
	select {
	case code = <-ended:
	case <-time.After(s.StepTimeout):
		t.Fatalf("does not end: %s\n%s", text, s.printed(t))
	}
	return s.printed(t), code
}

func (s *Shell) printed(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile(s.out)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// busy is what a load says of which transactions failed for no other reason than that some
// node was silent for seconds, or that there was not enough time: on a machine that had
// other things to do for as long as that, the load is made once more.
var busy = regexp.MustCompile(`(?m)transactions did not commit for other reasons than contention: ` +
	`(\d+ (Unavailable|DeadlineExceeded|OutcomeUnknown)(, )?)+(; node .*)?$`)

// Run runs a command of a page, and holds that it does what the page says.
func (s *Shell) Run(t testing.TB, page string, c Command) string {
	t.Helper()
	out, code := s.Do(t, c.Text)
	if code != 0 && !c.Fails() && busy.MatchString(out) {
		t.Logf("%s:%d: once more: %s\n%s", page, c.Line, c.Text, out)
		out, code = s.Do(t, c.Text)
	}
	if failed := code != 0; failed != c.Fails() {
		t.Fatalf("%s:%d: %s\nends with code %d:\n%s", page, c.Line, c.Text, code, out)
	}
	if c.Compared {
		if err := Same(s.Here(c.Want), out); err != nil {
			t.Errorf("%s:%d: %s\n%v", page, c.Line, c.Text, err)
		}
	}
	return out
}

// Ended holds that nothing runs any more that the page has started.
func (s *Shell) Ended(t testing.TB) {
	t.Helper()
	if out, _ := s.Do(t, "jobs -r"); out != "" {
		t.Errorf("the page leaves running:\n%s", out)
	}
}
