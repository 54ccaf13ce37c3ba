package main

// readers shows read-only transactions, what they cost updates, and snapshots.
var readers = board{uid: "readers", title: "Readers and snapshots",
	about: "Read plans and latency of read-only transactions, waits and holds, snapshots, garbage collection and " +
		"expiry.",
	rows: []row{
		{"Reads", []graph{
			{title: "Read-only transactions by plan", unit: "reqps", stacked: true,
				queries: q(`sum by (plan) (rate(linchpin_read_only_transactions_total{@}[~]))`, "{{plan}}"),
				about: "Read plans: one-shard, parallel (all shards at once), hot-last (the hottest key last), " +
					"interactive, snapshot, locked. Locked reads wait like updates. See protocol.md, section 7."},
			{title: "One-shot read latency", unit: "s",
				queries: []query{{`histogram_quantile(0.5, sum by (le) ` +
					`(rate(linchpin_transaction_duration_seconds_bucket{@,kind="one_shot_read"}[~])))`, "p50"},
					{`histogram_quantile(0.99, sum by (le) ` +
						`(rate(linchpin_transaction_duration_seconds_bucket{@,kind="one_shot_read"}[~])))`, "p99"}},
				about: "Latency of one-shot reads. The median should be about one round trip; a much higher p99 " +
					"is reads that wait for updates."},
			{title: "Snapshot reads", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_shard_snapshot_reads_total{@}[~]))`, "{{instance}}"),
				about:   "Reads at a snapshot per second. They neither wait for updates nor hold them."},
		}},
		{"Waits and holds", []graph{
			{title: "Read waits", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_shard_read_waits_total{@}[~]))`, "{{instance}}"),
				about: "Reads per second that waited for an update which had voted and had no decision yet. " +
					"Normal on hot keys."},
			{title: "Read wait time, mean", unit: "s", warn: 0.1, bad: 0.25,
				queries: q(`instance:linchpin_shard_read_wait_seconds:mean_rate5m{@}`, "{{instance}}"),
				about: "Mean wait of the reads that wait. It is about the time from vote to decision, and longer " +
					"if a node is slow or down."},
			{title: "Readers and held updates", unit: "short",
				queries: []query{{`sum(linchpin_shard_readers{@})`, "readers"},
					{`sum(linchpin_shard_held_updates{@})`, "held updates"}},
				about: "Read-only transactions in flight, and updates held by them. If held updates stay, a " +
					"read-only transaction is open and slow."},
			{title: "Updates held", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_shard_holds_total{@}[~]))`, "{{instance}}"),
				about: "Updates per second that become visible only after the readers of the earlier value have " +
					"finished."},
			{title: "Hold time, mean", unit: "s", warn: 0.1, bad: 0.25,
				queries: q(`instance:linchpin_shard_hold_seconds:mean_rate5m{@}`, "{{instance}}"),
				about: "Mean hold of the updates that are held. Long holds come from long read-only transactions: " +
					"let them read at a snapshot or as of a time."},
			{title: "Unseals", unit: "ops",
				queries: []query{{`sum(rate(linchpin_shard_unseal_requests_total{@}[~]))`, "requested"},
					{`sum(rate(linchpin_shard_unseals_total{@}[~]))`, "granted"}},
				about: "Requests of readers to postpone a sealed decision, so that the reader does not wait, and " +
					"the granted ones. A request is not granted if the decision is already made."},
			{title: "Lease expirations", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_shard_lease_expirations_total{@}[~]))`, "{{instance}}"),
				about: "Reader leases that expired before they were renewed: the gateway is down, partitioned or " +
					"overloaded. Normally 0."},
			{title: "Stalled scans", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_scans_stalled_total{@}[~]))`, "{{instance}}"),
				about:   "Scans aborted because the client read too slowly (--slow-reader). Normally 0."},
		}},
		{"Snapshots, garbage collection, expiry", []graph{
			{title: "Snapshots", unit: "short", queries: q(`sum by (kind) (linchpin_snapshots{#})`, "{{kind}}"),
				about: "history: snapshots for reads as of a time. named: snapshots created by users; `linchpin " +
					"snapshot list` lists them."},
			{title: "Age of the oldest snapshot", unit: "s",
				queries: q(`max(linchpin_oldest_snapshot_age_seconds{#})`, "age"),
				about: "Versions that a snapshot reads are not garbage collected: with an old snapshot, each " +
					"overwritten key uses more disk space."},
			{title: "Snapshot rounds", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_gateway_snapshot_rounds_total{@}[~]))`, "{{instance}}"),
				about: "Snapshot rounds per second: one per second for the history while there are writes, and " +
					"one for each scan and snapshot."},
			{title: "Versions pending garbage collection", unit: "short",
				queries: q(`sum by (instance) (linchpin_shard_gc_pending_versions{@})`, "{{instance}}"),
				about: "Old versions that are removed when no snapshot or reader needs them. The number grows " +
					"while an old snapshot exists."},
			{title: "Garbage collection sweeps", unit: "ops",
				queries: []query{{`sum(rate(linchpin_shard_gc_pending_dropped_total{@}[~]))`,
					"versions dropped from the queue"},
					{`sum(rate(linchpin_shard_gc_swept_keys_total{@}[~]))`, "keys swept"}},
				about: "If the queue of old versions is full, versions are dropped from it, and a sweep over all " +
					"rows finds them later. Sweeps read the disk."},
			{title: "Expired keys", unit: "ops",
				queries: []query{{`sum(rate(linchpin_shard_expired_keys_total{@}[~]))`, "deleted"},
					{`sum(linchpin_shard_expired_keys_pending{@})`, "pending"}},
				about: "Keys deleted per second because their time to live was over, and expired keys that are " +
					"being deleted. A shard deletes at most 1,000 per second."},
			{title: "Expiry delay", unit: "s",
				queries: []query{{`max(linchpin_shard_expiry_lag_seconds{@})`, "oldest expired key"},
					{`sum(linchpin_shard_expiry_suspended{@})`, "shards that do not trust the wall clock"},
					{`sum(rate(linchpin_shard_expiry_delay_seconds_total{@}[~])) / ` +
						`(sum(rate(linchpin_shard_expired_keys_total{@}[~])) > 0 or vector(1))`, "mean"}},
				about: "Time from the expiry of a key to its deletion: about 0.1 s normally, more if many keys " +
					"expire at once or are locked."},
		}},
	}}
