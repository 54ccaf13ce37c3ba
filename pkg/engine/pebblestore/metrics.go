package pebblestore

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/linchpindb/linchpin/pkg/engine"
)

// Metrics is what a dashboard wants to know of the database below. Counts and
// times are since the store was opened; sizes are in bytes.
type Metrics struct {
	CacheBytes, CacheHits, CacheMisses int64
	MemTableBytes                      uint64
	MemTables                          int64

	LogMetrics
	Flushes int64
	CompactionMetrics

	// FlushedBytes and CompactedBytes were written to tables, by flushes and by
	// compactions.
	FlushedBytes, CompactedBytes uint64

	// ReadAmplification is how many sorted runs a read may have to look into.
	// L0Sublevels are those of them at the top.
	ReadAmplification int
	L0Tables          int64
	L0Sublevels       int64
	Tables            int64
	TableBytes        int64
	Tombstones        uint64
	OpenIterators     int64
	DiskBytes         uint64
	// ReclaimableBytes estimates how much of DiskBytes deleted rows occupy. ReclaimAll frees it.
	ReclaimableBytes uint64
	// Corruptions counts damaged blocks and files that were met.
	Corruptions uint64
}

// LogMetrics are those of the write-ahead log.
type LogMetrics struct {
	// WALBytes is its size, WALBytesIn the bytes of batches, WALBytesWritten those written for them.
	WALBytes, WALBytesIn, WALBytesWritten uint64
	WALSyncs                              uint64
	// WALSyncLatency is in nanoseconds.
	WALSyncLatency prometheus.Histogram
}

// CompactionMetrics are those of compactions. CompactionDebt estimates, in bytes, what is to be compacted.
type CompactionMetrics struct {
	Compactions           int64
	CompactionDebt        uint64
	CompactionTime        time.Duration
	CompactionsInProgress int64
	CompactionsFailed     int64
}

// Metrics asks the database. It costs some microseconds and takes its main
// lock: call it once a scrape, not once a request. It is zero after Close.
func (s *Store) Metrics() Metrics {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return Metrics{}
	}
	m := s.db.Metrics()
	total := m.Total()
	return Metrics{
		CacheBytes: m.BlockCache.Size, CacheHits: m.BlockCache.Hits, CacheMisses: m.BlockCache.Misses,
		MemTableBytes: m.MemTable.Size, MemTables: m.MemTable.Count,
		LogMetrics: LogMetrics{WALBytes: m.WAL.Size, WALBytesIn: m.WAL.BytesIn, WALBytesWritten: m.WAL.BytesWritten,
			WALSyncs: s.syncs.Load(), WALSyncLatency: m.LogWriter.FsyncLatency},
		Flushes: m.Flush.Count,
		CompactionMetrics: CompactionMetrics{Compactions: m.Compact.Count, CompactionDebt: m.Compact.EstimatedDebt,
			CompactionTime: m.Compact.Duration, CompactionsInProgress: m.Compact.NumInProgress,
			CompactionsFailed: m.Compact.FailedCount},
		FlushedBytes: m.Levels[0].TableBytesFlushed, CompactedBytes: total.TableBytesCompacted,
		ReadAmplification: m.ReadAmp(),
		L0Sublevels:       int64(m.Levels[0].Sublevels),
		L0Tables:          m.Levels[0].TablesCount,
		Tables:            total.TablesCount, TableBytes: total.TablesSize,
		Tombstones:    m.Keys.TombstoneCount,
		OpenIterators: m.TableIters,
		DiskBytes:     m.DiskSpaceUsage(), ReclaimableBytes: s.unflushed.reclaimable(m),
		Corruptions: s.corruptions.Load(),
	}
}

// Stats counts what the store did since it was opened.
func (s *Store) Stats() engine.Stats {
	st := engine.Stats{Appends: s.appends.Load(), Entries: s.entries.Load(), Syncs: s.syncs.Load()}
	s.life.RLock()
	defer s.life.RUnlock()
	if !s.closed {
		st.DiskBytes = s.db.Metrics().DiskSpaceUsage()
	}
	return st
}

// Disk is the disk below a store, in bytes: what it has left for us, and what
// it has altogether.
type Disk struct{ Free, Size uint64 }

// Disk asks the file system.
func (s *Store) Disk() (Disk, error) {
	u, err := s.opts.FS.GetDiskUsage(s.dir)
	if err != nil {
		return Disk{}, readError(err, nil)
	}
	return Disk{Free: u.AvailBytes, Size: u.TotalBytes}, nil
}

// FreeBytes is how much room the disk below the store has left for us.
func (s *Store) FreeBytes() (uint64, error) {
	d, err := s.Disk()
	return d.Free, err
}
