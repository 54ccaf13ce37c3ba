// Package metrics counts and times what a node does, for Prometheus.
//
// The hot path runs some hundred thousand times a second, so nothing on it
// looks up a label: each combination of labels is resolved once, to a handle
// that is one or two atomic words.
//
//	m, err := metrics.New(metrics.Options{Node: 1, Cluster: id, Version: v})
//	shard := m.Shard(3)                    // once, when the shard starts
//	shard.Step(inputs, entries, took)      // per step
//	shard.SetLevels(metrics.Levels{...})   // per step
//	m.Transaction(metrics.OneShot, kind, took)
//	m.Stage(metrics.Gateway).Observe(took) // or through a Batch, per step
//
// Where many observations fall in one step, a Batch collects them without any
// atomics and Flush adds them in one go. Values that somebody else counts
// already (the store, the gateway's tables) are not pushed: a function gives
// them when Prometheus asks.
//
// Names follow Prometheus' rules: linchpin_ first, the unit last, _total for
// what only rises. Durations are in seconds.
package metrics
