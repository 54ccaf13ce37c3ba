package embed

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/guard"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/logs"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Options are what a node of a cluster of processes is started with.
type Options struct {
	// Dir is the node's storage directory; it is created if it is not there.
	Dir string
	// Listen is the address for clients and peers; ":PORT" is loopback
	// unless Insecure is set. Default ":7070".
	Listen string
	// HTTP is the address for /console/, /metrics, /healthz and /readyz; empty for none.
	HTTP string
	// Advertise is the address under which others call this node. Default:
	// Listen.
	Advertise string
	// Join lists all first members, this one included, separated by commas.
	// Empty makes a cluster of one. Once the cluster is formed it only helps
	// to find the others.
	Join string
	// Insecure allows addresses beyond the loopback without TLS: there is no
	// encryption and no authentication.
	Insecure bool
	// TLS names the node's certificate, its key, and the authorities; without it
	// only the loopback is served, unless Insecure is set.
	TLS certs.Files
	// RequireClientCert refuses clients that have a token and no certificate.
	RequireClientCert bool
	// Limits bound connections, and what strangers can use up.
	Limits guard.Limits
	// Shards is the number of ordinary shards of a new cluster. Default 8.
	Shards int
	// HotKeys live on the hot shard of a new cluster.
	HotKeys [][]byte
	// Hot says which other keys are moved there, until the operator says
	// otherwise. It counts on the node of the hot shard.
	Hot hotshard.Mode
	// Order is the commit order of this node's gateway.
	Order txn.Order
	// Sharing says what is made of it that operations commute.
	Sharing shard.Sharing
	// Reads says how this node's read-only transactions read, Plan by which
	// plan when there is a choice.
	Reads txn.Reads
	Plan  txn.Plan
	// History is how far reads as of a time reach back; 0 is kv.DefaultHistory,
	// negative for none. HistoryEvery is the grain; 0 is kv.DefaultPinEvery,
	// negative for no snapshots at all.
	History, HistoryEvery time.Duration
	// CacheBytes is the memory for blocks and memtables of the store, and
	// again for the shards' keys. Default 256 MiB, or an eighth of MemoryBudget if
	// that is less.
	CacheBytes int64
	// MemoryBudget is how many bytes of memory the process may have. What callers
	// have the node hold is bounded by a part of it (guard/memory), and TuneMemory
	// tells the runtime. Default three quarters of what the process's control group
	// may have, or half of the machine's memory.
	MemoryBudget int64
	// DiskReserve is how many bytes are kept free on the store's disk: with less,
	// the node refuses new writes. 0 is kv.DefaultDiskReserve, negative for none.
	DiskReserve int64
	// TrustClock has keys and snapshots expire by the time of day at the start though the
	// store, or other nodes, contradict it.
	TrustClock bool
	// UnsafeNoSync answers before anything is on disk: a crash loses
	// acknowledged commits. For measuring only.
	UnsafeNoSync bool
	// SyncDelay is added to every fsync, NetDelay to every message to
	// another node, one way. For measuring only.
	SyncDelay, NetDelay time.Duration
	// ReadDelay is added to every read of a table of the store that is not in the
	// cache, once the node has started. For tests only.
	ReadDelay time.Duration
	// SlowReader is how long a page of a scan waits for a client that does not read.
	// Default a minute.
	SlowReader time.Duration
	// DrainTimeout bounds a clean stop. Default 10 s.
	DrainTimeout time.Duration
	// DrainWait is how long health checks fail before anything is refused, so that
	// load balancers send new clients elsewhere. Default none.
	DrainWait time.Duration
	// TraceEndpoint is where spans are sent to (trace.Options); empty for nowhere.
	// TraceRatio is the share of transactions that are traced, 0 to 1.
	TraceEndpoint string
	TraceRatio    float64
	// Pprof serves profiles at /debug/pprof/ on the HTTP address, to callers on
	// this machine unless Guard says otherwise.
	Pprof bool
	// Guard stands before what operators alone may see over HTTP: it lets pass
	// whoever has shown to be one. Default: administrators with TLS, and without it
	// whoever calls from the loopback.
	Guard func(http.Handler) http.Handler
	// Settings are what the node was started with, for "linchpin debug zip".
	// There must be no secret in it.
	Settings func(redactKeys func([]byte) string) []byte
	// Version is what the node says it is.
	Version string
	// Logs gets what an operator should see, component by component; or, if that is
	// nil, Log. Default: nothing.
	Logs *logs.Logs
	Log  *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = ":7070"
	}
	if o.Shards == 0 {
		o.Shards = 8
	}
	if o.DiskReserve == 0 {
		o.DiskReserve = kv.DefaultDiskReserve
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// log is a component's.
func (o *Options) log(component string) *slog.Logger {
	if o.Logs != nil {
		return o.Logs.Component(component)
	}
	return o.Log
}

func traceEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && (u.Path == "" || u.Path == "/")
}

// Validate reports everything that is wrong at once.
func (o Options) Validate() error {
	var errs []error
	bad := func(when bool, text, hint string) {
		if when {
			errs = append(errs, &kv.Error{Kind: kv.KindInvalid, Text: text, Op: -1, Hint: hint})
		}
	}
	bad(o.Dir == "", "the storage directory is missing", "set --store")
	bad(o.Shards < 0 || o.Shards >= kv.MaxShards, "the number of shards is out of range", "use 1 to 1023")
	bad(o.CacheBytes < 0, "the cache size is negative", "use 0 for the default")
	bad(o.MemoryBudget < 0, "the memory budget is negative", "use 0 for the default")
	bad(o.DrainTimeout < 0 || o.DrainTimeout > time.Hour, "the drain timeout is out of range", "use 0 (10s) to 1h")
	bad(o.DrainWait < 0 || o.DrainWait > time.Hour, "the drain wait is out of range", "use 0 (none) to 1h")
	bad(!(o.TraceRatio >= 0 && o.TraceRatio <= 1), "the trace ratio is out of range", "use 0 (none) to 1 (all)")
	bad(o.TraceEndpoint != "" && !traceEndpoint(o.TraceEndpoint), "the trace endpoint is not the URL of a collector",
		"set http://HOST:PORT, or https:// for TLS; the usual port is 4317")
	bad(o.Pprof && o.HTTP == "", "profiles need an HTTP address", "set --http")
	bad(o.SyncDelay < 0 || o.NetDelay < 0 || o.ReadDelay < 0, "a delay is negative", "use 0 for none")
	bad(o.SlowReader < 0, "SlowReader is negative", "use 0 for the default of 1m")
	bad(o.TLS.Given() && o.Insecure, "TLS and --insecure exclude each other",
		"omit --insecure; with TLS, all addresses are allowed")
	bad(o.RequireClientCert && !o.TLS.Given(), "client certificates are required, but TLS is off",
		"set --tls-cert, --tls-key and --tls-ca")
	for _, k := range o.HotKeys {
		errs = append(errs, kv.CheckClientKey(k))
	}
	return errors.Join(errs...)
}
