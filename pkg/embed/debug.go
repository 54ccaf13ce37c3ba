package embed

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"golang.org/x/sys/unix"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
)

// What a part may take: maxPart bytes, and partTime beyond the time of a profile.
// What it has until then is kept.
const (
	maxPart  = 32 << 20
	partTime = 10 * time.Second
)

var errPartFull = errors.New("the part exceeds the size limit and is truncated")

// debugPart collects one file.
type debugPart struct {
	name    string
	collect func(d *debugging, ctx context.Context, w io.Writer) error
}

// debugParts are what Debug collects, in this order: the logs last, so that they contain
// the errors of the other parts.
var debugParts = []debugPart{
	{"version.txt", (*debugging).version},
	{"settings.txt", (*debugging).settings},
	{"status.json", (*debugging).status},
	{"shards.json", (*debugging).shards},
	{"hot-keys.json", (*debugging).hotKeys},
	{"waits.json", (*debugging).waits},
	{"receipts.json", (*debugging).receipts},
	{"metrics.txt", (*debugging).metrics},
	{"disk.json", (*debugging).disk},
	{"runtime.json", (*debugging).runtime},
	{"cpu.pprof", (*debugging).cpu},
	{"heap.pprof", profile("heap", 0)},
	{"mutex.pprof", profile("mutex", 0)},
	{"goroutines.txt", profile("goroutine", 2)},
	{"log.txt", (*debugging).log},
}

// debugging is one call of Debug.
type debugging struct {
	i *Instance
	o server.DebugOptions
}

// Debug implements server.Operator.
func (i *Instance) Debug(ctx context.Context, o server.DebugOptions,
	part func(name string, data []byte, err error) error) error {
	d := &debugging{i: i, o: o}
	for _, p := range debugParts {
		if p.name == "cpu.pprof" && o.Profile == 0 {
			continue
		}
		data, err := d.one(ctx, p)
		if err := part(p.name, data, err); err != nil {
			return err
		}
	}
	return nil
}

// one collects a part. What goes wrong in it ends only this part.
func (d *debugging) one(ctx context.Context, p debugPart) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, partTime+d.o.Profile)
	defer cancel()
	out := &bounded{left: maxPart}
	defer func() {
		if what := recover(); what != nil {
			err = fmt.Errorf("panic: %v\n%s", what, debug.Stack())
		}
		data = out.Bytes()
	}()
	return nil, p.collect(d, ctx, out)
}

// bounded is a buffer that takes so many bytes.
type bounded struct {
	buf  bytes.Buffer // not embedded: its other methods know no bound
	left int
}

func (b *bounded) Bytes() []byte { return b.buf.Bytes() }

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	if _, err := b.buf.Write(p[:n]); err != nil || n == len(p) {
		return n, err
	}
	return n, errPartFull
}

// key is how a user's key is shown.
func (d *debugging) key(k []byte) string {
	if !d.o.RedactKeys {
		return fmt.Sprintf("%q", k)
	}
	m := hmac.New(sha256.New, d.o.Salt)
	m.Write(k)
	return "key:" + hex.EncodeToString(m.Sum(nil)[:8])
}

func (d *debugging) version(_ context.Context, w io.Writer) error {
	_, err := fmt.Fprintf(w, "linchpin %s\n", d.i.opt.Version)
	if info, ok := debug.ReadBuildInfo(); ok && err == nil {
		_, err = fmt.Fprintln(w, info)
	}
	return err
}

func (d *debugging) settings(_ context.Context, w io.Writer) error {
	if d.i.opt.Settings == nil {
		return errors.New("this node is embedded in another program, which holds its settings")
	}
	_, err := w.Write(d.i.opt.Settings(d.key))
	return err
}

func (d *debugging) status(_ context.Context, w io.Writer) error {
	st := d.i.server.Backend().Status()
	return asJSON(w, map[string]any{"node": st.NodeId, "cluster": st.ClusterId, "version": st.Version,
		"uptime": (time.Duration(st.UptimeMs) * time.Millisecond).String(), "ready": st.Ready,
		"members": st.Members, "shards": st.Shards, "hot_shard": st.HotShard, "draining": d.i.drain.begun(),
		"now": time.Now().UTC()})
}

func (d *debugging) shards(_ context.Context, w io.Writer) error {
	n := d.i.running()
	if n == nil {
		return errNotServing
	}
	var out []any
	for _, s := range n.ShardStats(20) {
		waits := s.Waits
		s.Waits = nil
		one := map[string]any{"state": s}
		var keys []any
		for _, k := range waits {
			keys = append(keys, map[string]any{"key": d.key(k.Key), "waited": time.Duration(k.Nanos).String(), "waits": k.Count,
				"holder": k.Holder.String()})
		}
		one["keys_waited_for"] = keys
		out = append(out, one)
	}
	return asJSON(w, out)
}

var errNotServing = errors.New("the node is not serving yet")

