package proc

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Metrics reads the metrics of a node at its own address. The values of a metric are summed over its
// labels.
func (n *Node) Metrics(ctx context.Context) (map[string]float64, error) {
	_, text, err := n.Get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	sums := map[string]float64{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name := line[:strings.IndexAny(line, "{ ")]
		v, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 64)
		if err != nil {
			return nil, fmt.Errorf("invalid metric of %s, %q: %w", n.name, line, err)
		}
		sums[name] += v
	}
	return sums, nil
}

// Sum returns the sum of a metric over the running nodes.
func (c *Cluster) Sum(ctx context.Context, name string) (sum float64, err error) {
	for _, n := range c.nodes {
		if !n.Running() {
			continue
		}
		m, err := n.Metrics(ctx)
		if err != nil {
			return 0, err
		}
		v, ok := m[name]
		if !ok {
			return 0, fmt.Errorf("%s has no metric %s", n.name, name)
		}
		sum += v
	}
	return sum, nil
}

// AwaitMetric waits until the sum of a metric over the running nodes reaches a minimum.
func (c *Cluster) AwaitMetric(t testing.TB, name string, least float64) {
	t.Helper()
	last := ""
	Until(t, fmt.Sprintf("%s is at least %v", name, least), func(ctx context.Context) bool {
		sum, err := c.Sum(ctx, name)
		last = fmt.Sprint(sum, err)
		return err == nil && sum >= least
	}, func() string { return last })
}

// quiescentMetrics are zero on every node when nothing is in flight.
var quiescentMetrics = []string{
	"linchpin_gateway_inflight_transactions", "linchpin_gateway_open_transactions",
	"linchpin_shard_lock_waiters", "linchpin_shard_prepared_transactions", "linchpin_shard_decision_records",
	"linchpin_shard_readers", "linchpin_shard_held_updates",
}

// RequireQuiescent requires that within a time no running node has a transaction, prepared update, decision
// record or registration left. It returns how long that took.
func (c *Cluster) RequireQuiescent(t testing.TB, within time.Duration) time.Duration {
	t.Helper()
	begin, remaining := time.Now(), ""
	Until(t, "the cluster is quiescent", func(ctx context.Context) bool {
		remaining = c.leftovers(ctx)
		return remaining == ""
	}, func() string { return remaining })
	elapsed := Elapsed(begin)
	if elapsed > within {
		t.Errorf("the cluster was quiescent after %v; the bound is %v", elapsed, within)
	}
	return elapsed
}

// leftovers describes the metrics that are not zero; it is empty if all are.
func (c *Cluster) leftovers(ctx context.Context) string {
	var b strings.Builder
	for _, n := range c.nodes {
		if !n.Running() {
			continue
		}
		m, err := n.Metrics(ctx)
		if err != nil {
			return err.Error()
		}
		for _, name := range quiescentMetrics {
			if v, ok := m[name]; !ok || v != 0 {
				fmt.Fprintf(&b, "%s: %s is %v; ", n.name, name, v)
			}
		}
	}
	return b.String()
}

// AwaitReplicas waits until each shard of a cluster with replicas has a leader and all its replicas.
func (c *Cluster) AwaitReplicas(t testing.TB) {
	t.Helper()
	var leads, missing float64
	Until(t, "each shard has a leader and all its replicas", func(ctx context.Context) bool {
		leads, missing = 0, 0
		for _, n := range c.nodes {
			m, err := n.Metrics(ctx)
			if err != nil {
				return false
			}
			leads += m["linchpin_shard_leads"]
			missing += m["linchpin_shard_replicas_missing"]
		}
		return int(leads) == c.Shards() && missing == 0
	}, func() string {
		return fmt.Sprintf("%v of %d shards have a leader, %v replicas are missing", leads, c.Shards(), missing)
	})
}
