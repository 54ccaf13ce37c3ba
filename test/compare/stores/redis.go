package stores

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/linchpindb/linchpin/test/compare/child"
	"github.com/linchpindb/linchpin/test/compare/debian"
)

func redisKind() Kind {
	return Kind{Key: "redis", Name: "Redis", start: startRedis,
		Needs: []debian.Program{{Name: "redis-server", Package: "redis-server"}}}
}

// startRedis starts a server that has every change on disk before it answers,
// and makes no snapshots besides.
func startRedis(ctx context.Context, p Place, s *Server) error {
	ports, err := child.FreePorts(1)
	if err != nil {
		return err
	}
	process, err := s.launch(child.Spec{Path: p.Programs["redis-server"], Dir: p.Dir, Args: []string{
		"--bind", "127.0.0.1", "--port", ports[0], "--dir", p.Dir, "--daemonize", "no",
		"--save", "", "--appendonly", "yes", "--appendfsync", "always"}})
	if err != nil {
		return err
	}
	db := redis.NewClient(&redis.Options{
		Addr: child.Loopback(ports[0]), PoolSize: p.Clients,
		MaxRetries: -1, // an increment that was lost and is sent again may count twice
		// A service in the cloud would announce its maintenance.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	s.disconnect = append(s.disconnect, db.Close)
	if err := process.Ready(ctx, func(ctx context.Context) error { return db.Ping(ctx).Err() }); err != nil {
		return err
	}
	pipelined, err := db.AutoPipeline()
	if err != nil {
		return err
	}
	s.Client = fmt.Sprintf("go-redis, a pool of %d connections, or its AutoPipeline with one; without retries", p.Clients)
	s.Ways = []Way{
		redisWay("Redis", "INCR, each client on a connection from the pool", "counter", db),
		redisWay("Redis, pipelined", "the same, with what many clients ask for sent together, as linchpin's client does",
			"pipelined", pipelined),
	}
	return describeRedis(ctx, s, db)
}

// describeRedis asks the server how it is set.
func describeRedis(ctx context.Context, s *Server, db *redis.Client) error {
	info, err := db.InfoMap(ctx, "server").Result()
	if err != nil {
		return err
	}
	s.Version = info["Server"]["redis_version"]
	var said []string
	for _, name := range []string{"appendonly", "appendfsync", "save"} {
		value, err := db.ConfigGet(ctx, name).Result()
		if err != nil {
			return err
		}
		said = append(said, fmt.Sprintf("%s %q", name, value[name]))
	}
	s.Durable = strings.Join(said, ", ")
	return nil
}

// redisWay counts by a client, or by its pipelines: those batch the requests of several
// callers, each of which waits for its own response.
func redisWay(name, what, key string, db redis.Cmdable) Way {
	return Way{
		Name: name, What: what, AtLeast: 0.5,
		Increment: func(ctx context.Context, _ int) error {
			err := db.Incr(ctx, key).Err()
			var refused redis.Error
			if err == nil || errors.As(err, &refused) {
				return err
			}
			return unknown(err)
		},
		Value: func(ctx context.Context) (int64, error) {
			n, err := db.Get(ctx, key).Int64()
			if errors.Is(err, redis.Nil) {
				return 0, nil
			}
			return n, err
		},
	}
}
