package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// trio are three nodes of one cluster.
type trio struct {
	nodes [3]*child
	// addrs are in their order, as nodes are numbered by their addresses: that of node 1 is the first.
	addrs []string
	// args are those with which each starts, stores their directories.
	args   [3][]string
	stores [3]string
}

// startTrio starts the nodes, all with the same flags. Their stores are in dir.
func startTrio(ctx context.Context, o *options, dir, name string, flags ...string) (*trio, error) {
	t := &trio{}
	for range t.nodes {
		addr, err := freeAddr()
		if err != nil {
			return nil, err
		}
		t.addrs = append(t.addrs, addr)
	}
	slices.Sort(t.addrs)
	var g errgroup.Group
	for i, addr := range t.addrs {
		name := fmt.Sprint(name, i+1)
		t.stores[i] = filepath.Join(dir, name)
		t.args[i] = append([]string{"node", "--store", t.stores[i], "--listen", addr, "--join",
			strings.Join(t.addrs, ",")}, flags...)
		if o.profile != "" {
			t.args[i] = append(t.args[i], "--profile-as", filepath.Join(o.profile, name))
		}
		g.Go(func() error { return t.start(ctx, i) })
	}
	if err := g.Wait(); err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

// start starts a node that does not run.
func (t *trio) start(ctx context.Context, i int) (err error) {
	t.nodes[i], err = self(ctx, t.args[i]...)
	return err
}

func (t *trio) stop() error {
	errs := make([]error, len(t.nodes))
	var all sync.WaitGroup
	for i, n := range t.nodes {
		if n != nil {
			all.Go(func() { errs[i] = n.stop() })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}
