package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The components, which are the parts of a node that say something. Every one has
// a level of its own.
const (
	// Node is the process: start, readiness, drain, stop.
	Node = "node"
	// Cluster is the meeting of members.
	Cluster = "cluster"
	// Peers are the connections to other nodes.
	Peers = "peers"
	// Server is what clients call, over gRPC and HTTP.
	Server = "server"
	// Security is who comes in, and certificates.
	Security = "security"
	// Store is what is on disk.
	Store = "store"
	// Hot is the hot shard, and what is remembered of it.
	Hot = "hot"
	// Traces is what sends traces.
	Traces = "traces"
)

// Components lists them.
func Components() []string {
	return []string{Node, Cluster, Peers, Server, Security, Store, Hot, Traces}
}

// Options are what logs are made with; the zero value of each but Out is its
// default.
type Options struct {
	// Out gets the lines. It is called by one goroutine at a time.
	Out io.Writer
	// JSON writes each line as an object instead of key=value.
	JSON bool
	// Level is that of all components at first. Default info.
	Level slog.Level
	// Keep is how many lines the ring has. Default 2000.
	Keep int
	// Burst and Window bound repeats. Defaults 10 and 10 s. A negative Burst is
	// no bound.
	Burst  int
	Window time.Duration
	// Now is for tests. Default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Keep == 0 {
		o.Keep = 2000
	}
	if o.Burst == 0 {
		o.Burst = 10
	}
	if o.Window == 0 {
		o.Window = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Logs is a node's log. Its methods may be called by any goroutine.
type Logs struct {
	opt    Options
	levels map[string]*slog.LevelVar
	format slog.Handler
	ring   *ring
	// node is a node's name once it has one.
	node    atomic.Pointer[string]
	repeats repeats
}

// New makes logs.
func New(o Options) (*Logs, error) {
	o = o.withDefaults()
	if o.Out == nil || o.Keep < 0 || o.Window < 0 {
		return nil, errors.New("logs: Out is missing, or Keep or Window is negative")
	}
	l := &Logs{opt: o, levels: map[string]*slog.LevelVar{}, ring: &ring{lines: make([][]byte, 0, o.Keep), out: o.Out}}
	l.repeats = repeats{burst: o.Burst, window: o.Window, seen: map[repeatKey]*repeat{}}
	for _, c := range Components() {
		l.levels[c] = new(slog.LevelVar)
		l.levels[c].Set(o.Level)
	}
	// The least level is decided before a record gets there.
	h := &slog.HandlerOptions{Level: slog.Level(-1 << 10), ReplaceAttr: blot}
	if o.JSON {
		l.format = slog.NewJSONHandler(l.ring, h)
	} else {
		l.format = slog.NewTextHandler(l.ring, h)
	}
	return l, nil
}

// Component gives the logger of a component. It panics if there is no such, which
// is a mistake in the program.
func (l *Logs) Component(name string) *slog.Logger {
	level, ok := l.levels[name]
	if !ok {
		panic("logs: there is no component " + name)
	}
	return slog.New(&handler{logs: l, component: name, level: level,
		to: l.format.WithAttrs([]slog.Attr{slog.String("component", name)})})
}

// SetNode has every line from now on say which node it is of.
func (l *Logs) SetNode(name string) { l.node.Store(&name) }

// Level is a component's level.
type Level struct {
	Component string
	Level     slog.Level
}

// Levels lists the components' levels.
func (l *Logs) Levels() []Level {
	var out []Level
	for _, c := range Components() {
		out = append(out, Level{c, l.levels[c].Level()})
	}
	return out
}

// SetLevel sets a component's level, or that of all if it is empty.
func (l *Logs) SetLevel(component string, level slog.Level) error {
	if component != "" && l.levels[component] == nil {
		return fmt.Errorf("there is no component %q; there are %s", component, strings.Join(Components(), ", "))
	}
	for _, c := range Components() {
		if component == "" || c == component {
			l.levels[c].Set(level)
		}
	}
	return nil
}

// ParseLevel reads debug, info, warn or error.
func ParseLevel(text string) (slog.Level, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn,
		"error": slog.LevelError}
	if level, ok := levels[strings.ToLower(text)]; ok {
		return level, nil
	}
	return 0, fmt.Errorf("%q is no level; there are debug, info, warn and error", text)
}

// LevelName is what ParseLevel reads.
func LevelName(l slog.Level) string { return strings.ToLower(l.String()) }

// handler is a component's.
type handler struct {
	logs      *Logs
	component string
	level     *slog.LevelVar
	to        slog.Handler
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	suppressed, ok := h.logs.repeats.take(repeatKey{h.component, r.Level, r.Message}, h.logs.opt.Now())
	if !ok {
		return nil
	}
	if node := h.logs.node.Load(); node != nil {
		r.AddAttrs(slog.String("node", *node))
	}
	if suppressed > 0 {
		r.AddAttrs(slog.Int("suppressed", suppressed))
	}
	return h.to.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(as []slog.Attr) slog.Handler {
	with := *h
	with.to = h.to.WithAttrs(as)
	return &with
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	with := *h
	with.to = h.to.WithGroup(name)
	return &with
}

// secrets are parts of names whose values are not for logs.
var secrets = []string{"password", "passphrase", "secret", "token", "authorization", "credential", "private_key",
	"private-key"}

// Secret reports whether what has this name is not to be shown: in logs, in
// "linchpin config show", in what is collected for others to look at. Names of
// files that hold secrets are no secrets.
func Secret(name string) bool {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, "file") || strings.HasSuffix(name, "path") {
		return false
	}
	return slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(name, s) })
}

// Redacted stands where a secret would.
const Redacted = "[redacted]"

func blot(_ []string, a slog.Attr) slog.Attr {
	if Secret(a.Key) && a.Value.Kind() != slog.KindGroup {
		a.Value = slog.StringValue(Redacted)
	}
	return a
}

// ring passes lines on and keeps the last of them.
type ring struct {
	out io.Writer

	mu    sync.Mutex
	lines [][]byte
	// next is where the next line goes once the ring is full.
	next int
}

// maxLine bounds what is kept of a line. A stack is longer than most.
const maxLine = 16 << 10

// Write implements io.Writer: slog's handlers write a line at a time.
func (r *ring) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := slices.Clone(line[:min(len(line), maxLine)])
	switch {
	case cap(r.lines) == 0:
	case len(r.lines) < cap(r.lines):
		r.lines = append(r.lines, kept)
	default:
		r.lines[r.next] = kept
		r.next = (r.next + 1) % len(r.lines)
	}
	return r.out.Write(line)
}

// Recent gives the last lines, oldest first.
func (l *Logs) Recent() []byte {
	l.ring.mu.Lock()
	defer l.ring.mu.Unlock()
	return slices.Concat(slices.Concat(l.ring.lines[l.ring.next:]...), slices.Concat(l.ring.lines[:l.ring.next]...))
}
