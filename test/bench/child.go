package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// child is a server in a process of its own. It ends when its input does, so
// none outlives this program.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	addr  string
}

// self starts this program again in a role, and waits until it serves.
func self(ctx context.Context, args ...string) (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, exe, args...)}
	c.cmd.Stderr = os.Stderr
	c.stdin, err = c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ok {
		_ = c.stop()
		return nil, fmt.Errorf("%v did not become ready: %q %v", args, line, err)
	}
	c.addr = addr
	return c, nil
}

// ready reports to the parent where this child serves, and waits for the end.
func ready(addr string) { _ = readyFor(addr, func(string) error { return nil }) }

// readyFor reports to the parent where this child serves, and executes the lines that it sends until the end.
func readyFor(addr string, execute func(line string) error) error {
	fmt.Println("ready", addr)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := execute(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// send has the child execute a line.
func (c *child) send(line string) error {
	_, err := fmt.Fprintln(c.stdin, line)
	return err
}

func (c *child) stop() error {
	_ = c.stdin.Close()
	return c.cmd.Wait()
}

// clockTicks is USER_HZ, which Linux fixes for its interfaces.
const clockTicks = 100

// cpu is the processor time that the process has used, and those that it has started.
func (c *child) cpu() time.Duration {
	pid := strconv.Itoa(c.cmd.Process.Pid)
	sum := cpuOf(pid)
	tasks, _ := filepath.Glob("/proc/" + pid + "/task/*/children") // any thread may have started it
	for _, t := range tasks {
		started, _ := os.ReadFile(t)
		for _, other := range strings.Fields(string(started)) {
			sum += cpuOf(other)
		}
	}
	return sum
}

// cpuOf reads /proc; of a process that is not there, it is 0.
func cpuOf(pid string) time.Duration {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	// The second field is a name in parentheses, perhaps with spaces.
	rest := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, _ := strconv.ParseInt(rest[11], 10, 64)
	system, _ := strconv.ParseInt(rest[12], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks
}

// freeAddr finds a free port of the loopback.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
