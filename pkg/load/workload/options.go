package workload

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/dist/zipf"
)

// Options describe a run. The zero value of a field means its default where
// one is named.
type Options struct {
	// Name is what reports call the workload; it decides nothing.
	Name string
	// Keys is the number of keys, 1 to MaxKeys. Default 100,000. There
	// are as many counters besides, for increments.
	Keys uint64
	// Skew is the exponent s of the Zipf distribution, at least 0. 0 is uniform.
	Skew float64
	// Shuffle scatters the hot keys over the keyspace; without it the first
	// keys are the hottest.
	Shuffle bool
	// MoveHotEvery moves the hot spot to other keys each time this much of
	// the run has passed, the warm-up included. 0 is never.
	MoveHotEvery time.Duration
	// Prefix begins every key. Default "zeta/".
	Prefix string

	// FreshKeys adds something new to the prefix, so that no key exists when
	// the run begins, whatever ran before.
	FreshKeys bool

	// Mix gives the shares of the kinds of transactions. Default DefaultMix.
	Mix Mix
	// Ops is the number of keys a transaction draws. A read-modify-write does
	// two operations on each. Default 4.
	Ops int
	// Distinct draws the keys of a transaction without replacement; without
	// it one key may come twice.
	Distinct bool
	Placement
	// ValueBytes is the size of written values. At least MinValueBytes.
	// Default 128.
	ValueBytes int
	// Interactive sends operations one by one rather than all at once.
	Interactive bool
	Readers

	// App, if set, is run instead of all that is said above, and without
	// scans and a Recorder.
	App App

	// Clients is how many transactions are in flight at most, 1 to
	// MaxClients. Default 16.
	Clients int
	Scanning
	// Rate is how many transactions are meant to start in a second, evenly
	// spaced. 0 makes a closed loop.
	Rate float64
	// Warmup precedes the measured part. Default none.
	Warmup time.Duration
	// Duration bounds the measured part. Default 10 s, or none with a Count.
	Duration time.Duration
	// Count bounds the transactions of the measured part. 0 is no bound.
	Count uint64
	// Timeout is the deadline of each transaction, retries included. Default
	// 10 s, at most MaxTimeout.
	Timeout time.Duration
	// Seed determines what is drawn.
	Seed uint64

	Reporting
	// Recorder, if set, gets every transaction, those of the warm-up too.
	Recorder Recorder
}

// Placement says on which nodes the keys of a transaction are.
type Placement struct {
	// Locality is how many per cent of the keys are drawn from those on the
	// client's own node, 0 to 100; the others are drawn from all, and may be
	// there by chance. Above 0 it takes Homes.
	Locality float64
	// Homes says what lives where; needed, and used, with Locality alone.
	Homes Homes
}

// Readers describes read-only transactions.
type Readers struct {
	// ReadKeys is the number of keys of a read-only transaction, within 1 to
	// MaxReadKeys. The zero value stands for Ops.
	ReadKeys KeyCount
	// InteractiveReads is how many per cent of the read-only transactions are
	// interactive, 0 to 100, the others being as Interactive says.
	InteractiveReads float64
	// ThinkTime is how long an interactive reader waits between the answer to
	// a read and the next read. Together its pauses are shorter than Timeout.
	ThinkTime time.Duration
}

// Scanning describes scans of all keys beside the transactions.
type Scanning struct {
	// Scanners is how many scans of everything run beside the transactions, 0
	// to MaxScanners. Default none.
	Scanners int
	// ScanPace is how many pairs a second each of them takes. 0 is as fast as
	// they come.
	ScanPace float64
}

// Reporting says how a run reports while it is in progress.
type Reporting struct {
	// Progress, if set, gets a snapshot every ProgressEvery (default 1 s)
	// from one goroutine, and a last one at the end.
	Progress      func(Snapshot)
	ProgressEvery time.Duration
}

const (
	// MaxKeys bounds the keys.
	MaxKeys = zipf.MaxKeys
	// MaxClients bounds the clients; each is a goroutine.
	MaxClients = 65_536
	// MinValueBytes is room for the tag that makes a value unique.
	MinValueBytes = 32
	// MaxTimeout is also the longest latency that is measured.
	MaxTimeout = 10 * time.Minute
	// maxPrefixBytes leaves room for the number and stays far from the limit.
	maxPrefixBytes = 256
)

