package backup

import (
	"context"
	"errors"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/internal/clientlink"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

const (
	// pageKeys and pageBytes bound a page: it ends with the value that reaches pageBytes.
	pageKeys  = 512
	pageBytes = 4 << 20
	// together is how many values of data types, of up to kv.MaxStateBytes each, are read concurrently
	// and held in memory; and how many transactions of a restore run concurrently. Somewhat arbitrary.
	together = 8
	// triesInARow is how often in a row a page may fail without having read a key. Each try includes the
	// retries of the client.
	triesInARow = 5
)

// export yields all keys of a snapshot after one, in order. An error is yielded once, with an empty record,
// as the last pair.
func export(ctx context.Context, db *client.DB, snapshot string, after []byte) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		x := &exporting{at: db.AtSnapshot(snapshot), yield: yield}
		if after != nil {
			x.from = string(kv.Next(after))
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
			case x.from != before:
				tries = 0 // a part of the page has been read
			}
			// A snapshot does not change, so the export can continue after any error.
			tries++
			if tries == triesInARow || ctx.Err() != nil || !kv.KindOf(err).Retryable() {
				yield(Record{}, err)
				return
			}
		}
	}
}

// exporting is an export in progress.
type exporting struct {
	at    *client.Snapshot
	yield func(Record, error) bool
	// from is the start of the next page: after the last key that was yielded.
	from string
}

// page yields the next keys, and reports whether to read another page.
func (x *exporting) page(ctx context.Context) (more bool, _ error) {
	page, more, err := firstPage(x.at.Scan(ctx, client.Range{Start: x.from}, client.Limit(pageKeys)))
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
			x.from = string(kv.Next(r.Key))
		}
		page = page[n:]
	}
	return more, nil
}

// firstPage reads one page, and reports whether there may be more.
func firstPage(from iter.Seq2[client.Entry, error]) (page []client.Entry, more bool, _ error) {
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

// whole reports whether a scan returns the whole value of a key of a type.
func whole(t client.Type) bool { return t == client.TypeValue || t == client.TypeCounter }

// readTogether returns how many of the first keys are read together: as many as have at most together
// values that need a read of their own.
func readTogether(page []client.Entry) int {
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

// dump returns the records of keys. It reads the values that the scan did not return.
func dump(ctx context.Context, at *client.Snapshot, page []client.Entry) ([]Record, error) {
	out := make([]Record, len(page))
	g, ctx := errgroup.WithContext(ctx)
	for i := range page {
		e, r := &page[i], &out[i]
		*r = Record{Key: []byte(e.Key)}
		if !e.Expires.IsZero() {
			r.Expires = e.Expires.UnixMilli()
		}
		switch e.Type {
		case client.TypeCounter:
			r.Type, r.Value = uint32(adt.Counter), adt.EncodeCounter(e.Number)
		case client.TypeValue:
			r.Type, r.Value = uint32(adt.Value), e.Value
		default:
			g.Go(func() error { return dumpOne(ctx, at, e, r) })
		}
	}
	return out, g.Wait()
}

// dumpOne reads one value in its stored form.
func dumpOne(ctx context.Context, at *client.Snapshot, e *client.Entry, r *Record) error {
	op := client.DumpOp(e.Key)
	if err := at.Execute(ctx, op); err != nil {
		return err
	}
	d := op.Value()
	if d.Type() != e.Type {
		return errors.New("backup: a key of the snapshot changed during the backup")
	}
	stored := clientlink.DumpResult(d)
	r.Type, r.Value = uint32(stored.Type), stored.Value
	return nil
}

// operation returns the operation that writes a record.
func (r *Record) operation() (client.Op, error) {
	stored := &pb.Result{Found: true, Type: pb.DataType(r.Type), Value: r.Value, ExpiresAtMs: r.Expires}
	if entry.Type(r.Type) == adt.Counter {
		n, err := adt.DecodeCounter(r.Value)
		if err != nil {
			return nil, err
		}
		stored.Value, stored.Number = nil, n
	}
	return client.RestoreOp(string(r.Key), clientlink.Dump(stored).(client.Dump)), nil
}
