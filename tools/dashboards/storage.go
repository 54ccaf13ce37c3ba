package main

// storage shows the disk, the log, compactions and reads of the store.
var storage = board{uid: "storage", title: "Storage",
	about: "Free space and fsyncs of the disks, compactions, and reads of the store.",
	rows: []row{
		{"Space", []graph{
			{title: "Least free disk space", kind: number, unit: "percentunit", width: 6, warn: 0.2, bad: 0.05,
				queries: q(`min(instance:linchpin_store_disk_free:ratio{@})`, ""),
				about: "Free space of the fullest disk. Below the reserve (--disk-reserve-mb) the node rejects " +
					"new writes. If the log cannot be written, the node stops; acknowledged writes are not lost."},
			{title: "Corruptions", kind: number, unit: "short", width: 6, warn: 1, bad: 1,
				queries: q(`sum(linchpin_store_corruptions_total{@})`, ""),
				about: "Corrupt blocks and files found. Above 0, the disk is broken and the data in them cannot " +
					"be read; see the alert LinchpinCorruption."},
			{title: "Failed compactions", kind: number, unit: "short", width: 6, warn: 1, bad: 1,
				queries: q(`sum(linchpin_store_failed_compactions_total{@})`, ""),
				about: "Compactions that have failed since the start of the nodes. The store retries them; the " +
					"disk is full or broken."},
			{title: "Size of the stores", kind: number, unit: "bytes", width: 6,
				queries: q(`sum(linchpin_store_disk_bytes{@})`, ""),
				about:   "Size of the selected stores on disk, in total. A backup of the directories needs as much."},
			{title: "Free disk space", unit: "bytes", queries: q(`linchpin_store_disk_free_bytes{@}`, "{{instance}}"),
				about: "Free space of each disk. Free or add space before a falling line reaches the reserve."},
			{title: "Size of the store", unit: "bytes", queries: q(`linchpin_store_disk_bytes{@}`, "{{instance}}"),
				about: "Size of each store on disk. It grows while snapshots keep old versions, and before " +
					"compactions."},
			{title: "Reclaimable space", unit: "bytes",
				queries: q(`linchpin_store_reclaimable_bytes{@}`, "{{instance}}"),
				about: "Estimated space of deleted and overwritten data. Compactions free it over time; `linchpin " +
					"reclaim` frees it now."},
			{title: "Write-ahead log and memtables", unit: "bytes",
				queries: []query{{`linchpin_store_wal_bytes{@}`, "log {{instance}}"},
					{`linchpin_store_memtable_bytes{@}`, "memtables {{instance}}"}},
				about: "Size of the write-ahead log and of the memtables. Both fall when memtables are flushed."},
		}},
		{"Log", []graph{
			{title: "Fsync latency", unit: "s",
				queries: []query{{`instance:linchpin_log_fsync_duration_seconds:mean_rate5m{@}`, "mean {{instance}}"},
					{`instance:linchpin_log_fsync_duration_seconds:p99_rate5m{@}`, "p99 {{instance}}"}}, warn: 0.02,
				bad: 0.1,
				about: "Every commit waits for at least one fsync. Below 1 ms on a disk with a protected write " +
					"cache, some ms on others. Above 100 ms, the disk is overloaded or failing."},
			{title: "Fsync latency, distribution", kind: heat, unit: "s",
				queries: q(`sum by (le) (increase(linchpin_log_fsync_duration_seconds_bucket{@}[~]))`, "{{le}}"),
				about: "All fsyncs by latency. A second, higher band: another program uses the disk, or the disk " +
					"does its own housekeeping."},
			{title: "Fsyncs and batches", unit: "ops",
				queries: []query{{`sum by (instance) (rate(linchpin_log_fsyncs_total{@}[~]))`, "fsyncs {{instance}}"},
					{`sum by (instance) (rate(linchpin_log_appends_total{@}[~]))`, "batches {{instance}}"}},
				about: "Fsyncs and batches of log entries per second. An fsync covers all batches that wait when " +
					"it starts."},
			{title: "Log entries per fsync", unit: "short",
				queries: q(`sum by (instance) (rate(linchpin_log_fsync_entries_sum{@}[~])) / sum `+
					`by (instance) (rate(linchpin_log_fsync_entries_count{@}[~]))`, "{{instance}}"),
				about: "Effect of group commit. It grows with the load and with the latency of the disk."},
			{title: "Time to durability, p99", unit: "s",
				queries: q(`histogram_quantile(0.99, sum by (instance, le) `+
					`(rate(linchpin_stage_duration_seconds_bucket{@,stage="durable"}[~])))`, "p99 {{instance}}"),
				about: "From the processing of a message until its log entries are on disk: up to two fsyncs, " +
					"plus queueing."},
			{title: "Log entries", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_log_entries_total{@}[~]))`, "{{instance}}"),
				about: "Log entries per second of all shards: versions, prepared transactions, decisions and " +
					"fences."},
		}},
		{"Writes and compactions", []graph{
			{title: "Bytes written", unit: "Bps", stacked: true,
				queries: []query{{`sum(rate(linchpin_store_logged_bytes_total{@}[~]))`, "log"},
					{`sum(rate(linchpin_store_flushed_bytes_total{@}[~]))`, "flushes"},
					{`sum(rate(linchpin_store_compacted_bytes_total{@}[~]))`, "compactions"}},
				about: "Bytes written to disk per second: once to the log, once by a flush, and repeatedly by " +
					"compactions."},
			{title: "Write amplification", unit: "short",
				queries: q(`sum by (instance) (rate(linchpin_store_logged_bytes_total{@}[5m]) + `+
					`rate(linchpin_store_flushed_bytes_total{@}[5m]) + `+
					`rate(linchpin_store_compacted_bytes_total{@}[5m])) / sum by (instance) `+
					`(rate(linchpin_store_logged_bytes_total{@}[5m]))`, "{{instance}}"),
				about: "Bytes written to disk per byte written to the log. 2 to 10 is normal; it is lower if keys " +
					"are overwritten in memory."},
			{title: "Flushes and compactions", unit: "ops",
				queries: []query{{`sum by (instance) (rate(linchpin_store_flushes_total{@}[~]))`,
					"flushes {{instance}}"},
					{`sum by (instance) (rate(linchpin_store_compactions_total{@}[~]))`, "compactions {{instance}}"},
					{`sum by (instance) (linchpin_store_compactions_running{@})`, "running {{instance}}"}},
				about: "Flushes and compactions per second, and compactions that are running."},
			{title: "Compaction debt", unit: "bytes",
				queries: q(`linchpin_store_compaction_debt_bytes{@}`, "{{instance}}"),
				about: "Estimated data that is still to be compacted. If it grows for hours, the disk is too slow " +
					"for the write load: reads slow down, and later writes."},
			{title: "Read amplification", unit: "short", warn: 15, bad: 30,
				queries: []query{{`linchpin_store_read_amplification{@}`, "all levels {{instance}}"},
					{`linchpin_store_l0_sublevels{@}`, "level 0 {{instance}}"}},
				about: "Levels that a read may have to search. Below 10 is good; above 30, compactions cannot " +
					"keep up."},
			{title: "Tables", unit: "short", queries: q(`linchpin_store_tables{@}`, "{{instance}}"),
				about: "Sorted tables on disk. Each may use a file descriptor."},
		}},
		{"Reads", []graph{
			{title: "Cache misses", unit: "ops",
				queries: q(`sum by (instance) (rate(linchpin_shard_cache_misses_total{@}[~]))`, "{{instance}}"),
				about: "Reads per second of keys, ranges and old versions that are not in the shards' memory. If " +
					"the working set is small, --cache-mb is too small."},
			{title: "Store read latency, p99", unit: "s", warn: 0.05, bad: 0.5,
				queries: q(`histogram_quantile(0.99, sum by (instance, le) `+
					`(rate(linchpin_store_read_duration_seconds_bucket{@}[~])))`, "p99 {{instance}}"),
				about: "Latency of reads after a cache miss. Only transactions on keys that are not in memory " +
					"wait for them. A slow or hanging disk shows here and in Cache misses in flight."},
			{title: "Cache misses in flight", unit: "short",
				queries: q(`sum by (instance) (linchpin_shard_cache_misses_in_flight{@})`, "{{instance}}"),
				about: "Reads of the store in flight. They take milliseconds; a level that stays means that the " +
					"disk hangs."},
			{title: "Pages of large values", unit: "ops",
				queries: []query{{`sum by (instance) (rate(linchpin_shard_pages_read_total{@}[~]))`,
					"read {{instance}}"},
					{`sum by (instance) (rate(linchpin_shard_pages_written_total{@}[~]))`, "written {{instance}}"}},
				about: "Sets, maps and sorted sets above 64 KiB are stored in pages. Many reads: large values do " +
					"not fit into memory. Many writes: changes are spread over the value."},
			{title: "Block cache hit ratio", unit: "percentunit", most: 1,
				queries: q(`instance:linchpin_store_cache_hits:ratio_rate5m{@}`, "{{instance}}"),
				about: "Share of blocks found in the block cache. If it is low and there are many cache misses, " +
					"increase --cache-mb."},
			{title: "Block cache", unit: "bytes", queries: q(`linchpin_store_cache_bytes{@}`, "{{instance}}"),
				about: "Size of the block cache, at most --cache-mb."},
			{title: "Keys in memory", unit: "short",
				queries: q(`sum by (instance) (linchpin_shard_keys_in_memory{@})`, "{{instance}}"),
				about:   "Keys whose latest version is in the shards' memory, so that reading them needs no disk."},
		}},
	}}
