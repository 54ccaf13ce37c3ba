package catalog

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"sort"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// This file reads a bbolt file as bytes that may be anything. Every offset is
// compared with what there is before it is used, so damage gives an error.
//
// The file is pages of one size. A page begins with its number (8), kind (2),
// count (2), and the number of pages that continue it (4). Pages 0 and 1 are
// two generations of the meta page: the greater transaction number is the
// newer. It leads to the tree of buckets, and to the list of free pages. All
// pages are exactly one of: meta, free, in the list, in the tree. Numbers are
// in the machine's byte order, as bbolt writes them.

// This file reads a bbolt file that may contain any bytes. Every offset is checked before it is used, so
// damage results in an error.
//
// The file consists of pages of one size. A page starts with its number (8), kind (2), count (2), and the
// number of pages that continue it (4). Pages 0 and 1 are two generations of the meta page; the higher
// transaction number is the newer one. It references the tree of buckets and the list of free pages. Every
// page is exactly one of: meta, free, part of the list, part of the tree. Numbers are in the machine's byte
// order, as bbolt writes them.
const (
	pageHeader  = 16
	kindBranch  = 0x01
	kindLeaf    = 0x02
	kindMeta    = 0x04
	kindFree    = 0x10
	elementSize = 16
	bucketSize  = 16
	bucketFlag  = 0x01

	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	noFreelist  = ^uint64(0)
	// manyFree as a count means that the count is the list's first element.
	manyFree = 0xFFFF

	// maxDepth bounds the tree's height and the nesting of buckets. A few values need at most three levels.
	maxDepth = 16
)

var host = binary.NativeEndian

// reader walks through a file.
type reader struct {
	b        []byte
	pageSize uint64
	// pages is the number of pages that are or were in use; the file may be longer.
	pages uint64
	// seen are the visited pages.
	seen map[uint64]bool
}

type meta struct {
	pageSize                   uint32
	root, freelist, pages, txn uint64
}

func damaged(format string, args ...any) error {
	e := kv.Errorf(kv.KindCorrupt, "it is damaged: "+format, args...)
	e.Hint = hintRestore
	return e
}

