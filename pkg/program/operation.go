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

// operationFlags are those of "linchpin start" for its operators.
type operationFlags struct {
	file                string
	logFormat, logLevel string
}

func (o *operationFlags) addTo(f *pflag.FlagSet, opt *embed.Options) {
	f.DurationVar(&opt.DrainTimeout, "drain-timeout", 0, "how long a drain waits for transactions in flight (default 10s)")
	f.DurationVar(&opt.DrainWait, "drain-wait", 0,
		"how long health checks fail before a drain rejects requests, for load balancers")
	f.StringVar(&o.logFormat, "log-format", "text",
		"`format` of the log: text (key=value), or json with one object per line")
	f.StringVar(&o.logLevel, "log-level", "info",
		"initial log `level`: debug, info, warn or error; see \"linchpin log level\"")
	f.StringVar(&opt.TraceEndpoint, "trace-endpoint", "",
		"send spans of transactions to the OTLP collector at this `URL`: http://HOST:4317, or https://")
	f.Float64Var(&opt.TraceRatio, "trace-ratio", 0.01,
		"share of transactions that are traced, 0 to 1, unless the client decides")
	f.BoolVar(&opt.Pprof, "pprof", false, "serve profiles at /debug/pprof/ of --http, to admins, or without TLS to "+
		"callers on this machine")
}

// logs makes the node's log.
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

// settingsText is a line for each setting, with keys of users as key shows them, and without secrets.
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
