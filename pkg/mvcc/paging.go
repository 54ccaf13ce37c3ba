package mvcc

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
)

// Paging says which values are stored in pages, and how large these are. The
// zero value has the defaults.
type Paging struct {
	// Over is above how many bytes a value is stored in pages, if its type can be.
	// One that is, and shrinks to half of that, is stored whole again. Default
	// DefaultPagedOver.
	Over int
	// Least is how many bytes a page has at least, more or less. Default
	// DefaultLeastPage.
	Least int
	// Chain is how many pages the changes may weigh that follow a value in pages.
	// More makes reading slower, and writing cheaper. Default DefaultPagedChain.
	Chain int
}

const (
	// DefaultPagedOver is about what takes 3 ms to read and decode.
	DefaultPagedOver = 64 << 10
	// DefaultLeastPage is about what the store reads at once.
	DefaultLeastPage = 4 << 10
	// DefaultPagedChain has the changes of the largest values be read in about a
	// millisecond; and 32 bytes be written for each that changes, at the worst.
	DefaultPagedChain = 16
)

// entryBytes is about what a directory has for each page.
const entryBytes = 32

// WithDefaults fills in what is not set.
func (p Paging) WithDefaults() Paging {
	if p.Over == 0 {
		p.Over = DefaultPagedOver
	}
	if p.Least == 0 {
		p.Least = DefaultLeastPage
	}
	if p.Chain == 0 {
		p.Chain = DefaultPagedChain
	}
	return p
}

// Page is how large pages of a value are. It grows like the square root of the
// value, so that its directory and a page take about the same.
func (p Paging) Page(size int) int {
	return max(p.Least, int(math.Sqrt(float64(entryBytes)*float64(size))))
}

// chain is up to what weight changes may follow a value in pages.
func (p Paging) chain(size int) int { return p.Chain * p.Page(size) }

// InPages reports whether a value that is to be stored whole goes into pages.
// One that is in pages and has become small is brought into one piece, if that is
// in memory.
func (p Paging) InPages(v *entry.Value) bool {
	size := adt.Size(v)
	if adt.InPages(v) {
		return size > p.Over/2 || !adt.InOnePiece(v)
	}
	return v.State != nil && size > p.Over && adt.CanBePaged(v)
}

// TopHeavy lists the pages of a value that have to be read so that changes which
// are kept beside them can be worked in, if those have come to weigh much.
func (p Paging) TopHeavy(v *entry.Value) []adt.Page {
	pages, bytes := adt.Tops(v)
	if bytes <= p.chain(adt.Size(v))/2 {
		return nil
	}
	return pages
}

// Dropped are the pages that are in one list and not in another.
func Dropped(before, after []entry.PageRef) (out []entry.PageRef) {
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
