package embed

import (
	"errors"
	"log/slog"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
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
	// HTTP is the address for /metrics, /healthz and /readyz; empty for none.
	HTTP string
	// Advertise is the address under which others call this node. Default:
	// Listen.
	Advertise string
	// Join lists all first members, this one included, separated by commas.
	// Empty makes a cluster of one. Once the cluster is formed it only helps
	// to find the others.
	Join string
	// Insecure allows addresses beyond the loopback. There is no encryption
	// and no authentication.
	Insecure bool
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
	// again for the shards' keys. Default 256 MiB.
	CacheBytes int64
	// UnsafeNoSync answers before anything is on disk: a crash loses
	// acknowledged commits. For measuring only.
	UnsafeNoSync bool
	// SyncDelay is added to every fsync, NetDelay to every message to
	// another node, one way. For measuring only.
	SyncDelay, NetDelay time.Duration
	// DrainTimeout bounds a clean stop. Default 10 s.
	DrainTimeout time.Duration
	// Version is what the node says it is.
	Version string
	// Log gets what an operator should see. Default: nothing.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = ":7070"
	}
	if o.Shards == 0 {
		o.Shards = 8
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 256 << 20
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate reports everything that is wrong at once.
func (o Options) Validate() error {
	var errs []error
	bad := func(when bool, text, hint string) {
		if when {
			errs = append(errs, &kv.Error{Kind: kv.KindInvalid, Text: text, Op: -1, Hint: hint})
		}
	}
	bad(o.Dir == "", "no storage directory was given", "name one with --store")
	bad(o.Shards < 0 || o.Shards >= kv.MaxShards, "the number of shards is out of range", "use 1 to 1023")
	bad(o.CacheBytes < 0, "the cache's size is negative", "use 0 for the default")
	bad(o.SyncDelay < 0 || o.NetDelay < 0, "a delay is negative", "use 0 for none")
	for _, k := range o.HotKeys {
		errs = append(errs, kv.CheckKey(k))
	}
	return errors.Join(errs...)
}
