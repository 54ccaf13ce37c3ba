package scenario

import (
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/world"
)

// deadline is the deadline of every call: none.
const deadline = int64(1) << 60

// call is a transaction at its gateway.
type call struct {
	*Txn
	c      *Cluster
	g      *world.Node
	id     kv.TxnID
	writes bool
	// readers are the ids under which it reads on the shards.
	readers []string
	// open: it is interactive, and has not ended.
	open bool
}

func (c *Cluster) call(name string, gateway kv.NodeID, format string, args ...any) *call {
	x := &call{Txn: c.start(name), c: c, g: c.w.Nodes[gateway-1]}
	// A later transaction is younger. No two have the same txn.Affinity.
	n := len(c.calls) + 1
	x.id = kv.TxnID{Time: world.WallBase + int64(n), Rand: uint64(n) << 32}
	c.calls = append(c.calls, x)
	c.logf("%s begins at %v: "+format, append([]any{name, x.g.ID}, args...)...)
	return x
}

func (c *Cluster) callOf(id kv.TxnID) *call {
	i := slices.IndexFunc(c.calls, func(x *call) bool { return x.id == id })
	return c.calls[i]
}

// Put begins a one-shot update that writes its name to some keys.
func (c *Cluster) Put(name string, gateway kv.NodeID, keys ...string) *Txn {
	return c.Update(name, gateway, nil, keys)
}

// Update is Put for a transaction that first reads.
func (c *Cluster) Update(name string, gateway kv.NodeID, reads, writes []string) *Txn {
	what := "put " + strings.Join(writes, " ")
	if len(reads) > 0 {
		what = "get " + strings.Join(reads, " ") + ", " + what
	}
	x := c.call(name, gateway, "%s", what)
	x.writes = true
	ops := gets(reads)
	for _, k := range writes {
		ops = append(ops, msg.Op{Kind: msg.OpPut, Key: []byte(k), Value: []byte(name)})
	}
	x.execute(ops)
	return x.Txn
}

// Read begins a one-shot read-only transaction.
func (c *Cluster) Read(name string, gateway kv.NodeID, keys ...string) *Txn {
	x := c.call(name, gateway, "get %s", strings.Join(keys, " "))
	x.execute(gets(keys))
	return x.Txn
}

// Move begins to move a key from its home shard to the hot shard, or back.
func (c *Cluster) Move(name string, gateway kv.NodeID, key string, from, to kv.ShardID) *Txn {
	x := c.call(name, gateway, "move %s from %v to %v", key, from, to)
	x.g.Machines[0].Move(x.g.Local(), x.onDone, x.id, []byte(key), from, to, deadline)
	x.g.Flush()
	c.run()
	return x.Txn
}

func (x *call) execute(ops []msg.Op) {
	x.g.Machines[0].Execute(x.g.Local(), func(d txn.Done) {
		x.recordResults(ops, d.Results)
		x.onDone(d)
	}, x.id, ops, deadline, txn.TxnOptions{})
	x.g.Flush()
	x.c.run()
}

func gets(keys []string) (ops []msg.Op) {
	for _, k := range keys {
		ops = append(ops, msg.Op{Kind: msg.OpGet, Key: []byte(k)})
	}
	return ops
}

// recordResults records the results of operations.
func (x *call) recordResults(ops []msg.Op, results []msg.Result) {
	for i := range results {
		if ops[i].Kind == msg.OpGet {
			x.recordRead(string(ops[i].Key), results[i].Found, results[i].Value, results[i].Version)
		}
	}
}

func (x *call) recordRead(key string, found bool, value []byte, version kv.Version) {
	if found {
		x.read(key, string(value), version)
		return
	}
	x.read(key, Nothing, kv.Version{})
}

func (x *call) onDone(d txn.Done) {
	x.open = false
	if d.Failure != nil {
		x.Failed = d.Failure.Text
	}
	x.c.finish(x.Txn)
}

// Reader is an interactive read-only transaction.
type Reader struct{ *call }

// Open begins an interactive read-only transaction.
func (c *Cluster) Open(name string, gateway kv.NodeID) Reader {
	x := c.call(name, gateway, "interactive")
	x.open = true
	if f := x.g.Machines[0].Begin(x.g.Local(), x.ref(), true, txn.TxnOptions{}); f != nil {
		c.t.Fatal(f.Text)
	}
	x.g.Flush()
	return Reader{x}
}

func (x *call) ref() kv.TxnRef { return kv.TxnRef{TxnID: x.id, Attempt: 1} }

// Read reads some keys. The values may be returned later.
func (r Reader) Read(keys ...string) {
	ops := gets(keys)
	r.c.logf("%s reads %s", r.Name, strings.Join(keys, " "))
	r.g.Machines[0].Do(r.g.Local(), func(d txn.Done) {
		if d.Failure != nil {
			r.onDone(d)
			return
		}
		r.recordResults(ops, d.Results)
		r.c.logf("%s has read %s", r.Name, r.readsText())
	}, r.ref(), ops, 0)
	r.g.Flush()
	r.c.run()
}

// End commits the transaction.
func (x *call) End() {
	x.c.logf("%s requests its end", x.Name)
	x.g.Machines[0].Commit(x.g.Local(), x.onDone, x.ref(), deadline)
	x.g.Flush()
	x.c.run()
}

// Scan begins a scan of all keys; keys are those to record, since a scan does not list absent keys.
func (c *Cluster) Scan(name string, gateway kv.NodeID, keys ...string) *Txn {
	x := c.call(name, gateway, "scan")
	x.g.Machines[0].Scan(x.g.Local(), func(d txn.Done) {
		if d.Failure != nil {
			x.onDone(d)
			return
		}
		c.logf("%s has fixed the CSN of every shard", name)
		x.g.Machines[0].Next(x.g.Local(), func(d txn.Done) { x.scanned(keys, d) }, x.ref(), 1000)
		x.g.Flush()
	}, x.id, kv.Range(nil, nil), false, deadline, txn.TxnOptions{})
	x.g.Flush()
	c.run()
	return x.Txn
}

func (x *call) scanned(keys []string, d txn.Done) {
	for _, k := range keys {
		i := slices.IndexFunc(d.Pairs, func(p msg.Pair) bool { return string(p.Key) == k })
		if i < 0 {
			x.recordRead(k, false, nil, kv.Version{})
			continue
		}
		x.recordRead(k, true, d.Pairs[i].Value, d.Pairs[i].Version)
	}
	x.onDone(d)
}
