package mvcc

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// Paging configures which values are stored in pages and how large pages are. The zero value has
// the defaults.
type Paging struct {
	// Threshold is the size in bytes above which a value is stored in pages, if its type supports it. A
	// value in pages that shrinks to half of it is stored whole again. Default: DefaultPagedOver.
	Threshold int
	// MinPageBytes is the minimum page size in bytes, approximately. Default: DefaultLeastPage.
	MinPageBytes int
	// ChainPages limits the weight of the changes that follow a value in pages, in pages. A higher value
	// makes writes cheaper and reads slower. Default: DefaultPagedChain.
	ChainPages int
}

const (
	// DefaultPagedOver is a size that takes about 3 ms to read and decode.
	DefaultPagedOver = 64 << 10
	// DefaultLeastPage is about the unit in which the store reads.
	DefaultLeastPage = 4 << 10
	// DefaultPagedChain lets the changes of the largest values be read in about 1 ms, at a write
	// amplification of at most 32 bytes per change.
	DefaultPagedChain = 16
)

// directoryEntryBytes is the approximate size of a page's entry in the directory.
const directoryEntryBytes = 32

// WithDefaults sets the defaults of zero fields.
func (p Paging) WithDefaults() Paging {
	if p.Threshold == 0 {
		p.Threshold = DefaultPagedOver
	}
	if p.MinPageBytes == 0 {
		p.MinPageBytes = DefaultLeastPage
	}
	if p.ChainPages == 0 {
		p.ChainPages = DefaultPagedChain
	}
	return p
}

// Page returns the page size for a value of size bytes. It grows with the square root of the size,
// so that the directory and one page have about the same size.
func (p Paging) Page(size int) int {
	return max(p.MinPageBytes, int(math.Sqrt(float64(directoryEntryBytes)*float64(size))))
}

// maxChainWeight limits the weight of the changes that follow a value of size bytes in pages.
func (p Paging) maxChainWeight(size int) int { return p.ChainPages * p.Page(size) }

// InPages reports whether a value that is to be written whole is written in pages. A value in pages
// that has become small is written in one piece if all of it is in memory.
func (p Paging) InPages(v *entry.Value) bool {
	size := adt.Size(v)
	// Hysteresis: a value near the threshold would otherwise switch its form with each change.
	if adt.InPages(v) {
		return size > p.Threshold/2 || !adt.InOnePiece(v)
	}
	return v.State != nil && size > p.Threshold && adt.CanBePaged(v)
}

// OverfullPages returns the pages that must be read so that buffered changes of a value can be merged
// into them, if those changes exceed half of the chain limit; otherwise nil.
func (p Paging) OverfullPages(v *entry.Value) []adt.Page {
	pages, bytes := adt.BufferedPages(v)
	if bytes <= p.maxChainWeight(adt.Size(v))/2 {
		return nil
	}
	return pages
}

// DroppedPages returns the pages in before that are not in after.
//
// Versions that can still be read name them, so they are garbage only when these are.
func DroppedPages(before, after []entry.PageRef) (out []entry.PageRef) {
	if len(before) == 0 {
		return nil
	}
	kept := make(map[uint64]bool, len(after))
	for _, p := range after {
		kept[p.ID] = true
	}
	for _, p := range before {
		if !kept[p.ID] {
			out = append(out, p)
		}
	}
	return out
}
