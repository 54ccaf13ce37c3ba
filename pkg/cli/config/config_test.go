package config_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/cli/config"
)

// command is a set of flags of every kind.
type command struct {
	*pflag.FlagSet
	file, store, token string
	cache              int64
	keys, addrs        []string
	every              time.Duration
	fast               bool
}

func newCommand() *command {
	c := &command{FlagSet: pflag.NewFlagSet("x", pflag.ContinueOnError)}
	c.StringVar(&c.file, "config", "", "")
	c.StringVar(&c.store, "store", "", "")
	c.StringVar(&c.token, "admin-token", "", "")
	c.Int64Var(&c.cache, "cache-mb", 256, "")
	c.StringArrayVar(&c.keys, "hot-key", nil, "")
	c.StringSliceVar(&c.addrs, "addr", []string{"127.0.0.1:7070"}, "")
	c.DurationVar(&c.every, "history-every", time.Second, "")
	c.BoolVar(&c.fast, "fast", false, "")
	return c
}

func resolve(t *testing.T, c *command, args []string, env map[string]string, file string) ([]config.Setting, error) {
	t.Helper()
	require.NoError(t, c.Parse(args))
	return config.Resolve(c.FlagSet, config.Options{
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Read: func(name string) ([]byte, error) {
			if name != "linchpin.yaml" {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return []byte(file), nil
		},
	})
}

func setting(t *testing.T, ss []config.Setting, name string) config.Setting {
	t.Helper()
	i := slices.IndexFunc(ss, func(s config.Setting) bool { return s.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return ss[i]
}

// TestPrecedence is the whole table: each of the three may have a value or not.
func TestPrecedence(t *testing.T) {
	for row := range 8 {
		flag, env, file := row&4 != 0, row&2 != 0, row&1 != 0
		args, vars, text := []string{"--config", "linchpin.yaml"}, map[string]string{}, "# nothing else\nfast: true\n"
		want, from := int64(256), "default"
		if file {
			text += "cache-mb: 1\n"
			want, from = 1, "linchpin.yaml:3"
		}
		if env {
			vars["LINCHPIN_CACHE_MB"] = "2"
			want, from = 2, "environment LINCHPIN_CACHE_MB"
		}
		if flag {
			args = append(args, "--cache-mb=3")
			want, from = 3, "command line"
		}
		c := newCommand()
		ss, err := resolve(t, c, args, vars, text)
		require.NoError(t, err)
		require.Equal(t, want, c.cache, "flag %v, environment %v, file %v", flag, env, file)
		require.Equal(t, from, setting(t, ss, "cache-mb").From)
		require.True(t, c.fast)
		require.True(t, slices.IsSortedFunc(ss, func(a, b config.Setting) int { return strings.Compare(a.Name, b.Name) }))
	}
}

func TestEveryKindOfFlag(t *testing.T) {
	c := newCommand()
	ss, err := resolve(t, c, nil, map[string]string{"LINCHPIN_CONFIG": "linchpin.yaml", "LINCHPIN_ADDR": "a:1,b:2",
		"LINCHPIN_STORE": "", "LINCHPIN_OTHER": "x"},
		"store: /var/lib/linchpin\nhot-key: [a, \"b: c\"]\nhistory-every: 250ms\nfast: yes\naddr: [c:3]\n")
	require.ErrorContains(t, err, `linchpin.yaml:4: fast is "yes", want true or false`,
		"YAML 1.1's yes is text, and no bool of flags")
	require.Equal(t, "/var/lib/linchpin", c.store, "an empty variable is none")
	require.Equal(t, []string{"a", "b: c"}, c.keys)
	require.Equal(t, []string{"a:1", "b:2"}, c.addrs)
	require.Equal(t, 250*time.Millisecond, c.every)
	require.Equal(t, "linchpin.yaml:3", setting(t, ss, "history-every").From)

	c = newCommand()
	_, err = resolve(t, c, []string{"--config=linchpin.yaml", "--hot-key=x"}, nil, "hot-key: [a, b]\ncache-mb:\n")
	require.ErrorContains(t, err, "linchpin.yaml:2: cache-mb is \"\"")
	require.Equal(t, []string{"x"}, c.keys, "one that the command line has is not added to")

	c = newCommand()
	_, err = resolve(t, c, []string{"--config=linchpin.yaml"}, nil, "hot-key: alone\n")
	require.NoError(t, err)
	require.Equal(t, []string{"alone"}, c.keys)
	for _, empty := range []string{"", "# only this\n", "---\n", "{}\n"} {
		_, err = resolve(t, newCommand(), []string{"--config=linchpin.yaml"}, nil, empty)
		require.NoError(t, err, empty)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"cache_mb: 5":                   `linchpin.yaml:1: there is no setting "cache_mb"; did you mean "cache-mb"?`,
		"stor: x":                       `there is no setting "stor"; did you mean "store"?`,
		"completely-different-thing: x": `linchpin.yaml:1: there is no setting "completely-different-thing"`,
		"config: other.yaml":            `there is no setting "config"`,
		"help: true":                    `there is no setting "help"`,
		"store: a\nstore: b":            "linchpin.yaml:2: store is already set in line 1",
		"store: [a, b]":                 "linchpin.yaml:1: store takes one value, not a list",
		"store: {a: b}": "linchpin.yaml:1: the value of store is neither plain nor a list; settings do " +
			"not nest",
		"hot-key: [[a]]":   "an element of hot-key is not a plain value",
		"- store":          `linchpin.yaml:1: want settings, one a line`,
		"just text":        `linchpin.yaml:1: want settings, one a line`,
		"store: \"a":       "linchpin.yaml: found unexpected end of stream",
		"cache-mb: many":   `linchpin.yaml:1: cache-mb is "many", want a whole number`,
		"history-every: 5": `history-every is "5", which has no unit; write 5s for seconds`,
	} {
		_, err := resolve(t, newCommand(), []string{"--config=linchpin.yaml"}, nil, text)
		require.ErrorContains(t, err, want, text)
	}
	_, err := resolve(t, newCommand(), []string{"--config=linchpin.yaml"}, map[string]string{"LINCHPIN_FAST": "quick"},
		"a: 1\nb: 2\n")
	for _, want := range []string{`setting "a"`, `setting "b"`, `LINCHPIN_FAST is "quick", want true or false`} {
		require.ErrorContains(t, err, want, "all at once")
	}
	_, err = resolve(t, newCommand(), []string{"--config=gone.yaml"}, nil, "")
	require.ErrorContains(t, err, "the configuration file gone.yaml does not exist")
	_, err = resolve(t, newCommand(), []string{"--config=linchpin.yaml"}, nil, "# "+strings.Repeat("x", 2<<20))
	require.ErrorContains(t, err, "a configuration file has at most")
}

func TestSecretsAreNotShown(t *testing.T) {
	c := newCommand()
	ss, err := resolve(t, c, nil, map[string]string{"LINCHPIN_ADMIN_TOKEN": "tk-1"}, "")
	require.NoError(t, err)
	require.Equal(t, "tk-1", c.token)
	s := setting(t, ss, "admin-token")
	require.Equal(t, "[redacted]", s.Shown())
	s = setting(t, ss, "cache-mb")
	require.Equal(t, "256", s.Shown())
}

// FuzzFile: no file brings the program down, and one that is accepted means the same
// each time.
func FuzzFile(f *testing.F) {
	for _, text := range []string{"store: a\n", "hot-key: [a, b]", "a: &x [*x]", "!!binary x: y", "store: \"", "- - -",
		"? a\n: b", "<<: *x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := resolve(t, newCommand(), []string{"--config=linchpin.yaml"}, nil, text)
		if err != nil {
			return
		}
		again, err := resolve(t, newCommand(), []string{"--config=linchpin.yaml"}, nil, text)
		require.NoError(t, err)
		require.Equal(t, once, again)
	})
}

// TestPathsInTheFile: they are relative to the file's directory, and only they.
func TestPathsInTheFile(t *testing.T) {
	for _, c := range []struct{ name, file, given, env, want string }{
		{"relative to the file", "conf/n1/linchpin.yaml", "data", "", "conf/n1/data"},
		{"above it", "conf/n1/linchpin.yaml", "../data", "", "conf/data"},
		{"a file here", "linchpin.yaml", "data", "", "data"},
		{"absolute", "conf/linchpin.yaml", "/var/lib/linchpin", "", "/var/lib/linchpin"},
		{"empty", "conf/linchpin.yaml", `""`, "", ""},
		{"the environment goes before, and is no file", "conf/linchpin.yaml", "data", "data", "data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := newCommand()
			config.MarkPaths(cmd.FlagSet, "store")
			require.NoError(t, cmd.Parse([]string{"--config", c.file}))
			_, err := config.Resolve(cmd.FlagSet, config.Options{
				Env:  func(name string) (string, bool) { return c.env, name == "LINCHPIN_STORE" },
				Read: func(string) ([]byte, error) { return []byte("store: " + c.given + "\nadmin-token: data\n"), nil },
			})
			require.NoError(t, err)
			require.Equal(t, c.want, cmd.store)
			require.Equal(t, "data", cmd.token, "which is no path")
		})
	}
	require.Panics(t, func() { config.MarkPaths(newCommand().FlagSet, "no-such-flag") })
}
