// Package debian finds the programs of the stores that linchpin is compared
// with, and installs Debian's packages of them without starting their services.
package debian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/mod/semver"
)

// Program is a program that a package has.
type Program struct {
	Name    string
	Package string
	// Dirs are patterns of directories that are looked in before PATH; of those
	// that match, the highest version's goes first.
	Dirs []string
}

// Find gives the path of a program, false if it is not there.
func (p Program) Find() (string, bool) {
	for _, pattern := range p.Dirs {
		found, err := filepath.Glob(filepath.Join(pattern, p.Name))
		if err != nil {
			continue // no such pattern is written in this module
		}
		slices.SortFunc(found, func(a, b string) int { return semver.Compare(version(b), version(a)) })
		if len(found) > 0 {
			return found[0], true
		}
	}
	path, err := exec.LookPath(p.Name)
	return path, err == nil
}

// version is that of /usr/lib/postgresql/15/bin/postgres, as semver has it.
func version(path string) string {
	return "v" + filepath.Base(filepath.Dir(filepath.Dir(path)))
}

// Advice says what to do about a program that is not there.
func (p Program) Advice() string {
	return fmt.Sprintf("there is no program %q here; install it, on Debian as root with: apt-get install %s", p.Name,
		p.Package)
}

// installing bounds one call of apt-get.
const installing = 5 * time.Minute

// Install installs packages, with the packages that they need and no others,
// and reports on w what it does. Their services are not started. One that is
// unavailable does not prevent the others.
func Install(ctx context.Context, w io.Writer, packages []string) (err error) {
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return errors.New("this is no Debian: there is no apt-get")
	}
	if os.Geteuid() != 0 {
		return errors.New("packages can be installed by root only")
	}
	restore, err := refuseServices(policyPath)
	if err != nil {
		return fmt.Errorf("no package is installed, since its services could not be kept from starting: %w", err)
	}
	defer func() { err = errors.Join(err, restore()) }()
	fmt.Fprintf(w, "Installing %v with apt-get; their services are not started now, but may be when the machine starts.\n",
		packages)
	return installAll(packages, func(args ...string) error { return aptGet(ctx, apt, args...) })
}

// installAll installs packages one by one. The lists of what there is may be
// missing or old: they are brought up to date once something was not found.
func installAll(packages []string, apt func(...string) error) error {
	var errs []error
	updated := false
	for _, p := range packages {
		install := func() error { return apt("install", "--yes", "--no-install-recommends", p) }
		err := install()
		if err != nil && !updated {
			updated = true
			err = apt("update")
			if err == nil {
				err = install()
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func aptGet(ctx context.Context, apt string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, installing)
	defer cancel()
	cmd := exec.CommandContext(ctx, apt, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	// dpkg must not be torn from its work: it is asked to end, and waited for.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %v: %w\n%s", args, err, out)
	}
	return nil
}
