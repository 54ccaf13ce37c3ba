package embed

import (
	"context"
	"log/slog"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/logs"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
)

var _ server.Operator = (*Instance)(nil)

// LogLevels implements server.Operator.
func (i *Instance) LogLevels() (out []pb.LogLevel) {
	if i.opt.Logs == nil {
		return nil
	}
	for _, l := range i.opt.Logs.Levels() {
		out = append(out, pb.LogLevel{Component: l.Component, Level: logs.LevelName(l.Level)})
	}
	return out
}

// SetLogLevel implements server.Operator.
func (i *Instance) SetLogLevel(component, level string) error {
	if i.opt.Logs == nil {
		return kv.Errorf(kv.KindInvalid, "this node is embedded in another program, which holds its logs")
	}
	l, err := logs.ParseLevel(level)
	if err != nil {
		return err
	}
	if err := i.opt.Logs.SetLevel(component, l); err != nil {
		return err
	}
	i.opt.log(logs.Node).Log(context.Background(), max(l, slog.LevelInfo), "log level changed", "log_component", component,
		"new_level", level)
	return nil
}
