package proc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Patience bounds every wait for something that is expected to happen soon.
// It is far longer than that, since machines are busy.
const Patience = 30 * time.Second

// Node is a `linchpin start` with its directory, running or not. It is for
// one goroutine.
type Node struct {
	// Dir is the store's directory, Listen and HTTP are where it listens, and
	// Addr is where others call it.
	Dir, Listen, HTTP, Addr string
	// Args are the arguments of `linchpin start`.
	Args   []string
	Output *Output
	// UID, unless 0, is the user to run as; for root only.
	UID uint32
	// MaxFiles, unless 0, is how many files the process may have open.
	MaxFiles int
	// Program, unless empty, is run instead of linchpin, with the same arguments.
	Program string
	name    string
	bin     string
	proc    *process
	// died are the ends, in words, of processes that nobody ended.
	died []string
}

// process is one run of a program.
type process struct {
	cmd *exec.Cmd
	// done is closed when it has ended and err is set.
	done chan struct{}
	err  error
	// asked: it was made to end, or is expected to end by itself.
	asked bool
}

// NewNode prepares a node; it ends with the test at the latest.
func NewNode(t testing.TB, name, dir string, args ...string) *Node {
	t.Helper()
	n := &Node{Dir: dir, Args: append([]string{"start", "--store", dir}, args...), Output: &Output{}, name: name, bin: Build(t).Linchpin}
	t.Cleanup(func() { n.end(t) })
	return n
}

// end ends the node, and fails a test of which a process ended that nobody had
// ended, whether or not it was started again.
func (n *Node) end(t testing.TB) {
	t.Helper()
	n.Kill()
	for _, d := range n.died {
		t.Errorf("%s ended by itself, with %s", n.name, d)
	}
	n.Output.check(t, n.name)
}

// look notes it if the process has ended, and nobody ended it. From now on
// somebody has.
func (n *Node) look() {
	if !n.proc.asked && !n.Running() {
		n.died = append(n.died, fmt.Sprintf("exit code %d", exitCode(n.proc.err)))
	}
	n.proc.asked = true
}

// MayEnd tells that something is done to the process of which it may end by
// itself.
func (n *Node) MayEnd() { n.look() }

func start(bin string, args []string, uid uint32, out *Output) (*process, error) {
	p := &process{cmd: command(context.Background(), "", bin, args...), done: make(chan struct{})}
	if uid != 0 {
		if p.cmd.SysProcAttr == nil {
			p.cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
	}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// Launch starts the process and does not wait for anything.
func (n *Node) Launch(t testing.TB) {
	t.Helper()
	if n.Running() {
		t.Fatalf("%s runs already", n.name)
	}
	if n.proc != nil {
		n.look()
	}
	if err := watchMachine(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(n.Output, "---- %s %v\n", n.name, n.Args)
	bin, args := n.bin, n.Args
	if n.Program != "" {
		bin = n.Program
	}
	if n.MaxFiles != 0 {
		bin, args = "/bin/sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, n.MaxFiles), bin}, args...)
	}
	p, err := start(bin, args, n.UID, n.Output)
	if err != nil {
		t.Fatal(err)
	}
	n.proc = p
}

// Serving waits until the node that was launched says that it serves.
func (n *Node) Serving(t testing.TB) {
	t.Helper()
	n.Says(t, serves)
}

// Opened waits until the node that was launched has opened its store and calls
// the other members.
func (n *Node) Opened(t testing.TB) {
	t.Helper()
	n.Says(t, "waiting for the initial members")
}

// ServesOrEnds waits until the node that was launched either serves, which it
// reports, or has ended.
func (n *Node) ServesOrEnds(t testing.TB) bool {
	t.Helper()
	n.proc.asked = true
	return n.await(t, serves) == nil
}

// serves is in what a node says when it serves.
const serves = " serves at "

// await waits until the node that was launched has written part. Its error is that
// the node has ended first.
func (n *Node) await(t testing.TB, part string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	err := n.Output.Await(ctx, n.begun(), part, n.proc.done)
	if err != nil && ctx.Err() != nil {
		n.fatal(t, err)
	}
	return err
}

// fatal ends the test with the end of what the node has written.
func (n *Node) fatal(t testing.TB, err error) {
	t.Helper()
	t.Fatalf("%s: %v\n%s", n.name, err, tail(n.Output.String(), 4000))
}

// begun is where the output of the current run begins.
func (n *Node) begun() int {
	text := n.Output.String()
	mark := "---- " + n.name + " "
	for i := len(text) - len(mark); i >= 0; i-- {
		if text[i:i+len(mark)] == mark {
			return i
		}
	}
	return 0
}

// Start launches the node and waits until it serves.
func (n *Node) Start(t testing.TB) {
	t.Helper()
	n.Launch(t)
	n.Serving(t)
}

// Running reports whether the process lives.
func (n *Node) Running() bool {
	if n.proc == nil {
		return false
	}
	select {
	case <-n.proc.done:
		return false
	default:
		return true
	}
}

// PID is the process's id, 0 if there is none.
func (n *Node) PID() int {
	if n.proc == nil {
		return 0
	}
	return n.proc.cmd.Process.Pid
}

// Kill ends the process as kill -9 does, and waits until it is gone.
func (n *Node) Kill() {
	if n.proc == nil {
		return
	}
	n.look()
	_ = n.proc.cmd.Process.Kill() // it may have ended
	<-n.proc.done
}

// Stop asks the process to end (SIGTERM) and returns its exit code.
func (n *Node) Stop(t testing.TB) int {
	t.Helper()
	n.Terminate(t)
	return n.Wait(t)
}

// Terminate asks the process to end (SIGTERM) and does not wait.
func (n *Node) Terminate(t testing.TB) {
	t.Helper()
	n.look()
	if err := n.proc.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("%s: %v", n.name, err)
	}
}

// Says waits until the node has written something in its current run.
func (n *Node) Says(t testing.TB, text string) {
	t.Helper()
	if err := n.await(t, text); err != nil {
		n.fatal(t, err)
	}
}

// Said reports whether the node has written something in its current run, as far
// as that was not taken away (Output.Take).
func (n *Node) Said(text string) bool { return strings.Contains(n.Output.String()[n.begun():], text) }

// Freeze has the kernel stop the process where it is, and returns when it has; Thaw has
// it go on.
func (n *Node) Freeze() error {
	err := n.proc.cmd.Process.Signal(syscall.SIGSTOP)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); err == nil && !stopped(n.proc.cmd.Process.Pid); <-tick.C {
		if time.Since(begin) > Patience {
			err = fmt.Errorf("%s was told to stop %v ago, and has not", n.name, Patience)
		}
	}
	return err
}

// Thaw ends a Freeze.
func (n *Node) Thaw() error { return n.proc.cmd.Process.Signal(syscall.SIGCONT) }

// Wait returns the exit code of a process that is expected to end by itself.
func (n *Node) Wait(t testing.TB) int {
	t.Helper()
	n.proc.asked = true
	select {
	case <-n.proc.done:
	case <-time.After(Patience):
		t.Fatalf("%s does not end\n%s", n.name, tail(n.Output.String(), 4000))
	}
	return exitCode(n.proc.err)
}

// Fails launches a node that cannot start, and gives its exit code and what it
// wrote.
func (n *Node) Fails(t testing.TB) (code int, said string) {
	t.Helper()
	n.Launch(t)
	code = n.Wait(t)
	return code, n.Output.String()[n.begun():]
}

func exitCode(err error) int {
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode()
	}
	return -2
}
