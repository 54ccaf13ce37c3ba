package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/linchpindb/linchpin/test/bench/rounds"
)

const (
	// fsyncs is how many are timed, each after the file has grown by grownBy.
	fsyncs, grownBy = 100, 400
	// tooFast is what no disk takes.
	tooFast = 5 * time.Microsecond
)

// fsyncTakes is the median of how long an fsync takes in a directory.
func fsyncTakes(dir string) (took time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	times := make([]float64, fsyncs)
	entry := make([]byte, grownBy)
	for i := range times {
		if _, err := f.Write(entry); err != nil {
			return 0, err
		}
		begin := time.Now()
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times[i] = float64(time.Since(begin))
	}
	return time.Duration(rounds.Median(times)), nil
}
