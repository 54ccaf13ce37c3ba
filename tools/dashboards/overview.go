package main

// overview is the entry point: health, load, latency, nodes.
var overview = board{uid: "overview", title: "Overview",
	about: "Health, load and latency of the cluster. Start here; the links at the top lead to the other dashboards.",
	rows: []row{
		{"Health", []graph{
			{title: "Nodes up", kind: number, unit: "short", queries: q(`sum(up{#})`, ""),
				about: "Nodes that Prometheus can scrape. If a node is missing, its shards are unavailable: " +
					"restart it, and see the alert LinchpinNodeDown."},
			{title: "Firing alerts", kind: number, unit: "short", warn: 1, bad: 1,
				queries: q(`count(ALERTS{alertstate="firing",alertname=~"Linchpin.*"}) or vector(0)`, ""),
				about:   "Firing alerts of all clusters of this Prometheus. Each alert links to its runbook."},
			{title: "Transactions", kind: number, unit: "reqps",
				queries: q(`sum(job:linchpin_transactions:rate1m{#})`, ""),
				about: "Finished transactions per second: reads and writes, successful or not. If it is 0 while " +
					"clients run, check the nodes and the errors."},
			{title: "Error rate", kind: number, unit: "percentunit", warn: 0.001, bad: 0.01,
				queries: q(`job:linchpin_transaction_failures:ratio_rate5m{#}`, ""),
				about: "Share of transactions that end with Unavailable, OutcomeUnknown, DeadlineExceeded, " +
					"ResourceExhausted, Internal or Corrupt. Failed conditions do not count. Above 1 %, see " +
					"Errors by kind."},
			{title: "Time spent waiting", kind: number, unit: "percentunit", warn: 0.2, bad: 0.5,
				queries: q(`job:linchpin_contention_wait:ratio_rate5m{#}`, ""),
				about: "Share of the latency of all transactions that is spent waiting for conflicting " +
					"transactions. If it is high, the dashboard Contention shows the keys and operations."},
			{title: "Hot shard utilization", kind: number, unit: "percentunit", warn: 0.6, bad: 0.85,
				queries: q(`max(linchpin_hot_busy_ratio{#})`, ""),
				about: "Utilization of the hot shard, which runs on one core. Above 60 % no more keys move to it; " +
					"above 85 % keys move home."},
		}},
		{"Load", []graph{
			{title: "Transactions by kind", unit: "reqps", stacked: true,
				queries: q(`sum by (kind) (instance_kind:linchpin_transactions:rate1m{@})`, "{{kind}}"),
				about: "Finished transactions per second, by kind. Many outcome_query mean that clients lose " +
					"responses."},
			{title: "Errors by kind", unit: "reqps", stacked: true,
				queries: q(`sum by (outcome) (rate(linchpin_transactions_total{@,outcome!="OK"}[~]))`, "{{outcome}}"),
				about: "Transactions per second that end with an error. ConditionFailed, OutOfRange, NotFound and " +
					"WrongType are the application's own. Aborted is contention: the client retries. Unavailable: " +
					"a node is down. ResourceExhausted: see Rejections. OutcomeUnknown: a node failed during a " +
					"commit."},
			{title: "Transactions in flight", unit: "short",
				queries: []query{{`sum by (instance) (linchpin_gateway_inflight_transactions{@})`,
					"one-shot {{instance}}"},
					{`sum by (instance) (linchpin_gateway_open_transactions{@})`, "interactive {{instance}}"}},
				about: "Transactions in flight at each gateway. If it grows at a constant load, a node or a disk " +
					"does not respond."},
			{title: "Rejections", unit: "reqps", stacked: true,
				queries: []query{{`sum by (limit) (rate(linchpin_gateway_admission_rejections_total{@}[~]))`,
					"admission: {{limit}}"},
					{`sum(rate(linchpin_shard_rejections_total{@}[~]))`, "shards"}},
				about: "Transactions rejected because all admission slots (of a key, a shard, interactive " +
					"transactions, or the node) are taken, and requests that shards reject. Expected under " +
					"overload: reduce the load, or add backoff to the clients."},
			{title: "Operations", unit: "ops",
				queries: q(`topk(12, sum by (type, method) (rate(linchpin_operations_total{@}[~])))`,
					"{{type}}.{{method}}"),
				about: "The 12 most frequent operations. On hot keys, replace add-get, or get and put, by add " +
					"where the new value is not needed: adds commute."},
			{title: "Retries", unit: "reqps", stacked: true,
				queries: q(`sum by (reason) (rate(linchpin_transaction_retries_total{@}[~]))`, "{{reason}}"),
				about: "Attempts per second that abort and that the gateway retries. Wounded, StaleGrant and " +
					"StaleRead are contention; Moved is a key that has moved; Incarnation is a restarted shard. " +
					"Clients retry interactive transactions; those count as Aborted."},
		}},
		{"Latency", []graph{
			{title: "Transaction latency, p50", unit: "s",
				queries: q(`job_kind:linchpin_transaction_duration_seconds:p50_rate5m{#}`, "{{kind}}"),
				about: "Median latency at the gateways over 5 minutes. For interactive transactions it includes " +
					"the client's time between requests."},
			{title: "Transaction latency, p99", unit: "s",
				queries: q(`job_kind:linchpin_transaction_duration_seconds:p99_rate5m{#}`, "{{kind}}"),
				about: "99th percentile over 5 minutes. If it is far above the median, some transactions wait: " +
					"for hot keys (Contention), for the disk (Storage), or for a saturated shard (Node)."},
			{title: "Mean latency by stage", unit: "s",
				queries: q(`sum by (stage) (rate(linchpin_stage_duration_seconds_sum{@}[~])) / sum `+
					`by (stage) (rate(linchpin_stage_duration_seconds_count{@}[~]))`, "{{stage}}"),
				about: "gateway: the whole transaction. lock_wait: requests that waited for locks. vote: commit " +
					"request to last vote. decision: vote to decision. durable: processing to fsync."},
			{title: "One-shot latency, distribution", kind: heat, unit: "s", width: 24,
				queries: q(`sum by (le) (increase(linchpin_transaction_duration_seconds_bucket{@,kind="one_shot"}[~]))`,
					"{{le}}"),
				about: "All one-shot transactions by latency. Two bands are two groups of transactions: those " +
					"that wait and those that do not."},
		}},
		{"Nodes", []graph{
			{title: "Nodes", kind: table, unit: "short", width: 12,
				queries: q(`linchpin_node_info{#}`,
					""),
				columns: map[string]string{"instance": "address", "node": "node", "version": "version",
					"cluster": "cluster", "Value": "up"},
				about: "The nodes, their addresses and versions. Versions should differ only during an upgrade."},
			{title: "CPU", unit: "percentunit", width: 6,
				queries: q(`rate(process_cpu_seconds_total{@}[~])`, "{{instance}}"),
				about: "CPU use of each node; 100 % is one core. If one node is far above the others, it has the " +
					"hot shard or most of the clients."},
			{title: "Uptime", unit: "s", width: 6,
				queries: q(`time() - process_start_time_seconds{@}`, "{{instance}}"),
				about: "Time since the start of each process. A drop to 0 is a restart; the node's log has the " +
					"reason."},
		}},
	}}
