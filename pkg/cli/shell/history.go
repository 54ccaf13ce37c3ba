package shell

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// history is a file with the commands of earlier sessions, which nobody else may
// read: keys and values are in it.
type history struct{ path string }

// defaultHistory is where it is kept unless --history says otherwise; empty if there
// is no such place.
func defaultHistory() string {
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "linchpin", "history")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "linchpin", "history")
}

// secret are commands that are not to be kept: those with a flag that is named after
// what should stay one. Nor are those that begin with a space.
var secret = regexp.MustCompile(`(?i)--[a-z-]*(password|secret|token|credential)`)

func kept(command string) bool {
	return command != "" && !strings.HasPrefix(command, " ") && !secret.MatchString(command) && !strings.Contains(command, "\n")
}

func (h history) load(into func(io.Reader) (int, error)) error {
	if h.path == "" {
		return nil
	}
	f, err := os.Open(h.path)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	_, err = into(f)
	return err
}

// save writes the whole history anew, so that a crash leaves the old or the new one.
func (h history) save(from func(io.Writer) (int, error)) error {
	if h.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(h.path), ".history-") // of mode 0600
	if err != nil {
		return err
	}
	if _, err = from(f); err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), h.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
