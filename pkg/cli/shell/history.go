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

// history is a file with the commands of earlier sessions, for its owner only: it has keys and values.
type history struct{ path string }

// defaultHistory is the default of --history; empty if there is no home directory.
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

// secret matches commands that are not kept: those with a flag that is named after a secret. Commands that
// begin with a space are not kept either.
var secret = regexp.MustCompile(`(?i)--[a-z-]*(password|secret|token|credential)`)

func kept(command string) bool {
	return command != "" && !strings.HasPrefix(command, " ") && !secret.MatchString(command) && !strings.Contains(command,
		"\n")
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
	// The editor stops at the first invalid line, and the next save would lose the lines after it.
	lines := slices.DeleteFunc(strings.SplitAfter(string(all), "\n"),
		func(l string) bool { return len(l) > maxKept || !utf8.ValidString(l) })
	_, err = into(strings.NewReader(strings.Join(lines, "")))
	return err
}

// maxKept bounds a line of the file, in bytes. The editor reads at most 4096.
const maxKept = 4000

// file is the path behind links. It is not ok if that is a device or a pipe, as in --history /dev/null.
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
