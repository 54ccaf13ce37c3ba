package main

// contention shows the contended keys, the conflicting operations, and their cost.
var contention = board{uid: "contention", title: "Contention",
	about: "Contended keys, conflicting operations, and the time they cost. Find the key first, then the pair of " +
		"operations: operations that commute do not wait for each other.",
	rows: []row{
		{"Keys", []graph{
			{title: "Waiting transactions by key", unit: "short", width: 12, stacked: true,
				queries: q(`topk(10, job_key:linchpin_hot_key_waiting:sum{#})`, "{{key}}"),
				about: "Average number of transactions that wait because of the key. For the top key: use " +
					"operations that commute, split the key, or shorten the transactions that use it."},
			{title: "Waiting transactions by cause", unit: "short", width: 12, stacked: true,
				queries: q(`sum by (cause) (linchpin_hot_key_waiting{#})`, "{{cause}}"),
				about: "The 20 hottest keys together. lock: waiting for locks. held: updates held by readers (see " +
					"Readers and snapshots). read: readers that wait for updates. retry: aborted attempts (see " +
					"Wounds)."},
			{title: "Hottest keys", kind: table, unit: "none",
				queries: q(`sort_desc(sum by (key, cause) (linchpin_hot_key_waiting{#}))`,
					""), columns: map[string]string{"key": "key", "cause": "cause", "Value": "waiting"},
				about: "Average number of waiting transactions, as a table. A key is escaped as in Go; a long key " +
					"is cut and ends with a hash. `linchpin hot` explains the placement of each key."},
			{title: "Conflicts by key", unit: "ops", width: 6,
				queries: q(`topk(10, sum by (key) (linchpin_hot_key_conflicts{#}))`, "{{key}}"),
				about: "Conflicting writes of a key per second. Conflicts without waiting transactions are fine: " +
					"the shard orders them without a round trip."},
			{title: "Queue by key", unit: "short", width: 6,
				queries: q(`topk(10, sum by (key) (linchpin_hot_key_queue{#}))`, "{{key}}"),
				about: "Transactions that currently wait because of the key. If a queue does not shrink, one " +
					"transaction holds the key for long; contention receipts name it."},
		}},
		{"Operations", []graph{
			{title: "Waiting transactions by operation", kind: table, unit: "none", width: 24,
				queries: q(`sort_desc(sum by (operation, holder_operation, cause) `+
					`(rate(linchpin_contention_wait_seconds_total{@}[~])))`, ""),
				columns: map[string]string{"operation": "waiting operation", "holder_operation": "holding operation",
					"cause": "cause", "Value": "waiting"},
				about: "Average number of waiting transactions, by the waiting and the holding operation; each " +
					"transaction counts with its longest wait. A get and a put of one key can often become an " +
					"add; docs/types.md lists the operations that commute."},
			{title: "Waits by operation", unit: "ops", width: 12,
				queries: q(`topk(10, sum by (operation, holder_operation) `+
					`(rate(linchpin_contention_waits_total{@}[~])))`, "{{operation}} for {{holder_operation}}"),
				about: "Transactions per second that waited. Many short waits are a busy key; few long waits are " +
					"long transactions, mostly interactive ones."},
			{title: "Aborts by operation", unit: "ops", width: 12,
				queries: q(`topk(10, sum by (operation, holder_operation, cause) `+
					`(rate(linchpin_contention_aborts_total{@}[~])))`,
					"{{operation}} by {{holder_operation}} ({{cause}})"),
				about: "Attempts per second aborted because of another transaction: an older one wounded them, or " +
					"it changed what they had read. Their work is repeated."},
		}},
		{"Locks and wounds", []graph{
			{title: "Lock waits", unit: "ops", stacked: true,
				queries: q(`sum by (shard) (rate(linchpin_shard_lock_waits_total{@}[~]))`, "shard {{shard}}"),
				about:   "Requests per second that waited for a lock. A shard far above the others has the hot key."},
			{title: "Lock wait time", unit: "s",
				queries: []query{{`sum(rate(linchpin_shard_lock_wait_seconds_total{@}[~])) / ` +
					`sum(rate(linchpin_shard_lock_waits_total{@}[~]))`, "mean"},
					{`histogram_quantile(0.99, sum by (le) ` +
						`(rate(linchpin_stage_duration_seconds_bucket{@,stage="lock_wait"}[~])))`, "p99"}},
				about: "Duration of lock waits. If it reaches seconds, a client holds locks between its requests."},
			{title: "Lock waiters", unit: "short", stacked: true,
				queries: q(`sum by (shard) (linchpin_shard_lock_waiters{@})`, "shard {{shard}}"),
				about:   "Requests that currently wait for a lock, by shard."},
			{title: "Wounds", unit: "ops", stacked: true,
				queries: q(`sum by (shard) (rate(linchpin_shard_wounds_total{@}[~]))`, "shard {{shard}}"),
				about: "Transactions per second wounded by an older transaction that needs their locks. A wounded " +
					"transaction that has not voted aborts and is retried."},
			{title: "Aborts per transaction", unit: "short",
				queries: q(`job:linchpin_contention_aborts:ratio_rate5m{#}`, "by contention"), warn: 0.2, bad: 0.5,
				about: "Attempts aborted by contention, per finished transaction. Above 0.5, a third of the work " +
					"is wasted: shorten the transactions, or access hot keys last."},
			{title: "Rejections", unit: "ops", stacked: true,
				queries: []query{{`sum by (limit) (rate(linchpin_gateway_admission_rejections_total{@}[~]))`,
					"{{limit}}"},
					{`sum(rate(linchpin_gateway_unfair_rejections_total{@}[~]))`, "unfair"}},
				about: "Transactions rejected per second, by the limit whose admission slots are all taken. " +
					"Unfair: rejected while another key or shard exceeds its share; it should be 0."},
		}},
		{"Holds", []graph{
			{title: "Updates held by readers, by key", unit: "ops", stacked: true,
				queries: q(`topk(10, sum by (key) (linchpin_hot_key_holds{#}))`, "{{key}}"),
				about: "Updates of a hot key per second that readers hold until they have finished. See Readers " +
					"and snapshots."},
			{title: "Updates held, by shard", unit: "ops", stacked: true,
				queries: q(`sum by (shard) (rate(linchpin_shard_holds_total{@}[~]))`, "shard {{shard}}"),
				about:   "Updates per second held by readers, or in the first seconds after the restart of a shard."},
			{title: "Held updates", unit: "short", stacked: true,
				queries: q(`sum by (shard) (linchpin_shard_held_updates{@})`, "shard {{shard}}"),
				about: "Updates that are currently held. If the level stays, a read-only transaction is slow, or " +
					"its client is gone; its lease expires within seconds."},
		}},
		{"Lock phases", []graph{
			{title: "Lock phases", unit: "ops",
				queries: []query{{`sum(rate(linchpin_shard_lock_phases_total{@}[~]))`, "started"},
					{`sum(rate(linchpin_shard_lock_phase_joins_total{@}[~]))`, "joined"}},
				about: "In a lock phase, transactions whose operations commute share a key. Started: phases. " +
					"Joined: locks granted in a running phase."},
			{title: "Transactions per lock phase", unit: "short",
				queries: q(`1 + sum by (shard) (rate(linchpin_shard_lock_phase_joins_total{@}[~])) `+
					`/ sum by (shard) (rate(linchpin_shard_lock_phases_total{@}[~]))`, "shard {{shard}}"),
				about: "Mean number of transactions that share a lock phase. 1 means that no operations commute, " +
					"or that no key is hot. Higher values are conflicts avoided by data types."},
			{title: "Lock replans", unit: "ops",
				queries: q(`sum(rate(linchpin_shard_lock_replans_total{@}[~]))`, "operations"),
				about: "Operations per second whose lock plan changed because of the value they found, for " +
					"example near the bound of a counter. Each costs one more lock request."},
		}},
		{"Commit", []graph{
			{title: "Stage latency, p99", unit: "s", width: 12,
				queries: q(`histogram_quantile(0.99, sum by (stage, le) `+
					`(rate(linchpin_stage_duration_seconds_bucket{@}[~])))`, "{{stage}}"),
				about: "Participants hold their locks during vote and decision. If these take much longer than a " +
					"round trip and an fsync, a shard is saturated or a disk is slow."},
			{title: "Prepared transactions and decision records", unit: "short", width: 12,
				queries: []query{{`sum(linchpin_shard_prepared_transactions{@})`, "prepared"},
					{`sum(linchpin_shard_decision_records{@})`, "decision records"}},
				about: "Transactions that are prepared and wait for a decision, and decisions that some " +
					"participant has not acknowledged. Both are small, and grow while a node is down."},
		}},
	}}
