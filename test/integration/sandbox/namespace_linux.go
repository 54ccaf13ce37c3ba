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

// inside is an environment variable that is set for the test binary in
// namespaces of its own. Whoever sets it to notWanted has the tests run without.
const (
	inside    = "LINCHPIN_TEST_NAMESPACES"
	notWanted = "none"
)

// whyOutside is why there are no namespaces, if there are none.
var whyOutside = "sandbox.Main was not called"

// Why is why there are no namespaces, "" if there are.
func Why() string { return whyOutside }

// Main runs the test binary in namespaces for mounts and network, and reports
// how it ended; done is false where the tests are to run right here.
func Main() (code int, done bool) {
	whyOutside = ""
	switch os.Getenv(inside) {
	case "":
	case notWanted:
		whyOutside = inside + " is " + notWanted
		return 0, false
	default:
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, "raising the loopback interface:", err)
			return 1, true
		}
		return 0, false
	}
	if os.Getuid() != 0 {
		whyOutside = "only root may make namespaces with disks and networks of their own"
		return 0, false
	}
	// A process group of its own: who interrupts this process is passed on once.
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	try := exec.Command("/bin/true")
	try.SysProcAttr = attr
	if err := try.Run(); err != nil {
		whyOutside = "no namespaces can be made here: " + err.Error()
		return 0, false
	}
	return runInside(attr), true
}

// runInside runs the test binary once more and gives its exit code.
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
			_ = cmd.Process.Signal(s) // it may have ended by itself
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

// raiseLoopback has the namespace's loopback interface work.
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

// Need skips a test that would change the machine for others.
func Need(t testing.TB) {
	t.Helper()
	if whyOutside != "" {
		t.Skip(whyOutside)
	}
}
