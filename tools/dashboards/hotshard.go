package main

// hotShard shows the utilization of the hot shard and the moves of keys.
var hotShard = board{uid: "hot-shard", title: "Hot shard",
	about: "Utilization of the hot shard, and the moves of keys to it and home. `linchpin hot` shows single keys.",
	rows: []row{
		{"Capacity", []graph{
			{title: "Utilization", kind: number, unit: "percentunit", most: 1, warn: 0.6, bad: 0.85,
				queries: q(`max(linchpin_hot_busy_ratio{#})`, ""),
				about: "Utilization of the hot shard over the last 250 ms. Above 60 % no more keys move to it; " +
					"above 85 % keys move home."},
			{title: "Moved keys", kind: number, unit: "short", queries: q(`sum(linchpin_hot_moved_keys{#})`, ""),
				about: "Keys that have been moved to the hot shard, without those placed there when the cluster " +
					"was created (--hot-key)."},
			{title: "Free places", kind: number, unit: "short", warn: 32, bad: 1,
				queries: q(`sum(linchpin_hot_moved_keys_limit{#}) - sum(linchpin_hot_moved_keys{#})`, ""),
				about: "How many more keys can move to the hot shard. At 0, no key moves, however hot it is: " +
					"unpin keys that do not need to be there."},
			{title: "Rules", kind: number, unit: "short", queries: q(`sum(linchpin_hot_rules{#})`, ""),
				about: "Rules that pin keys to the hot shard, or ban them from it. `linchpin hot` lists the rules."},
			{title: "Mode", kind: word, unit: "short", queries: q(`linchpin_hot_mode{#} == 1`, "{{mode}}"),
				about: "Which keys move: contended keys (auto), only pinned keys (pinned), or none (off). " +
					"`linchpin hot mode` changes the mode."},
			{title: "Utilization over time", unit: "percentunit", most: 1, warn: 0.6, bad: 0.85,
				queries: q(`max(linchpin_hot_busy_ratio{#})`, "hot shard"),
				about: "If it stays near 1, the hot keys together need more than one core. Ban the key that gains " +
					"least, or split the key with most conflicts."},
			{title: "Messages and steps", unit: "ops",
				queries: []query{{ofHot(`rate(linchpin_shard_messages_total{#}[~])`), "messages"},
					{ofHot(`rate(linchpin_shard_steps_total{#}[~])`), "steps"}},
				about: "Messages to the hot shard, and the steps that process them in batches. More messages per " +
					"step mean more load, and less cost per message."},
			{title: "Time per message", unit: "s",
				queries: q(ofHot(`rate(linchpin_shard_step_seconds_total{#}[~])`)+" / "+
					ofHot(`rate(linchpin_shard_messages_total{#}[~])`), "mean"),
				about: "Processing time per message. Some microseconds are normal. Higher values: large values, " +
					"long scans, or other programs on the machine."},
			{title: "Queue length", unit: "short",
				queries: q(ofHot(`linchpin_shard_queue_length{#}`), "messages"),
				about: "Messages in the queue of the hot shard. If it never empties, the hot shard is saturated " +
					"and delays every hot transaction."},
		}},
		{"Moves", []graph{
			{title: "Moves to the hot shard by reason", unit: "ops", stacked: true,
				queries: q(`sum by (reason) (rate(linchpin_hot_moves_started_total{#,direction="in"}[~]))`,
					"{{reason}}"),
				about: "contended: transactions wait for the key. co-located: the key is written together with a " +
					"contended key. pinned: by a rule. If keys move back and forth, pin or ban them."},
			{title: "Moves home by reason", unit: "ops", stacked: true,
				queries: q(`sum by (reason) (rate(linchpin_hot_moves_started_total{#,direction="out"}[~]))`,
					"{{reason}}"),
				about: "idle: the key is no longer contended. overloaded: the hot shard is saturated. full: a " +
					"pinned key needs the place. ordered: the key is banned, or the mode has changed."},
			{title: "Completed and failed moves", unit: "ops",
				queries: []query{{`sum by (direction) (rate(linchpin_hot_moves_total{#}[~]))`, "{{direction}}"},
					{`sum(rate(linchpin_hot_moves_failed_total{#}[~]))`, "failed"}},
				about: "Completed moves to the hot shard (in) and home (out), and moves that failed or timed out. " +
					"Repeated failures: a shard does not respond, or a transaction holds the key for seconds."},
			{title: "Moved keys and limit", unit: "short",
				queries: []query{{`sum(linchpin_hot_moved_keys{#})`, "moved"},
					{`sum(linchpin_hot_moved_keys_limit{#})`, "limit"}},
				about: "Keys that have been moved to the hot shard, and the maximum number of them."},
			{title: "Redirects", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_transaction_retries_total{@,reason="Moved"}[~]))`,
					"{{instance}}"),
				about: "Attempts per second that found a key moved and were redirected. A few after each move are " +
					"normal; a steady rate is not."},
			{title: "Placement of the hottest keys", kind: table, unit: "short", width: 8,
				queries: q(`max by (key) (linchpin_hot_key_moved{#})`,
					""), columns: map[string]string{"key": "key", "Value": "on the hot shard"},
				about: "1 if the key has been moved to the hot shard. If a contended key shows 0, `linchpin hot` " +
					"explains why."},
		}},
	}}

// ofHot restricts a series of shards to the hot shard.
func ofHot(series string) string {
	return "sum(" + series + " * on (job, instance, shard) group_left () linchpin_hot_shard_info{#})"
}
