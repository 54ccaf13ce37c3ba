package msg

import (
	"bytes"
	"sort"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// CompareKeys compares two keys in the order in which a scan returns them: ascending, or descending
// in reverse.
func CompareKeys(a, b []byte, reverse bool) int {
	if reverse {
		return bytes.Compare(b, a)
	}
	return bytes.Compare(a, b)
}

// Unread reports whether a scan that has stopped at resume (Result.Resume) has not read a key of its
// range. If resume is empty, the scan has read the whole range.
func Unread(key, resume []byte, reverse bool) bool {
	switch {
	case len(resume) == 0:
		return false
	case reverse:
		return bytes.Compare(key, resume) < 0
	}
	return bytes.Compare(key, resume) >= 0
}

// ReadUntil returns the part of the range that a scan which has stopped at resume has read.
func (o *Op) ReadUntil(resume []byte) kv.Span {
	switch {
	case len(resume) == 0:
		return o.Span()
	case o.Reverse:
		return kv.Range(resume, o.End)
	}
	return kv.Range(o.Key, resume)
}

// CutScan drops the rows from resume on, where the scan has stopped, and those after the first limit ones. It returns
// the remaining rows and the new resume key. rows are in the order of the scan.
func CutScan[T any](rows []T, key func(*T) []byte, resume []byte, limit int, reverse bool) ([]T, []byte) {
	n := sort.Search(len(rows), func(i int) bool { return Unread(key(&rows[i]), resume, reverse) })
	rows = rows[:n]
	switch {
	case n <= limit:
		return rows, resume
	case reverse:
		return rows[:limit], key(&rows[limit-1])
	}
	return rows[:limit], key(&rows[limit])
}
