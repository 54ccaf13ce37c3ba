package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
)

func shardsCommand() *cobra.Command {
	return connects(command("shards", "Show the shards and their load", `
Show each shard of the cluster.

  INCARNATION  the number of its starts
  CSN          its commit sequence number: the number of transactions visible on it
  IN MEMORY    keys in memory: keys of users and of the system, deleted keys until they are collected, and a
               tombstone at home for each key that has moved. "linchpin scan --count" counts the keys of users
  WAITING      requests that wait for a lock
  INTENTS      prepared transactions without a decision
  RECORDS      outcomes of transactions, kept for queries
  STEP         the mean time of a step of the shard

Each node is queried for its own shards. Shards of a node that does not respond have no numbers.`,
		`  linchpin shards`, 0, 0), false, func(ctx context.Context, s *session, _ []string) error {
		rows := make(map[int]shardRow)
		err := s.eachNode(ctx, func(ctx context.Context, a *admin.Admin, node int) error {
			shards, err := a.Shards(ctx)
			if err != nil {
				return err
			}
			for _, sh := range shards {
				if own := sh.Node == node; own || !rows[sh.Shard].own {
					rows[sh.Shard] = shardRow{sh, own}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return s.printShards(slices.SortedFunc(maps.Values(rows), func(a, b shardRow) int {
			return cmp.Compare(a.sh.Shard,
				b.sh.Shard)
		}))
	})
}

// shardRow is a shard as a node sees it; own: the shard is on that node.
type shardRow struct {
	sh  admin.Shard
	own bool
}

func (r *shardRow) state() string {
	if r.own || r.sh.Up {
		return "up"
	}
	return "down"
}

// stepTime is the mean time of a step.
func (r *shardRow) stepTime() time.Duration {
	return r.sh.StepTime / time.Duration(max(r.sh.Steps, 1))
}

func (s *printer) printShards(rows []shardRow) error {
	if s.json {
		return objects(s, rows, func(r *shardRow) any { return shardObject(r) })
	}
	t := s.table("SHARD", "NODE", "STATE", "INCARNATION", "CSN", "IN MEMORY", "WAITING", "INTENTS", "RECORDS", "STEP")
	for i := range rows {
		r := &rows[i]
		name := fmt.Sprintf("s%d", r.sh.Shard)
		if r.sh.Hot {
			name += " hot"
		}
		cells := []string{name, fmt.Sprintf("n%d", r.sh.Node), r.state(), "-", "-", "-", "-", "-", "-", "-"}
		if r.own {
			for i, n := range []uint64{r.sh.Incarnation, r.sh.CSN, r.sh.KeysInMemory, r.sh.LockWaiters, r.sh.Intents,
				r.sh.DecisionRecords} {
				cells[3+i] = fmt.Sprint(n)
			}
			cells[9] = detail.Duration(r.stepTime())
		}
		t.row(cells...)
	}
	return t.flush()
}

// shardAnswer is a shard as JSON; without numbers if its node does not respond.
type shardAnswer struct {
	Shard int  `json:"shard"`
	Node  int  `json:"node"`
	Hot   bool `json:"hot"`
	Up    bool `json:"up"`
	*shardNumbers
}

type shardNumbers struct {
	Incarnation     uint64 `json:"incarnation"`
	CSN             uint64 `json:"csn"`
	KeysInMemory    uint64 `json:"keys_in_memory"`
	LockWaiters     uint64 `json:"lock_waiters"`
	Intents         uint64 `json:"intents"`
	DecisionRecords uint64 `json:"decision_records"`
	Steps           uint64 `json:"steps"`
	StepTimeUs      int64  `json:"step_time_us"`
}

func shardObject(r *shardRow) shardAnswer {
	a := shardAnswer{Shard: r.sh.Shard, Node: r.sh.Node, Hot: r.sh.Hot, Up: r.own || r.sh.Up}
	if r.own {
		a.shardNumbers = &shardNumbers{r.sh.Incarnation, r.sh.CSN, r.sh.KeysInMemory, r.sh.LockWaiters,
			r.sh.Intents, r.sh.DecisionRecords, r.sh.Steps, r.sh.StepTime.Microseconds()}
	}
	return a
}
