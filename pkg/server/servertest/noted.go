package servertest

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Noted is a Store that reports the options of reads. A read as of a time reads the present: the store has
// no history.
type Noted struct {
	*Store
	// Note is called with how each transaction, and each scan, is to read.
	Note func(txn.TxnOptions)
}

// Submit runs a one-shot transaction.
func (s *Noted) Submit(r gateway.Request, done func(gateway.Response)) {
	s.Note(r.How)
	r.How.At.AsOf = 0
	s.Store.Submit(r, done)
}

// Begin begins an interactive transaction.
func (s *Noted) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	s.Note(o.How)
	o.How.At.AsOf = 0
	return s.Store.Begin(ctx, o)
}

// Scan reads a range in pages.
func (s *Noted) Scan(ctx context.Context, o gateway.ScanOptions, page func([]msg.Pair) error) error {
	s.Note(o.How)
	o.How.At.AsOf = 0
	return s.Store.Scan(ctx, o, page)
}
