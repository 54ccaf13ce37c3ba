package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/logs"
)

// FileFlag is the flag that names the file, in commands that read one.
const FileFlag = "config"

// Options are the sources of settings; the zero value is the process's environment.
type Options struct {
	// Env looks a variable up. Default os.LookupEnv.
	Env func(string) (string, bool)
	// Read reads a file. Default os.ReadFile.
	Read func(string) ([]byte, error)
}

// Setting is a setting, its value and its source.
type Setting struct {
	Name, Value string
	// From is "command line", "environment NAME", "FILE:LINE" or "default".
	From string
	// Secret: the value must not be shown; Shown hides it.
	Secret bool
}

// Shown is the value, or a placeholder for a secret.
func (s *Setting) Shown() string {
	if s.Secret && s.Value != "" {
		return logs.Redacted
	}
	return s.Value
}

// Variable is the environment variable of a flag.
func Variable(flag string) string {
	return "LINCHPIN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// pathMark is the annotation of flags that are paths.
const pathMark = "linchpin_path"

// MarkPaths marks flags that are paths of files or directories. In a file of settings such a path is relative to
// the directory of that file, so that it means the same wherever the program is started, and wherever the directory is
// moved. It panics if there is no such flag.
func MarkPaths(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, pathMark, nil); err != nil {
			panic("config: " + err.Error()) // there is no such flag
		}
	}
}

// neither are settings.
func neither(name string) bool { return name == "help" || name == FileFlag }

// Resolve sets the flags that the command line has not set, from the environment and the file. It reports all
// errors at once. The settings are in the order of their names.
func Resolve(fs *pflag.FlagSet, o Options) ([]Setting, error) {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if o.Read == nil {
		o.Read = os.ReadFile
	}
	from := map[string]string{}
	fs.Visit(func(f *pflag.Flag) { from[f.Name] = "command line" })
	var errs []error
	fs.VisitAll(func(f *pflag.Flag) {
		name := Variable(f.Name)
		if from[f.Name] != "" || f.Name == "help" {
			return
		}
		if value, ok := o.Env(name); ok && value != "" {
			from[f.Name] = "environment " + name
			if err := fs.Set(f.Name, value); err != nil {
				errs = append(errs, wrong(f, name, value, err))
			}
		}
	})
	if f := fs.Lookup(FileFlag); f != nil && f.Value.String() != "" {
		errs = append(errs, readFile(fs, f.Value.String(), o, from)...)
	}
	var out []Setting
	fs.VisitAll(func(f *pflag.Flag) {
		if neither(f.Name) {
			return
		}
		s := Setting{Name: f.Name, Value: f.Value.String(), From: from[f.Name], Secret: logs.Secret(f.Name)}
		if s.From == "" {
			s.From = "default"
		}
		out = append(out, s)
	})
	slices.SortFunc(out, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return out, errors.Join(errs...)
}

// wrong is the error for a value that a flag does not take. from names the flag or the variable that
// has it. Secrets are not repeated.
func wrong(f *pflag.Flag, from, value string, err error) error {
	if logs.Secret(f.Name) {
		return fmt.Errorf("the value of %s is not %s", from, wanted[f.Value.Type()])
	}
	return errors.New(Wrong(f, from, value, err))
}

// wanted describes the values of the types of flags.
var wanted = map[string]string{"int": "a whole number", "int64": "a whole number",
	"uint64": "a whole number, 0 or more", "float64": "a number",
	"bool": "true or false", "duration": "a time, as in 30s or 1h30m"}

// Wrong says in a sentence why a flag does not take a value, and what it takes. from names the flag
// or the variable that has the value.
func Wrong(f *pflag.Flag, from, value string, err error) string {
	want := wanted[f.Value.Type()]
	_, bad := strconv.ParseFloat(value, 64)
	switch {
	case f.Value.Type() == "duration" && bad == nil:
		return fmt.Sprintf("%s is %q, which has no unit; write %ss for seconds", from, value, value)
	case want != "":
		return fmt.Sprintf("%s is %q, want %s", from, value, want)
	}
	var cause *pflag.InvalidValueError
	if errors.As(err, &cause) {
		err = cause.Unwrap()
	}
	return fmt.Sprintf("%s is %q: %v", from, value, err)
}