// readPages checks a whole file and returns the values of one of its buckets.
func readPages(b []byte, bucket string) (map[string][]byte, error) {
	m, err := readMeta(b)
	if err != nil {
		return nil, err
	}
	r := &reader{b: b, pageSize: uint64(m.pageSize), pages: m.pages, seen: map[uint64]bool{0: true, 1: true}}
	if r.pages < 4 || r.pages > uint64(len(b))/r.pageSize {
		return nil, damaged("%d pages do not fit into %d bytes", r.pages, len(b))
	}
	if err := r.readFree(m.freelist); err != nil {
		return nil, err
	}
	values := map[string][]byte{}
	found := false
	err = r.tree(m.root, maxDepth, func(isBucket bool, key, value []byte) error {
		if !isBucket || string(key) != bucket {
			return damaged("it has the unknown entry %q", key)
		}
		found = true
		return r.bucket(value, func(isBucket bool, key, value []byte) error {
			if isBucket {
				return damaged("%q should not be a bucket", key)
			}
			values[string(key)] = bytes.Clone(value)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, damaged("its bucket is missing")
	}
	if uint64(len(r.seen)) != r.pages {
		return nil, damaged("%d of %d pages are neither used nor free", r.pages-uint64(len(r.seen)), r.pages)
	}
	return values, nil
}

// readMeta reads both generations. bbolt would use the older one if the newer is damaged, and so return to
// an older state. A torn write cannot be the reason for the damage, since a meta page lies within one
// sector of the disk.
func readMeta(b []byte) (meta, error) {
	first, err := oneMeta(b, 0)
	if err != nil {
		return meta{}, err
	}
	second, err := oneMeta(b, int(first.pageSize))
	if err != nil {
		return meta{}, err
	}
	switch {
	case second.pageSize != first.pageSize:
		return meta{}, damaged("its meta pages disagree")
	case second.txn > first.txn:
		return second, nil
	}
	return first, nil
}

func oneMeta(b []byte, at int) (meta, error) {
	if at < 0 || len(b)-at < pageHeader+metaSize {
		return meta{}, damaged("it has only %d bytes", len(b))
	}
	if host.Uint16(b[at+8:]) != kindMeta {
		return meta{}, damaged("a meta page is not one of bbolt")
	}
	m := b[at+pageHeader : at+pageHeader+metaSize]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:metaSize-8]) // never fails
	size := host.Uint32(m[8:])
	switch {
	case host.Uint32(m) != metaMagic || host.Uint32(m[4:]) != metaVersion:
		return meta{}, damaged("it is not a bbolt file of a known version")
	case host.Uint64(m[metaSize-8:]) != sum.Sum64():
		return meta{}, damaged("the checksum of a meta page is wrong")
	case size < 1024 || size > 1<<20 || size&(size-1) != 0:
		return meta{}, damaged("pages of %d bytes", size)
	}
	return meta{pageSize: size, root: host.Uint64(m[16:]), freelist: host.Uint64(m[32:]),
		pages: host.Uint64(m[40:]), txn: host.Uint64(m[48:])}, nil
}

// page returns the bytes of a page and of those that continue it.
func (r *reader) page(id uint64) (p []byte, kind uint16, err error) {
	if id >= r.pages {
		return nil, 0, damaged("page %d of %d", id, r.pages)
	}
	at := id * r.pageSize
	more := uint64(host.Uint32(r.b[at+12:]))
	if host.Uint64(r.b[at:]) != id || more >= r.pages-id {
		return nil, 0, damaged("the header of page %d is wrong", id)
	}
	for i := id; i <= id+more; i++ {
		if err := r.markUsed(i); err != nil {
			return nil, 0, err
		}
	}
	return r.b[at : at+(more+1)*r.pageSize], host.Uint16(r.b[at+8:]), nil
}

func (r *reader) markUsed(id uint64) error {
	if id >= r.pages || r.seen[id] {
		return damaged("page %d is used twice, or missing", id)
	}
	r.seen[id] = true
	return nil
}

func (r *reader) readFree(id uint64) error {
	if id == noFreelist {
		return damaged("the list of free pages is missing")
	}
	p, kind, err := r.page(id)
	if err != nil {
		return err
	}
	if kind != kindFree {
		return damaged("page %d is not the list of free pages", id)
	}
	n, p := uint64(host.Uint16(p[10:])), p[pageHeader:]
	if n == manyFree {
		n, p = host.Uint64(p), p[8:]
	}
	if n > uint64(len(p))/8 {
		return damaged("%d free pages are too many for their list", n)
	}
	for i := range n {
		if err := r.markUsed(host.Uint64(p[i*8:])); err != nil {
			return err
		}
	}
	return nil
}

// visitor is called with the entries of a bucket in order.
type visitor func(isBucket bool, key, value []byte) error

// bucket visits the entries of a bucket, given its value in its parent: the number of the root page, or
// zero and an inline page.
func (r *reader) bucket(value []byte, visit visitor) error {
	if len(value) < bucketSize {
		return damaged("a bucket is too short")
	}
	if root := host.Uint64(value); root != 0 {
		return r.tree(root, maxDepth, visit)
	}
	p := value[bucketSize:]
	if len(p) < pageHeader || host.Uint16(p[8:]) != kindLeaf {
		return damaged("a small bucket is wrong")
	}
	return leaf(p, visit)
}

// tree visits the page with number id and its descendants.
func (r *reader) tree(id uint64, depth int, visit visitor) error {
	p, kind, err := r.page(id)
	switch {
	case err != nil:
		return err
	case depth == 0:
		return damaged("its tree is too deep")
	case kind == kindLeaf:
		return leaf(p, visit)
	case kind != kindBranch:
		return damaged("page %d is of kind %d", id, kind)
	}
	keys, err := elements(p)
	if err != nil {
		return err
	}
	for i := range keys {
		at := pageHeader + i*elementSize
		if err := r.tree(host.Uint64(p[at+8:]), depth-1, visit); err != nil {
			return err
		}
	}
	return nil
}

// elements returns the keys of a branch page, which must be ascending.
func elements(p []byte) (keys [][]byte, err error) {
	n := int(host.Uint16(p[10:]))
	if n == 0 || pageHeader+n*elementSize > len(p) {
		return nil, damaged("a branch page has %d elements", n)
	}
	for i := range n {
		at := pageHeader + i*elementSize
		k, ok := cut(p, at, host.Uint32(p[at:]), host.Uint32(p[at+4:]))
		if !ok {
			return nil, damaged("a branch page points outside of itself")
		}
		keys = append(keys, k)
	}
	return keys, checkAscending(keys)
}

func leaf(p []byte, visit visitor) error {
	n := int(host.Uint16(p[10:]))
	if pageHeader+n*elementSize > len(p) {
		return damaged("a leaf page has %d elements", n)
	}
	var keys [][]byte
	for i := range n {
		at := pageHeader + i*elementSize
		flags, pos := host.Uint32(p[at:]), host.Uint32(p[at+4:])
		ksize, vsize := host.Uint32(p[at+8:]), host.Uint32(p[at+12:])
		k, ok1 := cut(p, at, pos, ksize)
		v, ok2 := cut(p, at, pos+ksize, vsize)
		if !ok1 || !ok2 || pos+ksize < pos || flags > bucketFlag {
			return damaged("a leaf page points outside of itself")
		}
		if err := visit(flags == bucketFlag, k, v); err != nil {
			return err
		}
		keys = append(keys, k)
	}
	return checkAscending(keys)
}

// cut returns n bytes of p at position pos after at.
func cut(p []byte, at int, pos, n uint32) ([]byte, bool) {
	from := uint64(at) + uint64(pos)
	if from+uint64(n) > uint64(len(p)) {
		return nil, false
	}
	return p[from : from+uint64(n)], true
}

func checkAscending(keys [][]byte) error {
	if !sort.SliceIsSorted(keys, func(i, j int) bool { return bytes.Compare(keys[i], keys[j]) < 0 }) {
		return damaged("the keys of a page are out of order")
	}
	return nil
}
