// Package child runs servers as child processes. Each is ended by its own id,
// cleanly if it can be; on Linux the kernel ends it should this program die
// first. What it writes goes to a file, and is shown if it fails. It is for Unix.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// waitTimeout bounds every wait for something that is expected to happen soon.
const waitTimeout = 30 * time.Second

// ErrEnded says that a server ended before it served: for one, because another
// process took its port after it had been found free.
var ErrEnded = errors.New("ended before it served")

// Spec says what is run.
type Spec struct {
	Path string
	Args []string
	// Dir is where it runs, and where its output goes.
	Dir string
	// User is who it runs as, nil for who we are.
	User *User
	// Quit asks it to end cleanly, SIGTERM if it is 0. Kill has it end at once,
	// its own children included, SIGKILL if it is 0.
	Quit, Kill syscall.Signal
}

// name is what messages call it.
func (s *Spec) name() string { return filepath.Base(s.Path) }

// command makes the command, without the settings of our own environment.
func (s *Spec) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Path, s.Args...)
	cmd.Dir = s.Dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Dir, "LC_ALL=C"}
	cmd.WaitDelay = waitTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a ^C is for us: we end our children
	dieWithParent(cmd.SysProcAttr, s.Kill)
	if s.User != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: s.User.UID, Gid: s.User.GID}
	}
	return cmd
}

// Run runs a program that ends by itself, soon, and gives what it said.
func Run(ctx context.Context, s Spec) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*waitTimeout)
	defer cancel()
	out, err := s.command(ctx).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", s.name(), err, out)
	}
	return string(out), err
}

// Process is a server.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	log  string
	// done is closed when it has ended and err is set.
	done chan struct{}
	err  error
}

// Start starts a server; the caller must call Stop.
func Start(s Spec) (*Process, error) {
	if s.Quit == 0 {
		s.Quit = syscall.SIGTERM
	}
	if s.Kill == 0 {
		s.Kill = syscall.SIGKILL
	}
	p := &Process{spec: s, log: filepath.Join(s.Dir, "output"), done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	// It outlives an interrupted context: Stop ends it cleanly.
	p.cmd = p.spec.command(context.Background())
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

// Ready returns when probe succeeds, which is tried again and again.
func (p *Process) Ready(ctx context.Context, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s %w: %w\n%s", p.spec.name(), ErrEnded, p.err, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve: %w\n%s", p.spec.name(), err, p.tail())
		case <-tick.C:
		}
	}
}

// Stop ends the server, by force if it does not end when it is asked to. That a
// server had ended before, or had to be forced, is an error.
func (p *Process) Stop() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended by itself: %w\n%s", p.spec.name(), p.err, p.tail())
	default:
	}
	for _, s := range []syscall.Signal{p.spec.Quit, p.spec.Kill, syscall.SIGKILL} {
		if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		if p.ended(waitTimeout / 3) {
			if s != p.spec.Quit {
				return fmt.Errorf("%s did not end when asked to, and was ended by %v\n%s", p.spec.name(), s, p.tail())
			}
			return nil // exit codes after a signal are a matter of taste
		}
	}
	return fmt.Errorf("%s, process %d, does not end", p.spec.name(), p.cmd.Process.Pid)
}

func (p *Process) ended(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// PID is the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// tail is the end of what the server wrote.
func (p *Process) tail() string {
	const most = 4000
	f, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if at, err := f.Seek(-most, io.SeekEnd); err != nil || at < 0 {
		_, _ = f.Seek(0, io.SeekStart) // it is shorter than that
	}
	text, _ := io.ReadAll(f)
	return string(text)
}
