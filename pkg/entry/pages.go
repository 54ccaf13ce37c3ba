package entry

import (
	"encoding/binary"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// A large value of a data type may be stored in pages (docs/decisions/0017). Its row of the version table is a
// directory, which names rows of the page table. The changes after it are patches, which name the changed elements,
// so they can be read without the pages. Package adt defines the rest of the content of directories, patches and
// pages.
const (
	// directoryFormat is the format of a directory: header, number of pages, the name of each, and the rest in the
	// encoding of the type.
	directoryFormat = 3
	// patchFormat is the format of a patch: header, and the changes in the encoding of the type.
	patchFormat = 4
)

// PageRef names a page of a value.
type PageRef struct {
	// ID is unique among all pages that the shard ever has.
	ID uint64
	// FirstCSN is the CSN of the first row that names the page.
	FirstCSN kv.CSN
}

// pageID is the length of the number of a page in its key.
const pageID = 8

// PageKey is the key of the row of a page: the user key, then the number.
func PageKey(user []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, len(user)+pageID), user...), id)
}

// SplitPageKey splits a key made by PageKey; ok is false for others.
func SplitPageKey(key []byte) (user []byte, id uint64, ok bool) {
	n := len(key) - pageID
	if n <= 0 {
		return nil, 0, false
	}
	return key[:n:n], binary.BigEndian.Uint64(key[n:]), true
}

// IsDirectory reports whether a row of the version table is a directory.
func IsDirectory(b []byte) bool { return formatOf(b) == directoryFormat }

// IsPatch reports whether a row of the version table is a patch.
func IsPatch(b []byte) bool { return formatOf(b) == patchFormat }

// EncodeDirectory returns the stored form of a value v in pages.
func EncodeDirectory(v *Value, pages []PageRef, directory []byte) []byte {
	b := make([]byte, v.header(), v.header()+10*len(pages)+len(directory)+8)
	v.encodeHeader(b, directoryFormat)
	b = binary.AppendUvarint(b, uint64(len(pages)))
	for _, p := range pages {
		b = binary.AppendUvarint(binary.AppendUvarint(b, p.ID), uint64(p.FirstCSN))
	}
	return append(b, directory...)
}

// DecodeDirectory decodes the output of EncodeDirectory: type and version of the value, its pages, and the rest,
// which aliases b.
func DecodeDirectory(b []byte) (v Value, pages []PageRef, directory []byte, err error) {
	v, _, err = DecodeHead(b)
	if err != nil {
		return v, nil, nil, err
	}
	if !IsDirectory(b) {
		return v, nil, nil, corrupt("", "a stored row is not a value in pages")
	}
	d := kv.Decoder{Rest: afterHeader(b)}
	n := d.Uint()
	if !d.Failed && (n == 0 || n > uint64(len(d.Rest))/2) {
		return v, nil, nil, corrupt("", "a stored value has %d pages, more than its directory can list", n)
	}
	pages = make([]PageRef, 0, n)
	for range n {
		pages = append(pages, PageRef{ID: d.Uint(), FirstCSN: kv.CSN(d.Uint())})
	}
	if d.Failed {
		return v, nil, nil, corrupt("", "the pages of a stored value are truncated")
	}
	return v, pages, d.Rest, nil
}

// Pages returns the pages that a row of the version table names.
func Pages(b []byte) ([]PageRef, error) {
	if !IsDirectory(b) {
		return nil, nil
	}
	_, pages, _, err := DecodeDirectory(b)
	return pages, err
}

// EncodePatch returns the stored form of a change of a value in pages. v has the new version.
func EncodePatch(v *Value, patch []byte) []byte {
	b := make([]byte, v.header(), v.header()+len(patch))
	v.encodeHeader(b, patchFormat)
	return append(b, patch...)
}

// DecodePatch decodes the output of EncodePatch. The patch aliases b.
func DecodePatch(b []byte) (v Value, patch []byte, err error) {
	v, _, err = DecodeHead(b)
	if err == nil && !IsPatch(b) {
		err = corrupt("", "a stored row is not a change of a value in pages")
	}
	if err != nil {
		return v, nil, err
	}
	return v, afterHeader(b), nil
}
