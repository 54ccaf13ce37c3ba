package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// slowReplicas are clusters of three replicas of each shard, one of which gets a slow disk. Honest clients use the
// shards that it only follows, or those that it leads.
func slowReplicas() []neighbour {
	var out []neighbour
	for _, by := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 5 * time.Second} {
		for _, role := range []string{"follower", "leader"} {
			out = append(out, neighbour{
				name: fmt.Sprintf("fsyncs of a %s of three replicas slower by %v", role, by),
				start: func(ctx context.Context, o *options, dir string) (*street, error) {
					return startReplicas(ctx, o, dir, role == "leader", by)
				},
			})
		}
	}
	return out
}

// leadershipMoves is the time after which the leadership of shards has moved away from a slow disk, and from one that
// ends no write: 1 s in which the disk is behind (R10.9), or D and an election (R10.10), with a margin.
const leadershipMoves = 4 * time.Second

// replicas is a cluster of three processes with three replicas of each shard.
type replicas struct {
	*trio
	dbs    []*client.DB
	router *hotshard.Router
	// ill is the number of the node whose disk gets slow, from 1, and keys are those of the honest clients. They
	// change between measurements.
	ill  kv.NodeID
	keys []string
}

func startReplicas(ctx context.Context, o *options, dir string, leads bool, by time.Duration) (*street, error) {
	c := &replicas{}
	err := c.start(ctx, o, dir)
	if err == nil {
		err = c.choose(ctx, leads)
	}
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return &street{clients: 24, settle: leadershipMoves, stop: c.stop, honest: func(ctx context.Context, n int) error {
		db := c.dbs[(int(c.ill)+n%2)%3] // of one of the other nodes
		return db.Put(ctx, c.keys[rand.IntN(len(c.keys))], make([]byte, valueBytes))
	}, beside: func(ctx context.Context) error {
		ill := c.nodes[c.ill-1]
		if err := ill.send(by.String()); err != nil {
			return err
		}
		<-ctx.Done()
		return ill.send("0s")
	}, restore: func(ctx context.Context) error {
		// Its last fsync ends, and it catches up.
		if !workload.Sleep(ctx, by+time.Second) {
			return ctx.Err()
		}
		return c.choose(ctx, leads)
	}}, nil
}

func (c *replicas) start(ctx context.Context, o *options, dir string, flags ...string) (err error) {
	c.trio, err = startTrio(ctx, o, dir, "node", append(flags, "--replicas", "3", "--shards", fmt.Sprint(slowShards))...)
	if err != nil {
		return err
	}
	c.router, err = hotshard.NewRouter(slowShards, len(c.nodes), nil)
	if err != nil {
		return err
	}
	for _, addr := range c.addrs {
		db, err := client.Open(ctx, []string{addr})
		if err != nil {
			return err
		}
		c.dbs = append(c.dbs, db)
	}
	return nil
}

func (c *replicas) stop() (err error) {
	for _, db := range c.dbs {
		err = errors.Join(err, db.Close())
	}
	if c.trio != nil {
		err = errors.Join(err, c.trio.stop())
	}
	return err
}

// choose chooses the node whose disk gets slow, and the keys: of the shards that it leads or, if leads is false, of the
// others.
func (c *replicas) choose(ctx context.Context, leads bool) error {
	leaders, err := c.leaders(ctx)
	if err != nil {
		return err
	}
	c.ill = choice(leaders, c.router.HotShard(), len(c.nodes), leads)
	c.keys = c.keys[:0]
	for _, k := range keys(300) {
		if (leaders[c.router.Shard([]byte(k))] == c.ill) == leads {
			c.keys = append(c.keys, k)
		}
	}
	if len(c.keys) == 0 {
		return errors.New("no key is on the shards to be measured; start the comparison again")
	}
	return nil
}

// choice returns the node that leads the most ordinary shards, or the fewest.
func choice(leaders map[kv.ShardID]kv.NodeID, hot kv.ShardID, nodes int, most bool) kv.NodeID {
	led := make([]int, nodes+1)
	for shard, node := range leaders {
		if shard != hot {
			led[node]++
		}
	}
	best := kv.NodeID(1)
	for n := range led {
		if n > 0 && led[n] != led[best] && (led[n] > led[best]) == most {
			best = kv.NodeID(n)
		}
	}
	return best
}

// leadersWithin bounds the time in which all shards have a leader.
const leadersWithin = 20 * time.Second

// leaders returns the leader of each shard, when all have one that serves.
func (c *replicas) leaders(ctx context.Context) (map[kv.ShardID]kv.NodeID, error) {
	ctx, cancel := context.WithTimeout(ctx, leadersWithin)
	defer cancel()
	for {
		shards, err := admin.New(c.dbs[0]).Shards(ctx)
		if err != nil {
			return nil, err
		}
		out := map[kv.ShardID]kv.NodeID{}
		for _, s := range shards {
			if s.Up && s.Node != 0 {
				out[kv.ShardID(s.Shard)] = kv.NodeID(s.Node)
			}
		}
		if len(out) == len(shards) {
			return out, nil
		}
		if !workload.Sleep(ctx, 50*time.Millisecond) {
			return nil, fmt.Errorf("of %d shards only %d have a leader: %w", len(shards), len(out), ctx.Err())
		}
	}
}
