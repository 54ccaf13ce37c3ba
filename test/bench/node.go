package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/linchpindb/linchpin/pkg/client"
)

// valueBytes is the size of the values that are put.
const valueBytes = 128

// node is a linchpin node in a process of its own, with a client.
type node struct {
	*child
	db   *client.DB
	keys []string
}

// startNode starts a node of its own cluster, with so many keys in it.
func startNode(ctx context.Context, o *options, dir, name string, flags ...string) (*node, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	args := append([]string{"node", "--store", filepath.Join(dir, name), "--listen", addr}, flags...)
	if o.profile != "" {
		args = append(args, "--profile-as", filepath.Join(o.profile, name))
	}
	n := &node{}
	n.child, err = self(ctx, args...)
	if err != nil {
		return nil, err
	}
	n.db, err = client.Open(ctx, []string{n.addr})
	if err != nil {
		return nil, err
	}
	n.keys = keys(o.keys)
	return n, load(ctx, n.db, n.keys)
}

// keys makes so many keys of 16 bytes.
func keys(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("bench/%010d", i)
	}
	return out
}

// load puts every key once.
func load(ctx context.Context, db *client.DB, keys []string) error {
	const batch = 500
	for at := 0; at < len(keys); at += batch {
		var ops []client.Op
		for _, k := range keys[at:min(at+batch, len(keys))] {
			ops = append(ops, client.PutOp(k, make([]byte, valueBytes)))
		}
		if err := db.Execute(ctx, ops...); err != nil {
			return fmt.Errorf("loading: %w", err)
		}
	}
	return nil
}

// put puts a random key.
func (n *node) put(ctx context.Context, _ int) error {
	var value [valueBytes]byte
	return n.db.Put(ctx, n.keys[rand.IntN(len(n.keys))], value[:])
}

// get reads a random key.
func (n *node) get(ctx context.Context, _ int) error {
	_, _, err := n.db.Get(ctx, n.keys[rand.IntN(len(n.keys))])
	return err
}

func (n *node) close() error {
	_ = n.db.Close()
	return n.stop()
}
