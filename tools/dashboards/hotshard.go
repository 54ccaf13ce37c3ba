package main

// hotShard tells what the hot shard has to do, which keys are moved there, and
// why.
var hotShard = board{uid: "hot-shard", title: "Hot shard",
	about: "What the hot shard has to do, which keys are moved there and home, and why. `linchpin hot` tells it key by key.",
	rows: []row{
		{"Capacity", []graph{
			{title: "Busy", kind: number, unit: "percentunit", most: 1, warn: 0.6, bad: 0.85, queries: q(`max(linchpin_hot_busy_ratio{#})`, ""),
				about: "The share of its time for which the hot shard works, of the last quarter of a second. Above 60 % nothing more is moved there, above 85 % keys are sent home."},
			{title: "Keys moved there", kind: number, unit: "short", queries: q(`sum(linchpin_hot_moved_keys{#})`, ""),
				about: "Keys that have been moved to the hot shard and are there. Those that the cluster was made with (--hot-key) come on top."},
			{title: "Room for", kind: number, unit: "short", warn: 32, bad: 1,
				queries: q(`sum(linchpin_hot_moved_keys_limit{#}) - sum(linchpin_hot_moved_keys{#})`, ""),
				about:   "How many more keys may be moved there. At 0 none are, however hot: unpin what need not be there."},
			{title: "Rules", kind: number, unit: "short", queries: q(`sum(linchpin_hot_rules{#})`, ""),
				about: "What the operator has said of keys: pinned to the hot shard, or banned from it. `linchpin hot` lists the rules."},
			{title: "Mode", kind: word, unit: "short", queries: q(`linchpin_hot_mode{#} == 1`, "{{mode}}"),
				about: "Which keys are moved: those for which transactions wait (auto), only those that rules pin (pinned), or none (off). `linchpin hot mode` changes it."},
			{title: "Busy share over time", unit: "percentunit", most: 1, warn: 0.6, bad: 0.85, queries: q(`max(linchpin_hot_busy_ratio{#})`, "busy"),
				about: "If it stays near 1, the hot keys together want more than a core. Ban the one that gains least, or split it: clashes by key say which is biggest."},
			{title: "What it takes in", unit: "ops",
				queries: []query{{ofHot(`rate(linchpin_shard_messages_total{#}[$__rate_interval])`), "messages"},
					{ofHot(`rate(linchpin_shard_steps_total{#}[$__rate_interval])`), "steps"}},
				about: "Messages to the hot shard, and the steps that took them in. The more messages a step has, the better the hot shard shares its work: that is the sign of load, not of trouble."},
			{title: "A message costs", unit: "s",
				queries: q(ofHot(`rate(linchpin_shard_step_seconds_total{#}[$__rate_interval])`)+" / "+ofHot(`rate(linchpin_shard_messages_total{#}[$__rate_interval])`), "mean"),
				about:   "Its time for each message. Some microseconds are normal. More: large values, long scans, or a machine that does other things."},
			{title: "Waits in its inbox", unit: "short",
				queries: q(ofHot(`linchpin_shard_queue_length{#}`), "messages"),
				about:   "Messages that wait for the next step. Always many: it is saturated, and every hot transaction pays for it."},
		}},
		{"Moves", []graph{
			{title: "To the hot shard, why", unit: "ops", stacked: true,
				queries: q(`sum by (reason) (rate(linchpin_hot_moves_started_total{#,direction="in"}[$__rate_interval]))`, "{{reason}}"),
				about:   "Moves begun: waiting (transactions wait for the key), together (it is written with such a key), pinned (a rule). Keys that come and go all the time: pin or ban them."},
			{title: "Home, why", unit: "ops", stacked: true,
				queries: q(`sum by (reason) (rate(linchpin_hot_moves_started_total{#,direction="out"}[$__rate_interval]))`, "{{reason}}"),
				about:   "Moves begun: quiet (nobody waits for it any more), busy (the hot shard has too much to do), room (a pinned key needs the place), ordered (banned, or the mode)."},
			{title: "Moved, and given up", unit: "ops",
				queries: []query{{`sum by (direction) (rate(linchpin_hot_moves_total{#}[$__rate_interval]))`, "{{direction}}"},
					{`sum(rate(linchpin_hot_moves_failed_total{#}[$__rate_interval]))`, "given up"}},
				about: "Moves that took place, and those of which nothing was heard in time. Given up again and again: a shard does not answer, or somebody holds the key for seconds."},
			{title: "Keys there", unit: "short",
				queries: []query{{`sum(linchpin_hot_moved_keys{#})`, "moved there"}, {`sum(linchpin_hot_moved_keys_limit{#})`, "at most"}},
				about:   "How many keys have been moved there, and how many may be."},
			{title: "Looked in the wrong place", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_transaction_retries_total{@,reason="Moved"}[$__rate_interval]))`, "{{instance}}"),
				about:   "Attempts that found a key moved, and went where it is now. A few after each move are normal; many for long are not."},
			{title: "Hottest keys: moved or not", kind: table, unit: "short", width: 8,
				queries: q(`max by (key) (linchpin_hot_key_moved{#})`, ""), columns: map[string]string{"key": "key", "Value": "on the hot shard"},
				about: "1 for keys that have been moved to the hot shard. A hot key with 0 that transactions wait for: `linchpin hot` says why it is not moved."},
		}},
	}}

// ofHot is what a series of shards is for the hot one.
func ofHot(series string) string {
	return "sum(" + series + " * on (job, instance, shard) group_left () linchpin_hot_shard_info{#})"
}
