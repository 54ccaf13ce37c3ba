package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/certs"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/users"
)

// locks are neighbours that hold what others want to lock, or win what they want.
func locks() []neighbour {
	read := func(ctx context.Context, tx *client.Tx) error {
		for i := range 4 {
			if _, _, err := tx.Get(ctx, hotKey(i)); err != nil {
				return err
			}
		}
		return nil
	}
	lock := func(ctx context.Context, tx *client.Tx) error {
		return tx.Execute(ctx, client.GetForUpdateOp(hotKey(0)), client.GetForUpdateOp(hotKey(1)),
			client.GetForUpdateOp(hotKey(2)), client.GetForUpdateOp(hotKey(3)))
	}
	return []neighbour{
		holders("a user who may only read, in updates", "reader", read, time.Minute, ""),
		holders("a user who may write, and holds the keys for 300 ms", "writer", lock, 300*time.Millisecond,
			"the holder has a second, and half of the time after that"),
		{name: "a client whose clock is nine minutes behind", start: pastClock, bound: "half: it sends as much as they do"},
		{name: "a taker of first jobs, and with seven more", start: takers},
		{name: "producers of jobs beside eight takers", start: producers, bound: "half of their own rate is asked for"},
	}
}

func hotKey(i int) string { return fmt.Sprintf("hot/%d", i%4) }

// holders has eight clients of a user hold locks, while others put the keys.
func holders(name, user string, take func(context.Context, *client.Tx) error, hold time.Duration,
	bound string) neighbour {
	return neighbour{name: name, bound: bound, start: func(ctx context.Context, o *options, dir string) (*street, error) {
		n, as, err := startSecure(ctx, o, dir)
		if err != nil {
			return nil, err
		}
		rights := admin.Rights{Grants: []admin.Grant{{Prefix: "hot/", Write: user == "writer"}}}
		if _, _, err := admin.New(n.db).CreateUser(ctx, user, rights, admin.TokenOptions{}); err != nil {
			return nil, err
		}
		time.Sleep(time.Second) // until the node knows of the user
		db, err := as(ctx, user)
		if err != nil {
			return nil, err
		}
		put := func(ctx context.Context, c int) error { return n.db.Put(ctx, hotKey(c), []byte("v")) }
		return &street{clients: 8, honest: put, stop: func() error { return errors.Join(db.Close(), n.close()) },
			beside: func(ctx context.Context) error {
				return each(ctx, 8, func() error {
					err := db.With(client.NoRetry()).Update(ctx, func(ctx context.Context, tx *client.Tx) error {
						if err := take(ctx, tx); err != nil {
							return err
						}
						select {
						case <-ctx.Done():
						case <-time.After(hold):
						}
						return nil
					})
					if errors.Is(err, client.ErrAborted) || errors.Is(err, client.ErrResourceExhausted) {
						return nil
					}
					return err
				})
			}}, nil
	}}
}

