package backup

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
)

const (
	// pageKeys and pageBytes bound what is asked for at a time: a page ends with the
	// value that reaches pageBytes.
	pageKeys  = 512
	pageBytes = 4 << 20
	// together is how many values of data types, each of which may have
	// kv.MaxStateBytes, are read at a time, and in memory; and how many transactions
	// write. Somewhat arbitrary.
	together = 8
	// triesInARow is how often in a row reading on may fail, with nothing read in
	// between. Each has the client's own repetitions within.
	triesInARow = 5
)

// export reads all keys that a snapshot has after one, in order. A failure is
// yielded once, with an empty record, and is the last.
func export(ctx context.Context, db *client.DB, snapshot string, after []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		x := &exporting{at: db.With(client.AtSnapshot(snapshot)), yield: yield}
		if after != nil {
			x.from = kv.Next(after)
		}
		for tries := 0; ; {
			before := x.from
			more, err := x.page(ctx)
			switch {
			case err == nil && more:
				tries = 0
				continue
			case err == nil:
				return
			case !bytes.Equal(x.from, before):
				tries = 0 // a part of the page has been read
			}
			// A state stays what it is, so reading can go on after any failure.
			tries++
			if tries == triesInARow || ctx.Err() != nil || !kv.KindOf(err).Retryable() {
				yield(Record{}, err)
				return
			}
		}
	}
}

// exporting is an export under way.
type exporting struct {
	at    *client.Handle
	yield func(Record, error) bool
	// from is where the next page begins: behind what has been yielded.
	from []byte
}

// page yields the next keys, and reports whether there may be more that are wanted.
func (x *exporting) page(ctx context.Context) (more bool, _ error) {
	page, more, err := firstPage(x.at.Scan(ctx, x.from, nil, client.ScanOptions{Limit: pageKeys}))
	if err != nil {
		return true, err
	}
	for len(page) > 0 {
		n := readTogether(page)
		records, err := dump(ctx, x.at, page[:n])
		if err != nil {
			return true, err
		}
		for _, r := range records {
			if !x.yield(r, nil) {
				return false, nil
			}
			x.from = kv.Next(r.Key)
		}
		page = page[n:]
	}
	return more, nil
}

// firstPage takes what fits into a page, and reports whether there may be more.
func firstPage(from iter.Seq2[client.Pair, error]) (page []client.Pair, more bool, _ error) {
	size := 0
	for p, err := range from {
		if err != nil {
			return nil, true, err
		}
		page = append(page, p)
		size += len(p.Key) + len(p.Value)
		if size >= pageBytes {
			return page, true, nil
		}
	}
	return page, len(page) == pageKeys, nil
}

// whole reports whether a scan tells all there is of a key.
func whole(t client.Type) bool { return t == client.TypeRegister || t == client.TypeCounter }

// readTogether is how many of the first keys are read together: so many that there
// are few whose values are read by themselves.
func readTogether(page []client.Pair) int {
	apart := 0
	for i := range page {
		if whole(page[i].Type) {
			continue
		}
		apart++
		if apart > together {
			return i
		}
	}
	return len(page)
}

// dump makes records of keys, and reads what scans do not tell.
func dump(ctx context.Context, at *client.Handle, page []client.Pair) ([]Record, error) {
	out := make([]Record, len(page))
	g, ctx := errgroup.WithContext(ctx)
	for i := range page {
		p, r := &page[i], &out[i]
		*r = Record{Key: p.Key, Type: uint32(p.Type)}
		if at, expires := p.Expires(); expires {
			r.Expires = at.UnixMilli()
		}
		switch {
		case p.Type == client.TypeCounter:
			r.Value = adt.EncodeCounter(p.Number)
		case whole(p.Type):
			r.Value = p.Value
		default:
			g.Go(func() (err error) {
				r.Value, err = dumpOne(ctx, at, p)
				return err
			})
		}
	}
	return out, g.Wait()
}

// dumpOne reads one value in its stored form.
func dumpOne(ctx context.Context, at *client.Handle, p *client.Pair) ([]byte, error) {
	o, err := at.Execute(ctx, client.Dump(p.Key))
	if err != nil {
		return nil, err
	}
	if o.ResultsLost || !o.Results[0].Found || o.Results[0].Type != p.Type {
		return nil, errors.New("backup: a key of the snapshot changed during the backup")
	}
	return o.Results[0].Value, nil
}

// operation is what writes a record.
func (r *Record) operation() (client.Op, error) {
	var expires time.Time
	if r.Expires != 0 {
		expires = time.UnixMilli(r.Expires)
	}
	if t := entry.Type(r.Type); t == adt.Counter {
		n, err := adt.DecodeCounter(r.Value)
		return client.Restore(r.Key, client.TypeCounter, nil, n).At(expires), err
	}
	return client.Restore(r.Key, client.Type(r.Type), r.Value, 0).At(expires), nil
}