func (d *debugging) hotKeys(ctx context.Context, w io.Writer) error {
	h, err := d.i.server.Backend().Hot(ctx)
	if err != nil {
		return err
	}
	var keys, rules []any
	for _, k := range h.Keys {
		keys = append(keys, map[string]any{"key": d.key(k.Key), "shard": k.Shard.String(), "conflicts_per_second": k.Heat,
			"waited_per_second": time.Duration(k.Waited).String(),
			"since":             k.Since, "why": k.Reason, "moving": k.Moving, "waits": k.Waits})
	}
	for _, r := range h.Rules {
		rules = append(rules, map[string]any{"key": d.key(r.Key), "prefix": r.Prefix, "order": r.Order})
	}
	return asJSON(w, map[string]any{"keys": keys, "rules": rules, "mode": h.Mode, "busy": h.Busy})
}

func (d *debugging) waits(_ context.Context, w io.Writer) error {
	var out []any
	for _, k := range d.i.server.Backend().HotKeys(100) {
		out = append(out, map[string]any{"key": d.key(k.Key), "shard": k.Shard.String(),
			"waited": time.Duration(k.Nanos).String(),
			"waits":  k.Count})
	}
	return asJSON(w, out)
}

// receipts are the last contention receipts of the node's own clients.
func (d *debugging) receipts(_ context.Context, w io.Writer) error {
	out := []any{}
	for _, r := range d.i.server.Backend().Activity(time.Now().Unix(), maxDebugReceipts, 0).Receipts {
		one := map[string]any{"time": time.Unix(0, r.At).UTC(), "transaction": r.ID.String(), "kind": r.Kind.String(),
			"outcome":  r.Outcome.String(),
			"attempts": r.Attempts, "took": r.Took.String(), "lost": r.Contention.Ended.Count}
		if r.Receipt.WaitedNanos > 0 {
			one["wait"] = d.wait(&r.Receipt)
		}
		if r.Contention.Ended.Count > 0 {
			one["reason"] = r.Contention.Ended.Reason.Word()
		}
		if by := r.Contention.Ended.By; by != nil {
			one["wounded_by"] = d.wait(by)
		}
		out = append(out, one)
	}
	return asJSON(w, out)
}

// maxDebugReceipts is more than a node remembers.
const maxDebugReceipts = 1000

// wait describes a wait, or the wait for which a transaction was wounded.
func (d *debugging) wait(r *msg.Receipt) map[string]any {
	noun := func(methods uint64, mode uint64) string { return adt.Methods(methods).Noun(adt.Mode(mode)) }
	return map[string]any{"key": d.key(r.Key), "waited": time.Duration(r.WaitedNanos).String(), "cause": r.Cause.String(),
		"holder": r.Holder.String(), "others": r.Others,
		"operation": noun(r.Methods, r.Mode), "holder_operation": noun(r.HolderMethods, r.HolderMode), "open": r.Open}
}

func (d *debugging) metrics(_ context.Context, w io.Writer) error {
	b := d.i.backend.Load()
	if b == nil {
		return errNotServing
	}
	return b.metrics.WriteText(w, func(key string) string {
		if !d.o.RedactKeys {
			return key
		}
		return d.key([]byte(key))
	})
}

func (d *debugging) disk(_ context.Context, w io.Writer) error {
	out := map[string]any{"directory": d.i.opt.Dir}
	if b := d.i.backend.Load(); b != nil {
		m := b.disks.rows.Metrics()
		m.WALSyncLatency = nil // the metrics have it
		out["store"], out["log"] = m, b.disks.logStats()
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(d.i.opt.Dir, &fs); err != nil {
		out["error"] = err.Error()
	} else {
		out["free_bytes"], out["size_bytes"] = fs.Bavail*uint64(fs.Bsize), fs.Blocks*uint64(fs.Bsize)
	}
	return asJSON(w, out)
}

func (d *debugging) runtime(_ context.Context, w io.Writer) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	out := map[string]any{"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		"cpus": runtime.NumCPU(), "gomaxprocs": runtime.GOMAXPROCS(0),
		"goroutines": runtime.NumGoroutine(), "heap_bytes": m.HeapAlloc, "from_system_bytes": m.Sys, "collections": m.NumGC,
		"pid":                os.Getpid(),
		"memory_limit_bytes": debug.SetMemoryLimit(-1)}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		out["file_descriptors"] = len(fds)
	}
	return asJSON(w, out)
}

func (d *debugging) cpu(ctx context.Context, w io.Writer) error {
	if err := pprof.StartCPUProfile(w); err != nil {
		return err // another profile is in progress
	}
	defer pprof.StopCPUProfile()
	t := time.NewTimer(d.o.Profile)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func profile(name string, detail int) func(*debugging, context.Context, io.Writer) error {
	return func(_ *debugging, _ context.Context, w io.Writer) error { return pprof.Lookup(name).WriteTo(w, detail) }
}

func (d *debugging) log(_ context.Context, w io.Writer) error {
	if d.i.opt.Logs == nil {
		return errors.New("this node is embedded in another program, which holds its logs")
	}
	_, err := w.Write(d.i.opt.Logs.Recent())
	return err
}

func asJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
