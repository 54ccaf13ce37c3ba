package embed

import (
	"errors"
	"fmt"
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

// Protocol says how transactions are executed, for nodes of processes and of a cluster in one process.
type Protocol struct {
	// Hot says which keys besides HotKeys are moved to the hot shard, until the operator changes the mode.
	// The setting of the hot shard's node counts.
	Hot hotshard.Mode
	// Order is the commit order of the node's gateway.
	Order txn.Order
	// NoEarlyLocks disables early locks (txn.Config.NoEarlyLocks). For measuring only.
	NoEarlyLocks bool
	// Sharing says how commutativity of operations is used.
	Sharing shard.Sharing
	// Reads says how the node's read-only transactions read, Plan by which plan if there is a choice.
	Reads txn.Reads
	Plan  txn.Plan
	// History is the length of the history that reads as of a time can reach; 0 is kv.DefaultHistory,
	// negative is none. HistoryEvery is the time between two snapshots of it; 0 is
	// kv.DefaultSnapshotInterval, negative is no snapshots at all.
	History, HistoryEvery time.Duration
	// TrustClock has keys and snapshots expire by the time of day at the start even if the store, or other
	// nodes, contradict it.
	TrustClock bool
}

// Security restricts who can reach the node, and what it spends on connections.
type Security struct {
	// Insecure allows addresses other than the loopback without TLS: without encryption and authentication.
	Insecure bool
	// TLS names the node's certificate, its key, and the authorities. Without it only the loopback is
	// served, unless Insecure is set.
	TLS certs.Files
	// RequireClientCert rejects clients that have a token and no certificate.
	RequireClientCert bool
	// Limits bound connections, and what unauthenticated callers can use.
	Limits guard.Limits
	// Guard restricts what is for operators over HTTP. Default: to administrators with TLS, to callers
	// from the loopback without.
	Guard func(http.Handler) http.Handler
}

// ForTests slows the node down or makes it less durable, for tests and measurements.
type ForTests struct {
	// UnsafeNoSync acknowledges commits before they are on disk: a crash loses them.
	UnsafeNoSync bool
	// SyncDelay is added to every fsync, NetDelay to every message to another node, one way.
	SyncDelay, NetDelay time.Duration
	// ReadDelay is added to every read of a table of the store that is not in the cache, once the node has
	// started.
	ReadDelay time.Duration
}

// Options are those of a node of a cluster of processes.
type Options struct {
	Protocol
	Security
	ForTests
	// Dir is the node's storage directory; it is created if it does not exist.
	Dir string
	// Listen is the address for clients and peers; ":PORT" is the loopback unless Insecure is set. Default
	// ":7070".
	Listen string
	// HTTP is the address for /console/, /metrics, /healthz and /readyz; empty for none.
	HTTP string
	// Advertise is the address at which other nodes reach this one. Default: Listen.
	Advertise string
	// Join lists all first members, this one included, separated by commas. Empty makes a cluster of one.
	// Once the cluster is formed it only helps to find the others.
	Join string
	// Shards is the number of ordinary shards of a new cluster. Default kv.DefaultShards.
	Shards int
	// Replicas is the number of replicas of each shard of a new cluster: 1, 3, 5 or 7, at most one on each node. Default
	// kv.DefaultReplicas.
	Replicas int
	// LeaderLeases is off for a new cluster whose clocks cannot be trusted, on otherwise. Default: on, and that of the
	// cluster once it is formed; then no other one is allowed.
	LeaderLeases string
	// HotKeys are always on the hot shard of a new cluster.
	HotKeys [][]byte
	// CacheBytes is the memory for blocks and memtables of the store, and again for the shards' keys.
	// Default 256 MiB, or an eighth of MemoryBudget if that is less.
	CacheBytes int64
	// MemoryBudget is the memory of the process, in bytes. Requests and responses are bounded by a part of
	// it (guard/memory), and TuneMemory sets the limit of the runtime. Default three quarters of the
	// process's control group, or half of the machine's memory.
	MemoryBudget int64
	// DiskReserve is the free space to keep on the store's disk, in bytes: with less, the node rejects new
	// writes. 0 is kv.DefaultDiskReserve, negative for none.
	DiskReserve int64
	// SlowReader is how long a page of a scan waits for a client that does not read. Default a minute.
	SlowReader time.Duration
	// DrainTimeout bounds a clean shutdown. Default 10 s.
	DrainTimeout time.Duration
	// DrainWait is how long health checks fail before requests are rejected, for load balancers. Default
	// none.
	DrainWait time.Duration
	// TraceEndpoint is the URL of the collector of spans (trace.Options); empty for none. TraceRatio is the
	// share of transactions that are traced, 0 to 1.
	TraceEndpoint string
	TraceRatio    float64
	// Pprof serves profiles at /debug/pprof/ on the HTTP address, to callers on this machine unless Guard
	// is set.
	Pprof bool
	// Settings returns the settings for "linchpin debug zip", without secrets.
	Settings func(redactKeys func([]byte) string) []byte
	// Version is the version that the node reports.
	Version string
	// Logs receives the log, by component; or, if that is nil, Log. Default: none.
	Logs *logs.Logs
	Log  *slog.Logger
}

// Values of Options.LeaderLeases.
const leasesOn, leasesOff = "on", "off"

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = ":7070"
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
	if o.Replicas != 0 {
		errs = append(errs, kv.CheckReplicas(o.Replicas))
	}
	bad(o.LeaderLeases != "" && o.LeaderLeases != leasesOn && o.LeaderLeases != leasesOff,
		fmt.Sprintf("--leader-leases is %q", o.LeaderLeases), "use on or off")
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
