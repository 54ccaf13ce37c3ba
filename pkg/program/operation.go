package program

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/linchpindb/linchpin/pkg/cli/config"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/logs"
)

// operationFlags are those of "linchpin start" that are for whoever runs it.
type operationFlags struct {
	file                string
	logFormat, logLevel string
}

func (o *operationFlags) addTo(f *pflag.FlagSet, opt *embed.Options) {
	f.StringVar(&o.file, config.FileFlag, "", "a `file` in YAML with values for flags that are neither given nor in the environment")
	f.StringVar(&o.logFormat, "log-format", "text", "text (key=value), or json: one object a line")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error; \"linchpin log level\" changes it later, for each component")
	f.DurationVar(&opt.DrainTimeout, "drain-timeout", 0, "how long a clean stop waits for what is under way (default 10s)")
	f.DurationVar(&opt.DrainWait, "drain-wait", 0, "how long health checks fail before a clean stop refuses anything, for load balancers to notice")
	f.StringVar(&opt.TraceEndpoint, "trace-endpoint", "", "send spans of transactions to this `URL` of an OTLP collector: http://HOST:4317, or https://")
	f.Float64Var(&opt.TraceRatio, "trace-ratio", 0.01, "the share of transactions that are traced, 0 to 1; a client that traces decides for its own")
	f.BoolVar(&opt.Pprof, "pprof", false, "serve profiles at /debug/pprof/ of --http: with TLS to administrators, without to callers on this machine")
}

// logs are where the node's log lines go.
func (o *operationFlags) logs(out io.Writer) (*logs.Logs, error) {
	level, err := o.level()
	if err != nil {
		return nil, err
	}
	return logs.New(logs.Options{Out: out, JSON: o.logFormat == "json", Level: level})
}

func (o *operationFlags) level() (slog.Level, error) {
	if o.logFormat != "text" && o.logFormat != "json" {
		return 0, kv.Errorf(kv.KindInvalid, "--log-format is %q, want text or json", o.logFormat)
	}
	level, err := logs.ParseLevel(o.logLevel)
	if err != nil {
		return 0, kv.Errorf(kv.KindInvalid, "--log-level: %v", err)
	}
	return level, nil
}

// settingsText is a line for each setting. Keys of users are shown as key shows them,
// and secrets not at all.
func settingsText(ss []config.Setting, key func([]byte) string) []byte {
	var out []byte
	for i := range ss {
		value := ss[i].Shown()
		if ss[i].Name == "hot-key" && value != "[]" {
			value = key([]byte(value))
		}
		out = fmt.Appendf(out, "%s = %s  # %s\n", ss[i].Name, value, ss[i].From)
	}
	return out
}
