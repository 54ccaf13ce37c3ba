package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// sharedKey is the key that all transactions increment; sharedToo is another
// one, whose home is on another node.
var sharedKey, sharedToo = []byte("shared"), []byte("also shared")

// cluster is three nodes in this process.
type cluster struct {
	*embed.Cluster
	clusterKind
	dir  string
	keys [][]byte
}

// clusterKind is what clusters differ in. auto: the shared keys move to the hot
// shard by themselves; else sharedKey is there from the beginning.
type clusterKind struct {
	order txn.Order
	delay time.Duration
	auto  bool
}

// increment makes the operations of a transaction on the shared key and
// another one.
type increment func(other []byte) []msg.Op

// returning is increments that return the sum.
func returning(other []byte) []msg.Op {
	return []msg.Op{{Kind: msg.OpAddGet, Key: sharedKey, Delta: 1}, {Kind: msg.OpAddGet, Key: other, Delta: 1}}
}

// returningOne increments the shared key only, and returns the sum.
func returningOne([]byte) []msg.Op { return []msg.Op{{Kind: msg.OpAddGet, Key: sharedKey, Delta: 1}} }

// returningTwo increments both keys that all share.
func returningTwo(other []byte) []msg.Op {
	return append(returning(other), msg.Op{Kind: msg.OpAddGet, Key: sharedToo, Delta: 1})
}

// blind is increments that return nothing.
func blind(other []byte) []msg.Op {
	return []msg.Op{{Kind: msg.OpAdd, Key: sharedKey, Delta: 1}, {Kind: msg.OpAdd, Key: other, Delta: 1}}
}

// reading reads both keys under the locks that writing needs, and writes
// registers.
func reading(other []byte) []msg.Op {
	shared, value := append(sharedKey[:len(sharedKey):len(sharedKey)], "-register"...), []byte("0123456789abcdef")
	other = append(other[:len(other):len(other)], "-register"...)
	return []msg.Op{{Kind: msg.OpGet, Key: shared, ForUpdate: true}, {Kind: msg.OpGet, Key: other, ForUpdate: true},
		{Kind: msg.OpPut, Key: shared, Value: value}, {Kind: msg.OpPut, Key: other, Value: value}}
}

// load makes so many counters, and chooses keys that are not on the hot shard.
func (c *cluster) load(ctx context.Context, keys int) error {
	for i := range keys {
		c.keys = append(c.keys, []byte("counter/"+strconv.Itoa(i)))
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	i := 0
	for batch := range slices.Chunk(c.keys, 200) {
		ops := []msg.Op{{Kind: msg.OpAdd, Key: sharedKey}}
		for _, k := range batch {
			ops = append(ops, msg.Op{Kind: msg.OpAdd, Key: k})
		}
		client := i
		i++
		g.Go(func() error { return c.execute(ctx, client, ops) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	return nil
}

// increment runs one transaction of a client, which keeps to one gateway.
func (c *cluster) increment(ctx context.Context, client int, ops increment) error {
	return c.execute(ctx, client, ops(c.keys[rand.IntN(len(c.keys))]))
}

func (c *cluster) execute(ctx context.Context, client int, ops []msg.Op) error {
	n := c.Node(kv.NodeID(1 + client%3))
	for {
		r := n.Gateway().Execute(ctx, gateway.Request{Ops: ops})
		if r.Err == nil {
			return nil
		}
		// As the Go client does where too many want the same key.
		if r.Err.Kind != kv.KindResourceExhausted || r.Err.RetryAfter == 0 || !workload.Sleep(ctx, r.Err.RetryAfter) {
			return r.Err
		}
	}
}
