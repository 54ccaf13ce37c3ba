// Package metrics counts and times the work of a node, for Prometheus.
//
// The hot path runs some hundred thousand times per second, so it never looks up a
// label: each combination of labels is resolved once, to a handle of one or two
// atomic words.
//
//	m, err := metrics.New(metrics.Options{Node: 1, Cluster: id, Version: v})
//	shard := m.Shard(3)                    // once, when the shard starts
//	shard.Step(inputs, entries, took)      // per step
//	m.Transaction(metrics.OneShot, kind, took)
//	m.Stage(metrics.Gateway).Observe(took) // or through a Batch, per step
//
// If one step makes many observations, a Batch collects them without atomics, and Flush
// adds them at once. Values that another package counts already (the shard, the store, the gateway)
// are not pushed: a function returns them at each scrape.
//
// Names follow the conventions of Prometheus: the prefix linchpin_, the unit as suffix,
// _total for counters. Durations are in seconds.
package metrics
