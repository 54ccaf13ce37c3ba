package main

// node shows one process: its resources, shards, clients and peers.
var node = board{uid: "node", title: "Node", oneNode: true,
	about: "One node: resources of the process, utilization of its shards, clients, and connections to its peers.",
	rows: []row{
		{"Process", []graph{
			{title: "CPU", unit: "percentunit",
				queries: q(`rate(process_cpu_seconds_total{@}[~])`, "cores"),
				about: "CPU use of the process; 100 % is one core. At the number of cores of the machine, every " +
					"shard is delayed."},
			{title: "Memory", unit: "bytes",
				queries: []query{{`process_resident_memory_bytes{@}`, "resident"},
					{`go_memstats_heap_inuse_bytes{@}`, "heap in use"},
					{`go_memstats_stack_inuse_bytes{@}`, "stacks"}},
				about: "Memory of the process. Twice --cache-mb (keys, blocks) plus a few hundred MB is normal. " +
					"Unbounded growth is a leak: take a heap profile."},
			{title: "Goroutines", unit: "short", queries: q(`go_goroutines{@}`, "goroutines"),
				about: "About two for each stream of a client. The number must fall when clients disconnect."},
			{title: "File descriptors", unit: "short",
				queries: []query{{`process_open_fds{@}`, "open"}, {`process_max_fds{@}`, "limit"}},
				about: "Connections and files of the store. At the limit, the node rejects connections: raise it " +
					"(LimitNOFILE, ulimit -n)."},
			{title: "Garbage collection pause", unit: "s",
				queries: q(`go_gc_duration_seconds{@,quantile="1"}`, "longest"),
				about:   "The longest recent pause of the Go garbage collector. Below 1 ms is normal."},
			{title: "Allocation rate", unit: "Bps",
				queries: q(`rate(go_memstats_alloc_bytes_total{@}[~])`, "bytes"),
				about:   "Memory allocated per second. It is proportional to the load."},
			{title: "Clock offset to Prometheus", unit: "s",
				queries: q(`instance:linchpin_node_clock:offset_seconds{@}`, "ahead of Prometheus"),
				about: "Correctness does not depend on clocks. A node that is ahead makes its transactions " +
					"younger, so others wound them; an offset of 10 minutes leads to rejections. Use NTP. The " +
					"duration of the scrape is included."},
			{title: "Uptime", unit: "s", queries: q(`time() - process_start_time_seconds{@}`, "up"),
				about: "Time since the start of the process. After an unexpected restart the log has the reason; " +
					"exit code 74 is a disk error."},
			{title: "Scrape duration", unit: "s", queries: q(`scrape_duration_seconds{@}`, "scrape"),
				about: "How long Prometheus takes to scrape the node: milliseconds normally, seconds if the " +
					"process gets no CPU."},
		}},
		{"Shards", []graph{
			{title: "Shard utilization", unit: "percentunit", most: 1, warn: 0.7, bad: 0.9,
				queries: q(`instance_shard:linchpin_shard_busy:ratio_rate1m{@}`, "shard {{shard}}"),
				about:   "A shard runs on one core. Near 100 %, it is the bottleneck for its keys."},
			{title: "Messages", unit: "ops",
				queries: q(`rate(linchpin_shard_messages_total{@}[~])`, "shard {{shard}}"),
				about: "Messages that each shard processes. A shard far above the others is the home of hot keys, " +
					"or of many keys with the same tag in braces."},
			{title: "Messages per step", unit: "short",
				queries: q(`rate(linchpin_shard_messages_total{@}[~]) / `+
					`rate(linchpin_shard_steps_total{@}[~])`, "shard {{shard}}"),
				about: "Mean batch size of a shard. It grows with the load."},
			{title: "Queue length", unit: "short", queries: q(`linchpin_shard_queue_length{@}`, "shard {{shard}}"),
				about: "Messages in the queue of each shard. Each step empties it; a level that stays means that " +
					"the shard is saturated."},
			{title: "Lock waiters and transactions", unit: "short",
				queries: []query{{`sum(linchpin_shard_lock_waiters{@})`, "lock waiters"},
					{`sum(linchpin_shard_prepared_transactions{@})`, "prepared transactions"},
					{`sum(linchpin_shard_decision_records{@})`, "decision records"}},
				about: "Requests that wait for locks, prepared transactions, and decisions kept. If prepared " +
					"transactions stay, the shard of their last agent is down."},
			{title: "Log entries", unit: "ops",
				queries: q(`rate(linchpin_shard_log_entries_total{@}[~])`, "shard {{shard}}"),
				about: "Log entries per second: versions, prepared transactions, decisions. A shard far above the " +
					"others has hot keys."},
			{title: "Rejections", unit: "ops",
				queries: []query{{`sum by (shard) (rate(linchpin_shard_rejections_total{@}[~]))`, "shard {{shard}}"},
					{`sum(rate(linchpin_shard_disk_rejections_total{@}[~]))`, "disk full"},
					{`sum(rate(linchpin_shard_key_rejections_total{@}[~]))`, "queue of one key full"}},
				about: "Requests rejected because a queue of the shard, the queue of one key, or the disk is " +
					"full. Clients retry with backoff."},
		}},
		{"Replicas", []graph{
			{title: "Shards led", unit: "short", queries: q(`sum(linchpin_shard_leads{@})`, "shards"),
				about: "With replicas: shards that the node leads and serves. 0 for a node whose shards were moved " +
					"by a drain, or that has just started."},
			{title: "Replicas missing", unit: "short", warn: 1, bad: 1,
				queries: q(`linchpin_shard_replicas_missing{@}`, "shard {{shard}}"),
				about: "Replicas that the shards of this node lack: their node is down, or their data is being " +
					"filled. See the alert LinchpinReplicasMissing."},
			{title: "Follower lag", unit: "short",
				queries: q(`linchpin_shard_follower_lag_entries{@}`, "shard {{shard}} on n{{peer}}"),
				about: "Committed entries that a follower does not have. If it grows, the follower's disk or its " +
					"network is slow; commits do not wait for it while a majority is fast."},
			{title: "Leases", unit: "s", queries: q(`min(linchpin_shard_lease_seconds{@})`, "shortest"),
				about: "The shortest lease of the shards that the node leads, of 0.72 s after a renewal. At 0 the " +
					"shard waits, until a majority of its replicas responds."},
			{title: "Rates of clocks", unit: "percentunit", warn: 0.01, bad: 0.02,
				queries: q(`abs(linchpin_peer_clock_rate_difference{@})`, "n{{peer}}"),
				about: "How much faster or slower the clock of another node runs than this node's. A node whose clock " +
					"differs from those of most others by 2 % leads nothing: see the alert LinchpinClockRate."},
			{title: "Terms", unit: "short", queries: q(`linchpin_shard_term{@}`, "shard {{shard}}"),
				about: "Term of each shard. It grows by one or more with each change of its leader."},
			{title: "Elections and changes of leader", unit: "short",
				queries: []query{{`sum(increase(linchpin_shard_elections_total{@}[~]))`, "elections begun"},
					{`sum(increase(linchpin_shard_leaderships_total{@}[~]))`, "leaderships begun"},
					{`sum by (cause) (increase(linchpin_shard_leader_transfers_total{@}[~]))`, "transferred: {{cause}}"}},
				about: "Elections that the node has begun, and shards that it began to lead. The log has the " +
					"reason of each. Many: a link or a disk is unreliable, or the nodes are overloaded."},
			{title: "Raft snapshots", unit: "short",
				queries: q(`increase(linchpin_raft_snapshots_total{@}[~])`, "{{direction}}"),
				about: "Copies of whole shards for replicas that the log cannot serve: after an emptied disk or a " +
					"long time down. They use disk and network."},
			{title: "Log of the replicas", unit: "Bps",
				queries: q(`rate(linchpin_raft_log_bytes_total{@}[~])`, "bytes"),
				about:   "Data written to the logs of the node's replicas; followers write as much as leaders."},
		}},
		{"Connections and clients", []graph{
			{title: "Connections", unit: "short",
				queries: q(`linchpin_connections{@}`, "authenticated: {{authenticated}}"),
				about: "Open connections. A connection is authenticated or closed within seconds; many " +
					"unauthenticated connections may be an attack."},
			{title: "Connections rejected", unit: "ops", stacked: true,
				queries: q(`rate(linchpin_connections_rejected_total{@}[~])`, "{{limit}}"),
				about: "Connections closed, by the limit that was reached. A steady rate: clients are " +
					"misconfigured, or attackers try to connect."},
			{title: "Client memory", unit: "bytes", stacked: true,
				queries: []query{{`sum by (kind) (linchpin_client_memory_bytes{@})`, "{{kind}}"},
					{`sum by (part) (linchpin_memory_budget_bytes{@})`, "budget: {{part}}"}},
				about: "Memory held for clients, and the memory budgets. Near the budget of clients, some client " +
					"does not read its responses, or sends endless requests."},
			{title: "Rejections for lack of memory", unit: "ops", stacked: true,
				queries: q(`rate(linchpin_client_memory_rejections_total{@}[~])`, "{{kind}}"),
				about: "Requests and connections rejected because their user or connection has used up its share " +
					"of the memory for clients."},
			{title: "Clock offset to the other nodes", unit: "s",
				queries: []query{{`max by (instance) (linchpin_node_clock_offset_seconds{@})`,
					"{{instance}}: offset"},
					{`max by (instance) (linchpin_node_clock_ids_ahead_seconds{@})`,
						"{{instance}}: transaction ids ahead"},
					{`sum by (instance) (increase(linchpin_node_clock_jumps_total{@}[~]))`, "{{instance}}: jumps"}},
				about: "Offset of the wall clock to most other nodes, how far transaction ids are ahead of the " +
					"clock, and steps of the clock. Correct a wrong clock; no data is lost."},
			{title: "Authentication", unit: "ops", stacked: true,
				queries: q(`rate(linchpin_authentications_total{@}[~])`, "{{result}}"),
				about: "With TLS: calls by result. denied: a role is missing. unavailable: the shard of the user " +
					"table cannot be reached."},
			{title: "Certificate lifetime left", unit: "s", warn: 14 * 86400, bad: 2 * 86400,
				queries: q(`linchpin_certificate_expiry_timestamp_seconds{@} - time()`, "{{certificate}}"),
				about: "With TLS: time until each certificate expires. Replace the file before; the node loads it " +
					"without a restart."},
			{title: "Certificate reloads", unit: "ops",
				queries: q(`rate(linchpin_certificate_reloads_total{@}[~])`, "{{result}}"),
				about: "With TLS: changed certificates that were loaded, or rejected because they are invalid, " +
					"expired, or not signed by the authority."},
			{title: "Age of the user table", unit: "s", queries: q(`linchpin_user_table_age_seconds{@}`, "age"),
				about: "With TLS: time since the user table was read. If it grows, its shard cannot be reached, " +
					"and changes of roles do not take effect."},
		}},
		{"Peers", []graph{
			{title: "Peers reachable", unit: "short", most: 1, queries: q(`linchpin_peer_up{@}`, "n{{peer}}"),
				about: "1 while the peer is reachable. 0: the peer is down, or the network between the nodes is " +
					"partitioned."},
			{title: "Messages sent", unit: "ops",
				queries: q(`rate(linchpin_peer_messages_sent_total{@}[~])`, "to n{{peer}}: {{stream}}"),
				about: "Messages to each peer. They follow the load; many more sent than received means that " +
					"messages are retried."},
			{title: "Messages received", unit: "ops",
				queries: q(`rate(linchpin_peer_messages_received_total{@}[~])`, "from n{{peer}}: {{stream}}"),
				about: "Messages from each peer. If none arrive while messages are sent, the network is cut in " +
					"one direction."},
			{title: "Messages dropped", unit: "ops",
				queries: q(`rate(linchpin_peer_messages_dropped_total{@}[~])`, "to n{{peer}}: {{stream}}"),
				about: "Messages dropped because the queue to the peer is full: it is slow or down. The protocol " +
					"retries them."},
		}},
	}}
