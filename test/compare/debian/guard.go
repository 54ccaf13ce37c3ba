package debian

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// policyPath is the program that Debian's packages ask whether they may start
// their services.
const policyPath = "/usr/sbin/policy-rc.d"

// refusal is what that program ends with if they must not.
const refusal = 101

// policy refuses everything.
const policy = `#!/bin/sh
# Put here while linchpin's comparison installs packages, so that none of their
# services is started. Remove it if you find it after that.
exit 101
`

// refuseServices sees to it that no service is started by the installation of a
// package, and gives what restores things as they were.
func refuseServices(path string) (restore func() error, err error) {
	if refuses(path) {
		return func() error { return nil }, nil
	}
	aside := ""
	if _, err := os.Lstat(path); err == nil {
		aside, err = moveAside(path)
		if err != nil {
			return nil, err
		}
	}
	restore = func() error {
		if aside != "" {
			return os.Rename(aside, path) // instead of ours
		}
		return os.Remove(path)
	}
	if err := writeProgram(path); err != nil {
		if aside != "" {
			err = errors.Join(err, os.Rename(aside, path))
		}
		return nil, err
	}
	return restore, nil
}

// refuses reports whether the policy that is there starts no service anyway.
func refuses(path string) bool {
	var end *exec.ExitError
	err := exec.Command(path, "redis-server", "start").Run()
	return errors.As(err, &end) && end.ExitCode() == refusal
}

// moveAside renames a file to one beside it that did not exist.
func moveAside(path string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".before-linchpin-")
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(f.Close(), os.Rename(path, f.Name()))
}

// writeProgram writes the policy, all of it or nothing.
func writeProgram(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	_, err = f.WriteString(policy)
	err = errors.Join(err, f.Chmod(0o755), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
