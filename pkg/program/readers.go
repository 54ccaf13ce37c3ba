package program

import (
	"context"
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/workload"
)

// readers tells how readers and writers got along, and looks into the past.
func (d *demo) readers(ctx context.Context, c *embed.Cluster, r *workload.Result, n *seen) error {
	var committed, retries uint64
	for _, k := range r.Kinds {
		if k.Kind != "read-only" && k.Kind != "interactive read" {
			continue
		}
		committed += k.Committed
		retries += k.Retries
	}
	fmt.Fprintf(d.out, "\nReaders beside writers: %d read-only transactions, %d retries. They waited %d times for a decision,\n"+
		"%v each; updates waited %d times for readers, %v each.\n",
		committed, retries, n.reads, each(n.readsWaited, n.reads), n.holds, each(n.held, n.holds))
	return d.past(ctx, c)
}

func each(sum time.Duration, n uint64) time.Duration {
	return (sum / time.Duration(max(n, 1))).Round(time.Microsecond)
}

// past reads the hottest register as it was a while ago, and as it is.
func (d *demo) past(ctx context.Context, c *embed.Cluster) error {
	key := workload.RegisterKey(prefix, 0)
	read := func(how txn.How) gateway.Response {
		return c.Node(2).Gateway().Execute(ctx, gateway.Request{Ops: []msg.Op{{Kind: msg.OpGet, Key: key}}, How: how})
	}
	ago := min(d.run.Duration/2, 2*time.Second)
	now, then := read(txn.How{}), read(txn.How{At: txn.At{AsOf: time.Now().Add(-ago).UnixNano()}})
	if now.Err != nil {
		return now.Err
	}
	if kv.KindOf(asError(then.Err)) == kv.KindTooOld {
		return nil // the run was shorter than a step of the history
	} else if then.Err != nil {
		return then.Err
	}
	fmt.Fprintf(d.out, "%q is at version %v now; as of %v ago it was at version %v, read without delaying a writer.\n",
		key, now.Results[0].Version, ago, then.Results[0].Version)
	return nil
}

func asError(e *kv.Error) error {
	if e == nil {
		return nil
	}
	return e
}
