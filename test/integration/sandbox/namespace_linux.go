package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside is an environment variable that is set for the test binary in its namespaces. If the user sets it
// to disabled, the tests run without namespaces.
const (
	inside   = "LINCHPIN_TEST_NAMESPACES"
	disabled = "none"
)

// whyOutside is the reason for which there are no namespaces, "" if there are.
var whyOutside = "sandbox.Main was not called"

// Why returns the reason for which there are no namespaces, "" if there are.
func Why() string { return whyOutside }

// Main runs the test binary again in namespaces for mounts and network, and returns its exit code. If done
// is false, the caller runs the tests itself.
func Main() (code int, done bool) {
	whyOutside = ""
	switch os.Getenv(inside) {
	case "":
	case disabled:
		whyOutside = inside + " is " + disabled
		return 0, false
	default:
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, "raising the loopback interface:", err)
			return 1, true
		}
		return 0, false
	}
	if os.Getuid() != 0 {
		whyOutside = "namespaces for mounts and network need root"
		return 0, false
	}
	// With its own process group, an interrupt of the terminal reaches it only once, through this process.
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL,
		Setpgid: true}
	try := exec.Command("/bin/true")
	try.SysProcAttr = attr
	if err := try.Run(); err != nil {
		whyOutside = "cannot create namespaces: " + err.Error()
		return 0, false
	}
	return runInside(attr), true
}

// runInside runs the test binary again and returns its exit code.
func runInside(attr *syscall.SysProcAttr) int {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdin, os.Stdout, os.Stderr, attr
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended
		case err := <-ended:
			var exit *exec.ExitError
			switch {
			case errors.As(err, &exit):
				return max(exit.ExitCode(), 1)
			case err != nil:
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return 0
		}
	}
}

// raiseLoopback brings up the loopback interface of the namespace.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// Need skips a test that needs namespaces if there are none.
func Need(t testing.TB) {
	t.Helper()
	if whyOutside != "" {
		t.Skip(whyOutside)
	}
}
