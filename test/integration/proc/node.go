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

// WaitTimeout bounds each wait for an event that normally takes milliseconds. It is long because test
// machines are busy.
const WaitTimeout = 30 * time.Second

// Node is a `linchpin start` process with its store directory, running or not. It is used by one goroutine.
type Node struct {
	// Dir is the store directory, Listen and HTTP are the addresses on which the node listens, and Addr is the
	// address that peers and clients use.
	Dir, Listen, HTTP, Addr string
	// Args are the arguments of linchpin.
	Args   []string
	Output *Output
	// UID, unless 0, is the user that runs the process. It needs root.
	UID uint32
	// MaxFiles, unless 0, is the limit of open files of the process.
	MaxFiles int
	// Program, unless empty, is run instead of linchpin, with the same arguments.
	Program string
	name    string
	bin     string
	proc    *process
	// unexpectedExits describe the processes of this node that exited unexpectedly.
	unexpectedExits []string
}

// process is one run of a program.
type process struct {
	cmd *exec.Cmd
	// done is closed when the process has ended and err is set.
	done chan struct{}
	err  error
	// exitExpected is set if the test has ended the process, or expects it to end.
	exitExpected bool
}

// NewNode prepares a node. Its process ends at the latest with the test.
func NewNode(t testing.TB, name, dir string, args ...string) *Node {
	t.Helper()
	n := &Node{Dir: dir, Args: append([]string{"start", "--store", dir}, args...), Output: &Output{}, name: name,
		bin: Build(t).Linchpin}
	t.Cleanup(func() { n.cleanUp(t) })
	return n
}

// cleanUp ends the process. It fails the test if one of the node's processes exited unexpectedly, restarted
// or not.
func (n *Node) cleanUp(t testing.TB) {
	t.Helper()
	n.Kill()
	for _, d := range n.unexpectedExits {
		t.Errorf("%s exited unexpectedly with %s", n.name, d)
	}
	n.Output.checkAndLog(t, n.name)
}

// recordExit records an unexpected exit, if there was one. A later exit of the process is expected.
func (n *Node) recordExit() {
	if !n.proc.exitExpected && !n.Running() {
		n.unexpectedExits = append(n.unexpectedExits, fmt.Sprintf("exit code %d", exitCode(n.proc.err)))
	}
	n.proc.exitExpected = true
}

// ExpectExit declares that the process may end by itself from now on.
func (n *Node) ExpectExit() { n.recordExit() }

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

// Launch starts the process and returns at once.
func (n *Node) Launch(t testing.TB) {
	t.Helper()
	if n.Running() {
		t.Fatalf("%s is already running", n.name)
	}
	if n.proc != nil {
		n.recordExit()
	}
	if err := startStallDetector(); err != nil {
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

// AwaitServing waits until a launched node serves.
func (n *Node) AwaitServing(t testing.TB) {
	t.Helper()
	n.AwaitOutput(t, servingText)
}

// AwaitStoreOpen waits until a launched node has opened its store and connects to the other members.
func (n *Node) AwaitStoreOpen(t testing.TB) {
	t.Helper()
	n.AwaitOutput(t, "waiting for the initial members")
}

// AwaitServingOrExit waits until a launched node serves or has ended. It reports whether the node serves.
func (n *Node) AwaitServingOrExit(t testing.TB) bool {
	t.Helper()
	n.proc.exitExpected = true
	return n.await(t, servingText) == nil
}

// servingText is part of the line that a node writes when it serves.
const servingText = " serves at "

// await waits until the current run has written part. The error means that the process has ended before.
func (n *Node) await(t testing.TB, part string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitTimeout)
	defer cancel()
	err := n.Output.Await(ctx, n.outputStart(), part, n.proc.done)
	if err != nil && ctx.Err() != nil {
		n.fatal(t, err)
	}
	return err
}

// fatal fails the test and shows the end of the output of the node.
func (n *Node) fatal(t testing.TB, err error) {
	t.Helper()
	t.Fatalf("%s: %v\n%s", n.name, err, tail(n.Output.String(), 4000))
}

// outputStart returns the offset in the output at which the current run begins.
func (n *Node) outputStart() int {
	text := n.Output.String()
	header := "---- " + n.name + " "
	for i := len(text) - len(header); i >= 0; i-- {
		if text[i:i+len(header)] == header {
			return i
		}
	}
	return 0
}

// Start launches the node and waits until it serves.
func (n *Node) Start(t testing.TB) {
	t.Helper()
	n.Launch(t)
	n.AwaitServing(t)
}

// Running reports whether the process is running.
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

// PID returns the id of the process, 0 if it was never launched.
func (n *Node) PID() int {
	if n.proc == nil {
		return 0
	}
	return n.proc.cmd.Process.Pid
}

// Kill ends the process with SIGKILL and waits until it has ended.
func (n *Node) Kill() {
	if n.proc == nil {
		return
	}
	n.recordExit()
	_ = n.proc.cmd.Process.Kill() // it may have ended
	<-n.proc.done
}

// Stop sends SIGTERM to the process, waits until it has ended, and returns its exit code.
func (n *Node) Stop(t testing.TB) int {
	t.Helper()
	n.Terminate(t)
	return n.Wait(t)
}

// Terminate sends SIGTERM to the process and returns at once.
func (n *Node) Terminate(t testing.TB) {
	t.Helper()
	n.recordExit()
	if err := n.proc.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("%s: %v", n.name, err)
	}
}

// AwaitOutput waits until the node has written a text in its current run.
func (n *Node) AwaitOutput(t testing.TB, text string) {
	t.Helper()
	if err := n.await(t, text); err != nil {
		n.fatal(t, err)
	}
}

// HasWritten reports whether the node has written a text in its current run. Output that was taken
// (Output.Take) does not count.
func (n *Node) HasWritten(text string) bool {
	return strings.Contains(n.Output.String()[n.outputStart():], text)
}

// Freeze stops the process with SIGSTOP and returns when it is stopped. Thaw resumes it.
func (n *Node) Freeze() error {
	err := n.proc.cmd.Process.Signal(syscall.SIGSTOP)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); err == nil && !isStopped(n.proc.cmd.Process.Pid); <-tick.C {
		if time.Since(begin) > WaitTimeout {
			err = fmt.Errorf("%s: not stopped %v after SIGSTOP", n.name, WaitTimeout)
		}
	}
	return err
}

// Thaw resumes the process after a Freeze.
func (n *Node) Thaw() error { return n.proc.cmd.Process.Signal(syscall.SIGCONT) }

// Wait waits until a process that is expected to end has ended, and returns its exit code.
func (n *Node) Wait(t testing.TB) int {
	t.Helper()
	n.proc.exitExpected = true
	select {
	case <-n.proc.done:
	case <-time.After(WaitTimeout):
		t.Fatalf("%s does not exit\n%s", n.name, tail(n.Output.String(), 4000))
	}
	return exitCode(n.proc.err)
}

// RequireStartFails launches a node that cannot start, and returns its exit code and its output.
func (n *Node) RequireStartFails(t testing.TB) (code int, output string) {
	t.Helper()
	n.Launch(t)
	code = n.Wait(t)
	return code, n.Output.String()[n.outputStart():]
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