// WithDefaults gives o with its defaults filled in.
func (o Options) WithDefaults() Options {
	if o.Keys == 0 {
		o.Keys = 100_000
	}
	if o.Prefix == "" {
		o.Prefix = "zeta/"
	}
	if o.Mix == (Mix{}) {
		o.Mix = DefaultMix
	}
	if o.Ops == 0 {
		o.Ops = 4
	}
	if o.ValueBytes == 0 {
		o.ValueBytes = 128
	}
	if o.Clients == 0 {
		o.Clients = 16
	}
	if o.Duration == 0 && o.Count == 0 {
		o.Duration = 10 * time.Second
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.ProgressEvery == 0 {
		o.ProgressEvery = time.Second
	}
	return o
}

// Validate reports everything that is wrong with o, whose defaults have been
// filled in, in one error, or nil.
func (o Options) Validate() error {
	var all []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	bad(o.Keys > MaxKeys, "%d keys, want 1 to %d", o.Keys, MaxKeys)
	bad(!isAmount(o.Skew), "skew %v, want a finite number, 0 or more", o.Skew)
	bad(len(o.Prefix) > maxPrefixBytes, "a prefix of %d bytes, want at most %d", len(o.Prefix), maxPrefixBytes)
	if s := o.Mix.check(); s != "" {
		all = append(all, errors.New(s))
	}
	// A read-modify-write does two operations a key.
	bad(o.Ops < 1 || o.Ops > kv.MaxTxnOps/2, "%d operations a transaction, want 1 to %d", o.Ops, kv.MaxTxnOps/2)
	bad(o.ValueBytes < MinValueBytes || o.ValueBytes > kv.MaxValueBytes,
		"values of %d bytes, want %d to %d", o.ValueBytes, MinValueBytes, kv.MaxValueBytes)
	perKey, keys := o.ValueBytes+2*(len(o.Prefix)+keyTailBytes), max(o.Ops, o.ReadKeys.Max)
	bad(keys > 0 && o.ValueBytes > 0 && keys <= kv.MaxTxnOps && keys*perKey > kv.MaxTxnBytes,
		"%d operations with values of %d bytes make transactions of more than %d bytes", keys, o.ValueBytes, kv.MaxTxnBytes)
	all = append(all, o.checkReaders()...)
	bad(o.Clients < 1 || o.Clients > MaxClients, "%d clients, want 1 to %d", o.Clients, MaxClients)
	bad(o.Scanners < 0 || o.Scanners > MaxScanners, "%d scanners, want 0 to %d", o.Scanners, MaxScanners)
	bad(!isAmount(o.ScanPace), "a scan pace of %v pairs a second, want 0 (no limit) or more", o.ScanPace)
	bad(o.ScanPace > 0 && o.Scanners == 0, "a scan pace of %v pairs a second and no scanners; set the number of scanners",
		o.ScanPace)
	bad(!isAmount(o.Rate) || o.Rate > 1e9, "a rate of %v transactions a second, want 0 to 1e9", o.Rate)
	bad(o.MoveHotEvery < 0, "the hot spot moves every %v, want 0 (never) or more", o.MoveHotEvery)
	bad(o.Warmup < 0, "a warm-up of %v, want 0 or more", o.Warmup)
	bad(o.Duration < 0, "a duration of %v, want 0 or more", o.Duration)
	bad(o.Timeout < 0 || o.Timeout > MaxTimeout, "a timeout of %v, want at most %v", o.Timeout, MaxTimeout)
	bad(o.App != nil && o.Scanners > 0, "%d scanners with an application, want none", o.Scanners)
	bad(o.App != nil && o.Recorder != nil, "the transactions of an application cannot be recorded as a history")
	bad(o.ProgressEvery < 0, "progress every %v, want more than 0", o.ProgressEvery)
	return errors.Join(all...)
}

// checkReaders gives what is wrong with how keys are read.
func (o Options) checkReaders() (all []error) {
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	reads := o.readKeys()
	bad(o.ReadKeys != KeyCount{} && !o.ReadKeys.valid(),
		"read-only transactions of %d to %d keys, want 1 to %d, the smaller number first",
		o.ReadKeys.Min, o.ReadKeys.Max, MaxReadKeys)
	bad(o.Distinct && uint64(max(o.Ops, reads.Max, 0)) > o.Keys,
		"%d distinct keys a transaction of %d keys; use more keys, or let them repeat",
		max(o.Ops, reads.Max), o.Keys)
	bad(!isPercentage(o.Locality), "%v %% of the keys on the client's node, want 0 to 100", o.Locality)
	bad(!isPercentage(o.InteractiveReads), "%v %% of the read-only transactions interactive, want 0 to 100",
		o.InteractiveReads)
	bad(o.ThinkTime < 0, "a think time of %v, want 0 or more", o.ThinkTime)
	bad(o.ThinkTime > 0 && !o.Interactive && o.InteractiveReads == 0,
		"a think time of %v and no interactive reads; set interactive-reads", o.ThinkTime)
	pauses, limit := time.Duration(max(reads.Max-1, 0)), min(o.Timeout, kv.MaxTxnAge)
	bad(o.ThinkTime > 0 && pauses > 0 && o.ThinkTime > limit/pauses,
		"a think time of %v between %d reads exceeds the limit of %v of a transaction; think less, read fewer keys, or "+
			"raise the timeout (at most %v)",
		o.ThinkTime, reads.Max, limit, kv.MaxTxnAge)
	return all
}

// readKeys is the number of keys of a read-only transaction.
func (o Options) readKeys() KeyCount {
	if o.ReadKeys == (KeyCount{}) {
		return KeyCount{o.Ops, o.Ops}
	}
	return o.ReadKeys
}

func isPercentage(f float64) bool { return f >= 0 && f <= 100 }

func isAmount(f float64) bool { return f >= 0 && !math.IsInf(f, 0) }
