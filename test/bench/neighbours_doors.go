package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/pkg/users"
)

// atAdmission are those that use up what is before the shards, and nodes that are gone for a moment.
func atAdmission() []neighbour {
	return []neighbour{
		{name: "a stranger whose connections fail, at the clients' address", start: besideStranger,
			bound: "each new connection from that address waits for 100 ms"},
		{name: "60 pollers of /metrics and the console", start: besidePollers},
		{name: "a frozen node of three, clients with three addresses", start: besideFrozen,
			bound: "clients wait for it for 3 s, once"},
		{name: "the node is killed every two seconds", start: besideKills, bound: "the node is away while it restarts"},
	}
}

// besideStranger has clients connect for each request, from the address from which a stranger connects
// as well, who does not speak TLS.
func besideStranger(ctx context.Context, o *options, dir string) (*street, error) {
	const clients, every = 4, 50 * time.Millisecond
	n, as, err := startSecure(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	get := func(ctx context.Context, _ int) error {
		db, err := as(ctx, users.Root)
		if err != nil {
			return err
		}
		_, _, err = db.Get(ctx, "key")
		return errors.Join(err, db.Close())
	}
	return &street{clients: clients, honest: get, stop: n.close, beside: func(ctx context.Context) error {
		for workload.Sleep(ctx, every) {
			conn, err := net.Dial("tcp", n.addr)
			if err != nil {
				return err
			}
			_, _ = io.WriteString(conn, "no TLS, and more than a record's header")
			_ = conn.Close()
		}
		return nil
	}}, nil
}

func besidePollers(ctx context.Context, o *options, dir string) (*street, error) {
	const clients, pollers = 8, 60
	web, err := freeAddr()
	if err != nil {
		return nil, err
	}
	n, err := startNode(ctx, o, dir, "node", "--http", web)
	if err != nil {
		return nil, err
	}
	return &street{clients: clients, honest: n.put, stop: n.close, beside: func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		for p := range pollers {
			path := []string{"/metrics", "/console/", "/console/api/v1/snapshot"}[p%3]
			g.Go(func() error { return poll(ctx, "http://"+web+path) })
		}
		return g.Wait()
	}}, nil
}

// poll asks for a page in a loop, on a connection of its own.
func poll(ctx context.Context, url string) error {
	web := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer web.CloseIdleConnections()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := web.Do(req)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// besideFrozen stops the node that the clients use; the keys are on the others.
func besideFrozen(ctx context.Context, o *options, dir string) (*street, error) {
	const clients = 8
	t, err := startTrio(ctx, o, dir, "node")
	if err != nil {
		return nil, err
	}
	first, err := client.Open(ctx, t.addrs[:1])
	if err != nil {
		return nil, err
	}
	st, err := admin.New(first).Status(ctx)
	_ = first.Close()
	if err != nil {
		return nil, err
	}
	r, err := hotshard.NewRouter(st.Shards-1, len(t.nodes), nil)
	if err != nil {
		return nil, err
	}
	var far []string
	for _, k := range keys(o.keys) {
		if r.Node(r.Shard([]byte(k))) != kv.NodeID(st.Node) {
			far = append(far, k)
		}
	}
	dbs := make([]*client.DB, clients)
	for i := range dbs {
		dbs[i], err = client.Open(ctx, t.addrs)
		if err != nil {
			return nil, err
		}
	}
	return &street{clients: clients, honest: func(ctx context.Context, c int) error {
		err := dbs[c].Put(ctx, far[rand.IntN(len(far))], make([]byte, valueBytes))
		if errors.Is(err, client.ErrOutcomeUnknown) {
			return nil // the node that froze may have decided it
		}
		return err
	}, stop: func() error {
		for _, db := range dbs {
			_ = db.Close()
		}
		return t.stop()
	}, beside: func(ctx context.Context) error {
		frozen := t.nodes[0].cmd.Process
		err := frozen.Signal(syscall.SIGSTOP)
		if err != nil {
			return err
		}
		<-ctx.Done()
		return frozen.Signal(syscall.SIGCONT)
	}}, nil
}

// besideKills kills the node every two seconds, and starts it again.
func besideKills(ctx context.Context, o *options, dir string) (*street, error) {
	const clients, life = 8, 2 * time.Second
	n, err := startNode(ctx, o, dir, "node")
	if err != nil {
		return nil, err
	}
	restart := func() (err error) {
		_ = n.cmd.Process.Kill()
		_ = n.stop() // it was killed
		n.child, err = self(ctx, "node", "--store", filepath.Join(dir, "node"), "--listen", n.addr)
		return err
	}
	return &street{clients: clients, honest: n.put, stop: n.close, beside: func(besides context.Context) error {
		for {
			select {
			case <-besides.Done():
				return nil
			case <-time.After(life):
			}
			err := restart()
			if err != nil {
				return err
			}
		}
	}}, nil
}
