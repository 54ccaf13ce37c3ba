package main

import (
	"io"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
)

// TestWindowWithoutWritesIsAnError: a scan that keeps out all writers
// for a whole window is not one beside which they were quick.
func TestWindowWithoutWritesIsAnError(t *testing.T) {
	window := func(us ...int64) *hdrhistogram.Histogram {
		h := newWindow()
		for _, x := range us {
			require.NoError(t, h.RecordValue(x))
		}
		return h
	}
	s := &longScanRun{longScanOptions: &longScanOptions{}, outside: []*hdrhistogram.Histogram{window(900, 1000)},
		during: []*hdrhistogram.Histogram{window(), window(1000), window()}}
	require.ErrorContains(t, s.print(io.Discard), "no transaction has ended")
	s.during = nil
	require.ErrorContains(t, s.print(io.Discard), "nothing to compare")
	s.during = []*hdrhistogram.Histogram{window(1000)}
	require.NoError(t, s.print(io.Discard))
}
