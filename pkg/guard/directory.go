package guard

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/users"
)

// Store keeps the table of users in the cluster.
type Store interface {
	// Load gives the stored table, nil if there is none, with its version.
	Load(ctx context.Context) ([]byte, kv.Version, error)
	// Save replaces the version old, which is zero if there was nothing. If there
	// is another by now, the error is of KindConditionFailed.
	Save(ctx context.Context, table []byte, old kv.Version) error
}

// DirectoryOptions are a directory's. Store is needed.
type DirectoryOptions struct {
	Store Store
	// Every is how often the store is asked. Default 1 s; negative is only on
	// demand.
	Every time.Duration
	// Grace is how long what was asked for is used. Default 30 s.
	Grace time.Duration
	// Stopping reports whether the node stops. Then the store cannot be read, which is not
	// logged. Default never.
	Stopping func() bool
	// Log gets a line when the table cannot be read. Default none.
	Log *slog.Logger
	// Now is the time. Default time.Now.
	Now func() time.Time
}

// Directory knows the table of users, as it was a moment ago. Its methods may be
// called by any goroutine.
type Directory struct {
	opt    DirectoryOptions
	latest atomic.Pointer[asked]
	// soon has a token when the store is to be asked at once.
	soon   chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

// asked is an answer of the store.
type asked struct {
	table   *users.Table
	version kv.Version
	// at is when it was asked for: the table is not older.
	at time.Time
}

// NewDirectory begins to ask.
func NewDirectory(o DirectoryOptions) *Directory {
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Grace == 0 {
		o.Grace = 30 * time.Second
	}
	if o.Stopping == nil {
		o.Stopping = func() bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Directory{opt: o, soon: make(chan struct{}, 1), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	go d.ask(ctx)
	return d
}

// Close ends the asking.
func (d *Directory) Close() {
	d.cancel()
	<-d.done
}

// ask asks for ever. An answer counts from when the question was asked.
func (d *Directory) ask(ctx context.Context) {
	defer close(d.done)
	if d.opt.Every < 0 {
		return
	}
	tick := time.NewTicker(d.opt.Every)
	defer tick.Stop()
	problem := ""
	for {
		if _, err := d.load(ctx); ctx.Err() != nil {
			return
		} else if err == nil {
			problem = ""
		} else if problem != err.Error() && !d.opt.Stopping() {
			problem = err.Error()
			d.opt.Log.Warn("table of users not read", "error", problem, "age", d.Age().Round(time.Millisecond), "max_age",
				d.opt.Grace)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-d.soon:
		}
	}
}

// load asks once. A question does not outlast the grace.
func (d *Directory) load(ctx context.Context) (*asked, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opt.Grace)
	defer cancel()
	at := d.opt.Now()
	raw, version, err := d.opt.Store.Load(ctx)
	if err != nil {
		return nil, err
	}
	next := &asked{version: version, at: at}
	last := d.latest.Load()
	if last != nil && last.version == version {
		next.table = last.table // what callers have looked up stays true
	} else {
		next.table, err = users.Parse(raw)
	}
	if err != nil {
		return nil, err
	}
	d.publish(next)
	return next, nil
}

// publish keeps the answer that was asked for last.
func (d *Directory) publish(next *asked) {
	for {
		last := d.latest.Load()
		if last != nil && last.at.After(next.at) || d.latest.CompareAndSwap(last, next) {
			return
		}
	}
}

// Table gives the table, unless what is known is too old.
func (d *Directory) Table(now time.Time) (*users.Table, *kv.Error) {
	last := d.latest.Load()
	switch {
	case last == nil:
		return nil, &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the node has not read the table of users yet",
			Hint: "retry, or use another node"}
	case now.Sub(last.at) > d.opt.Grace:
		return nil, &kv.Error{Kind: kv.KindUnavailable, Op: -1,
			Text: "the node cannot read the table of users, and its copy is too old",
			Hint: "check the node of the table's shard; root does not need the table"}
	}
	return last.table, nil
}

// Age is how long ago what is known was asked for; Grace if nothing is.
func (d *Directory) Age() time.Duration {
	if last := d.latest.Load(); last != nil {
		return d.opt.Now().Sub(last.at)
	}
	return d.opt.Grace
}

// maxTries bounds how often a change is made anew because another one came
// first.
const maxTries = 16

// Change has the table be what change makes of it, and asks for it at once. change
// is called again if another change came first; its errors end the attempt.
func (d *Directory) Change(ctx context.Context, change func(*users.Table) (*users.Table, error)) error {
	for try := 1; ; try++ {
		now, err := d.load(ctx)
		if err != nil {
			return err
		}
		next, err := change(now.table)
		if err != nil {
			return err
		}
		raw, err := next.Encode()
		if err != nil {
			return err
		}
		err = d.opt.Store.Save(ctx, raw, now.version)
		if err == nil {
			break
		} else if kv.KindOf(err) != kv.KindConditionFailed || try == maxTries {
			return err
		}
	}
	// The change is made, and other nodes read it within Every. So does this node, if
	// it cannot read now.
	if _, err := d.load(ctx); err != nil {
		select {
		case d.soon <- struct{}{}:
		default:
		}
	}
	return nil
}

// Users reads the table anew: an administrator is not shown an old one.
func (d *Directory) Users(ctx context.Context) ([]*users.User, error) {
	now, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	return now.table.Users(), nil
}
