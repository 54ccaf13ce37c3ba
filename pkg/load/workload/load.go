package workload

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// LoadOptions describe how a keyspace is filled.
type LoadOptions struct {
	// Keys, ValueBytes and Prefix are as in Options, with the same defaults.
	Keys       uint64
	ValueBytes int
	Prefix     string
	// Counters makes the counters, too: it adds 0 to each.
	Counters bool
	// From is the first key to load; those below it are taken to be there.
	From uint64
	// Batch is the number of keys in a transaction. Default 100.
	Batch int
	// Clients is how many transactions are in flight. Default 16.
	Clients int
	// Timeout is the deadline of each transaction. Default 10 s.
	Timeout time.Duration
	// Progress, if set, is called from one goroutine at a time after each
	// batch, with the number of keys that are certainly there, as a first
	// part of all: From for the next attempt.
	Progress func(loaded uint64)
}

// withDefaults fills in the defaults.
func (o LoadOptions) withDefaults() LoadOptions {
	d := Options{Keys: o.Keys, ValueBytes: o.ValueBytes, Prefix: o.Prefix, Clients: o.Clients,
		Timeout: o.Timeout}.WithDefaults()
	o.Keys, o.ValueBytes, o.Prefix, o.Clients, o.Timeout = d.Keys, d.ValueBytes, d.Prefix, d.Clients, d.Timeout
	if o.Batch == 0 {
		o.Batch = 100
	}
	return o
}

// Validate reports what is wrong with o, or nil. It takes the zero value of a
// field for its default.
func (o LoadOptions) Validate() error {
	o = o.withDefaults()
	perKey := 1
	if o.Counters {
		perKey = 2
	}
	err := Options{Keys: o.Keys, ValueBytes: o.ValueBytes, Prefix: o.Prefix, Clients: o.Clients,
		Timeout: o.Timeout}.WithDefaults().Validate()
	switch {
	case err != nil:
		return err
	case o.Batch < 1 || o.Batch*perKey > kv.MaxTxnOps:
		return fmt.Errorf("batches of %d keys, want 1 to %d", o.Batch, kv.MaxTxnOps/perKey)
	case o.Batch*(o.ValueBytes+2*(len(o.Prefix)+keyTailBytes)) > kv.MaxTxnBytes:
		return fmt.Errorf("batches of %d keys with values of %d bytes make transactions of more than %d bytes", o.Batch,
			o.ValueBytes, kv.MaxTxnBytes)
	case o.From > o.Keys:
		return fmt.Errorf("from is %d, want at most the number of keys, %d", o.From, o.Keys)
	}
	return nil
}

// Load gives every register its first value. The value depends on nothing but
// the key's number and the size, so loading twice is the same as loading once,
// and a load that broke off can be begun again, from the start or from the
// number that it gives: all keys below it are loaded.
//
// It stops at the first error that the store could not get over.
func Load(ctx context.Context, store Store, o LoadOptions) (loaded uint64, err error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &loader{LoadOptions: o, store: store, next: o.From, loaded: o.From,
		pending: map[uint64]uint64{}, filler: newFiller(0, o.ValueBytes)}
	var wg sync.WaitGroup
	for range o.Clients {
		wg.Go(func() {
			for {
				from, to := l.take()
				if from == to || ctx.Err() != nil {
					return
				}
				if err := l.batch(ctx, from, to); err != nil {
					cancel(fmt.Errorf("loading keys %d to %d: %w", from, to-1, err))
					return
				}
				l.done(from, to)
			}
		})
	}
	wg.Wait()
	if l.loaded < o.Keys {
		return l.loaded, context.Cause(ctx)
	}
	return l.loaded, nil
}

type loader struct {
	LoadOptions
	store  Store
	filler []byte

	mu sync.Mutex // guards what follows
	// next is the first key that no batch has taken; all below loaded are
	// there; pending are the batches above it that are done, by their start.
	next, loaded uint64
	pending      map[uint64]uint64
}

// take gives the next batch, [from, to), which is empty at the end.
func (l *loader) take() (from, to uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from = l.next
	l.next = min(l.next+uint64(l.Batch), l.Keys)
	return from, l.next
}

func (l *loader) done(from, to uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[from] = to
	for end, ok := l.pending[l.loaded]; ok; end, ok = l.pending[l.loaded] {
		delete(l.pending, l.loaded)
		l.loaded = end
	}
	if l.Progress != nil {
		l.Progress(l.loaded)
	}
}

func (l *loader) batch(ctx context.Context, from, to uint64) error {
	ops := make([]Op, 0, 2*(to-from))
	for n := from; n < to; n++ {
		ops = append(ops, Op{Kind: Write, Key: RegisterKey(l.Prefix, n), Value: l.value(n)})
		if l.Counters {
			ops = append(ops, Op{Kind: Add, Key: CounterKey(l.Prefix, n)})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	_, err := l.store.Execute(ctx, ops)
	return err
}

// value is the first value of a key. Its first word has no dot, unlike the
// values of a run.
func (l *loader) value(number uint64) []byte {
	b := fmt.Appendf(make([]byte, 0, l.ValueBytes), "load %d", number)
	return pad(b, 0, l.ValueBytes, l.filler, number*31)
}
