package shell

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
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
	path, ok := h.file()
	if !ok {
		return nil
	}
	all, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return err
	}
	// The editor reads up to the first line that it does not like, and what is behind
	// that would be gone with the next save.
	lines := slices.DeleteFunc(strings.SplitAfter(string(all), "\n"), func(l string) bool { return len(l) > maxKept || !utf8.ValidString(l) })
	_, err = into(strings.NewReader(strings.Join(lines, "")))
	return err
}

// maxKept bounds a line of the file, in bytes. The editor cannot read longer ones than
// 4096.
const maxKept = 4000

// file is the path behind links. It is not ok if what is there is no file to be
// replaced, but a device or a pipe: who wants no history may say /dev/null.
func (h history) file() (path string, ok bool) {
	path = h.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	return path, err != nil || info.Mode().IsRegular() || info.IsDir()
}

// save writes the whole history anew, so that a crash leaves the old or the new one.
func (h history) save(from func(io.Writer) (int, error)) error {
	if h.path == "" {
		return nil
	}
	path, ok := h.file()
	if !ok {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".history-") // of mode 0600
	if err != nil {
		return err
	}
	_, err = from(f)
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
