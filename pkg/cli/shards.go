package cli

import (
	"context"
	"fmt"
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

With replicas, the table also has:

  LEADER       the node that leads the shard, and serves it
  TERM         the number of its leadership, which is the incarnation
  LEASE        for how long the leader may serve before a majority of the replicas has to confirm it
  REPLICAS     the nodes of the replicas: "new" receives the data, "-1,204" is that many entries behind,
               "silent 4s" has not responded for so long

Each node is queried for its own shards. Shards of a node that does not respond have no numbers.`,
		`  linchpin shards`, 0, 0), false, func(ctx context.Context, s *session, _ []string) error {
		rows := shardRows{}
		err := s.eachNode(ctx, func(ctx context.Context, a *admin.Admin, node int) error {
			shards, err := a.Shards(ctx)
			if err != nil {
				return err
			}
			for i := range shards {
				rows.add(shards[i], node)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return s.printShards(rows.sorted())
	})
}

func (r *shardRow) state() string {
	switch {
	case r.sh.Term > 0 && !r.sh.Up:
		return "no leader"
	case r.own || r.sh.Up:
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
	if slices.ContainsFunc(rows, func(r shardRow) bool { return r.sh.Term > 0 || len(r.sh.Replicas) > 0 }) {
		return printGroups(s, rows)
	}
	t := s.table(append([]string{"SHARD", "NODE", "STATE", "INCARNATION"}, numberColumns...)...)
	for i := range rows {
		r := &rows[i]
		incarnation := "-"
		if r.own {
			incarnation = fmt.Sprint(r.sh.Incarnation)
		}
		t.row(append([]string{r.name(), fmt.Sprintf("n%d", r.sh.Node), r.state(), incarnation}, r.numbers()...)...)
	}
	return t.flush()
}

// printGroups shows shards with several replicas.
func printGroups(s *printer, rows []shardRow) error {
	t := s.table(append([]string{"SHARD", "LEADER", "STATE", "TERM", "LEASE", "REPLICAS"}, numberColumns...)...)
	for i := range rows {
		r := &rows[i]
		leader, lease := "-", "-"
		if r.sh.Node != 0 {
			leader = fmt.Sprintf("n%d", r.sh.Node)
		}
		if r.own && r.sh.Lease > 0 {
			lease = fmt.Sprintf("%d ms", r.sh.Lease.Milliseconds())
		}
		t.row(append([]string{r.name(), leader, r.state(), fmt.Sprint(r.sh.Term), lease, shownReplicas(&r.sh)},
			r.numbers()...)...)
	}
	return t.flush()
}

var numberColumns = []string{"CSN", "IN MEMORY", "WAITING", "INTENTS", "RECORDS", "STEP"}

func (r *shardRow) name() string {
	if r.sh.Hot {
		return fmt.Sprintf("s%d hot", r.sh.Shard)
	}
	return fmt.Sprintf("s%d", r.sh.Shard)
}

// numbers are the cells of numberColumns.
func (r *shardRow) numbers() (cells []string) {
	if !r.own {
		return []string{"-", "-", "-", "-", "-", "-"}
	}
	for _, n := range []uint64{r.sh.CSN, r.sh.KeysInMemory, r.sh.LockWaiters, r.sh.Intents, r.sh.DecisionRecords} {
		cells = append(cells, fmt.Sprint(n))
	}
	return append(cells, detail.Duration(r.stepTime()))
}

// shardAnswer is a shard as JSON; without numbers if its node does not respond.
type shardAnswer struct {
	Shard int  `json:"shard"`
	Node  int  `json:"node"`
	Hot   bool `json:"hot"`
	Up    bool `json:"up"`
	*shardNumbers
	*shardGroup
}

// shardGroup is what shards with several replicas have besides.
type shardGroup struct {
	Term          uint64          `json:"term"`
	LeaseMs       int64           `json:"lease_ms"`
	Changing      bool            `json:"changing"`
	Missing       int             `json:"missing_replicas"`
	MissingReason string          `json:"missing_reason"`
	Replicas      []replicaAnswer `json:"replicas"`
}

// replicaAnswer is a replica as JSON. Lag and SilentMs are 0 unless the leader reports.
type replicaAnswer struct {
	Replica  int    `json:"replica"`
	Node     int    `json:"node"`
	Leader   bool   `json:"leader"`
	Learner  bool   `json:"learner"`
	Damaged  bool   `json:"damaged"`
	Lag      uint64 `json:"lag"`
	SilentMs int64  `json:"silent_ms"`
}

func groupObject(sh *admin.Shard) *shardGroup {
	if sh.Term == 0 && len(sh.Replicas) == 0 {
		return nil
	}
	g := &shardGroup{Term: sh.Term, LeaseMs: sh.Lease.Milliseconds(), Changing: sh.Changing, Missing: sh.Missing,
		MissingReason: sh.MissingReason, Replicas: []replicaAnswer{}}
	for i := range sh.Replicas {
		r := &sh.Replicas[i]
		g.Replicas = append(g.Replicas, replicaAnswer{r.Replica, r.Node, r.Leader, r.Learner, r.Damaged, r.Lag,
			r.Silent.Milliseconds()})
	}
	return g
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
	a := shardAnswer{Shard: r.sh.Shard, Node: r.sh.Node, Hot: r.sh.Hot, Up: r.state() == "up",
		shardGroup: groupObject(&r.sh)}
	if r.own {
		a.shardNumbers = &shardNumbers{r.sh.Incarnation, r.sh.CSN, r.sh.KeysInMemory, r.sh.LockWaiters,
			r.sh.Intents, r.sh.DecisionRecords, r.sh.Steps, r.sh.StepTime.Microseconds()}
	}
	return a
}