// each has so many goroutines do something again and again until ctx ends.
func each(ctx context.Context, n int, do func() error) error {
	g, ctx := errgroup.WithContext(ctx)
	for range n {
		g.Go(func() error {
			for ctx.Err() == nil {
				if err := do(); err != nil && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// startSecure starts a node with TLS, whose client is root. as opens clients of others.
func startSecure(ctx context.Context, o *options, dir string) (n *node,
	as func(context.Context, string) (*client.DB, error), err error) {
	m := &certs.Maker{Dir: filepath.Join(dir, "certs")}
	if _, err := m.CreateCA(); err != nil {
		return nil, nil, err
	}
	if _, err := m.CreateNode("127.0.0.1"); err != nil {
		return nil, nil, err
	}
	file := func(name string) string { return filepath.Join(m.Dir, name) }
	addr, err := freeAddr()
	if err != nil {
		return nil, nil, err
	}
	n = &node{}
	n.child, err = self(ctx, "node", "--store", filepath.Join(dir, "node"), "--listen", addr,
		"--cert", file(certs.NodeFile), "--key", file(certs.NodeKey), "--ca", file(certs.CAFile))
	if err != nil {
		return nil, nil, err
	}
	as = func(ctx context.Context, user string) (*client.DB, error) {
		_, err := os.Stat(file(certs.ClientFile(user)))
		if errors.Is(err, os.ErrNotExist) {
			_, err = m.CreateClient(user)
		}
		if err != nil {
			return nil, err
		}
		k, err := certs.Open(certs.Options{Files: certs.Files{CA: file(certs.CAFile), Cert: file(certs.ClientFile(user)),
			Key: file(certs.ClientKey(user))}, Every: -1})
		if err != nil {
			return nil, err
		}
		return client.Open(ctx, []string{n.addr}, client.WithTLSFunc(k.Client))
	}
	n.db, err = as(ctx, users.Root)
	return n, as, err
}

// pastClock has eight clients put a key in updates, beside eight that make ids of the past.
func pastClock(ctx context.Context, o *options, dir string) (*street, error) {
	n, err := startNode(ctx, o, dir, "node")
	if err != nil {
		return nil, err
	}
	put := func(ctx context.Context, _ int) error {
		return n.db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
			if _, _, err := tx.GetForUpdate(ctx, "hot"); err != nil {
				return err
			}
			return tx.Put(ctx, "hot", []byte("v"))
		})
	}
	raw, err := dial(n.addr)
	if err != nil {
		return nil, err
	}
	return &street{clients: 8, honest: put, stop: func() error { return errors.Join(raw.Close(), n.close()) },
		beside: func(ctx context.Context) error {
			return each(ctx, 8, func() error { return inThePast(ctx, raw, []byte("hot")) })
		}}, nil
}

// takers has one worker, and then eight, take the first job of a queue.
func takers(ctx context.Context, o *options, dir string) (*street, error) {
	n, err := startQueue(ctx, o, dir, 40_000)
	if err != nil {
		return nil, err
	}
	return &street{clients: 1, more: 7, stop: n.close,
		honest: func(ctx context.Context, _ int) error { return n.take(ctx) },
		beside: func(ctx context.Context) error { <-ctx.Done(); return nil }}, nil
}

// producers has four clients put jobs, beside eight workers that take them.
func producers(ctx context.Context, o *options, dir string) (*street, error) {
	n, err := startQueue(ctx, o, dir, 1000)
	if err != nil {
		return nil, err
	}
	return &street{clients: 4, stop: n.close, honest: func(ctx context.Context, _ int) error { return n.produce(ctx, 1) },
		beside: func(ctx context.Context) error { return each(ctx, 8, func() error { return n.take(ctx) }) }}, nil
}

// queue is a node with jobs under one prefix, in their order.
type queue struct {
	*node
	last atomic.Int64
}

func startQueue(ctx context.Context, o *options, dir string, jobs int) (*queue, error) {
	n, err := startNode(ctx, o, dir, "node")
	if err != nil {
		return nil, err
	}
	q := &queue{node: n}
	for range jobs / 500 {
		if err := q.produce(ctx, 500); err != nil {
			return nil, err
		}
	}
	return q, nil
}

func (q *queue) produce(ctx context.Context, n int) error {
	var ops []client.Op
	for range n {
		ops = append(ops, client.PutOp(fmt.Sprintf("job/%012d", q.last.Add(1)), make([]byte, valueBytes)))
	}
	return q.db.Execute(ctx, ops...)
}

// take takes the first job, if there is one.
func (q *queue) take(ctx context.Context) error {
	return q.db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
		first := client.ScanOp(client.Prefix("job/"), 1)
		if err := tx.Execute(ctx, first); err != nil || !first.Found() {
			return err
		}
		return tx.Delete(ctx, first.Value().Entries[0].Key)
	})
}
