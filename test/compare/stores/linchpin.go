package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/test/compare/child"
	"github.com/linchpindb/linchpin/test/compare/debian"
)

// LinchpinName is the name of the way that all others are held against.
const LinchpinName = "linchpin, add"

// linchpinWay is what one increment is, and of which key.
type linchpinWay struct {
	name, what, key string
	increment       func(ctx context.Context, db *client.DB, c client.Counter) error
}

func add(ctx context.Context, db *client.DB, c client.Counter) error { return c.Add(ctx, db, 1) }

func addGet(ctx context.Context, db *client.DB, c client.Counter) error {
	_, err := c.AddGet(ctx, db, 1)
	return err
}

func linchpinKind() Kind {
	return linchpinOf("linchpin", "linchpin", 1,
		linchpinWay{LinchpinName, "a blind add in a transaction of its own", "added", add},
		linchpinWay{"linchpin, add and get", "the same with an add that returns the sum", "summed", addGet})
}

func linchpinNodesKind() Kind {
	return linchpinOf("linchpin3", "linchpin, three nodes", 3,
		linchpinWay{"linchpin, three nodes, add", "a blind add in a transaction of its own, through the first node",
			"added", add})
}

func linchpinOf(key, name string, nodes int, ways ...linchpinWay) Kind {
	return Kind{Key: key, Name: name, Needs: []debian.Program{{Name: Linchpin}},
		start: func(ctx context.Context, p Place, s *Server) error { return startLinchpin(ctx, p, s, nodes, ways) }}
}

// startLinchpin starts nodes with the settings that `linchpin start` has by
// itself, and opens one client for all callers, as a program has it.
func startLinchpin(ctx context.Context, p Place, s *Server, nodes int, ways []linchpinWay) error {
	version, err := child.Run(ctx, child.Spec{Path: p.Programs[Linchpin], Args: []string{"version"}, Dir: p.Dir})
	if err != nil {
		return err
	}
	s.Version = strings.TrimPrefix(strings.TrimSpace(version), "linchpin ")
	s.Durable = "an answer comes after the fsync of its log, which is the default; one copy of the data"
	s.Client = "its Go client, one for all clients of the run: one gRPC stream"
	addrs, err := launchNodes(p, s, nodes)
	if err != nil {
		return err
	}
	db, err := openLinchpin(ctx, s, addrs)
	if err != nil {
		return err
	}
	s.disconnect = append(s.disconnect, db.Close)
	for _, w := range ways {
		s.Ways = append(s.Ways, w.on(db))
	}
	return nil
}

// launchNodes starts the members of a cluster.
func launchNodes(p Place, s *Server, nodes int) ([]string, error) {
	addrs, err := child.FreePorts(nodes)
	if err != nil {
		return nil, err
	}
	for i := range addrs {
		addrs[i] = child.Loopback(addrs[i])
	}
	for i, addr := range addrs {
		dir := filepath.Join(p.Dir, fmt.Sprint("node", i+1))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		args := []string{"start", "--store", filepath.Join(dir, "store"), "--listen", addr}
		if nodes > 1 {
			args = append(args, "--join", strings.Join(addrs, ","), "--replicas", "1")
		}
		if _, err := s.launch(child.Spec{Path: p.Programs[Linchpin], Args: args, Dir: dir}); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// openLinchpin opens a client once every node answers for all shards.
func openLinchpin(ctx context.Context, s *Server, addrs []string) (*client.DB, error) {
	for i, addr := range addrs {
		err := s.processes[i].Ready(ctx, func(ctx context.Context) error {
			db, err := client.Open(ctx, []string{addr})
			if err != nil {
				return err
			}
			defer db.Close()
			for _, err := range db.With(client.NoRetry()).Scan(ctx, client.Range{}) {
				return err // there are no entries yet, but there may be a failure
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return client.Open(ctx, addrs)
}

// on is the way of a client.
func (l linchpinWay) on(db *client.DB) Way {
	c := client.NewCounter(l.key)
	return Way{
		Name: l.name, What: l.what,
		Increment: func(ctx context.Context, _ int) error {
			err := l.increment(ctx, db, c)
			if errors.Is(err, client.ErrOutcomeUnknown) {
				return unknown(err)
			}
			return err
		},
		Value: func(ctx context.Context) (int64, error) { return c.Get(ctx, db) },
	}
}
