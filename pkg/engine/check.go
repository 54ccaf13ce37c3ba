package engine

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// CheckEntry rejects an entry that cannot be stored. Such an entry is a bug of the caller, not a disk
// error. All implementations reject the same entries, before they apply anything of the batch.
func CheckEntry(e *entry.Entry) error {
	if e.Table < entry.TableVersion || e.Table > entry.LastTable {
		return kv.Errorf(kv.KindInternal, "an entry names the unknown table %d", e.Table)
	}
	if e.Action > entry.DeleteBelow {
		return kv.Errorf(kv.KindInternal, "an entry has the unknown action %d", e.Action)
	}
	if e.Table == entry.TableVersion && len(e.Key) == 0 {
		return kv.Errorf(kv.KindInternal, "an entry of the version table has no key")
	}
	if e.Table != entry.TableVersion && e.CSN != 0 {
		return kv.Errorf(kv.KindInternal, "an entry of the %v table has a CSN", e.Table)
	}
	return nil
}

// CheckRead rejects an invalid read.
func CheckRead(r *entry.Read) error {
	switch r.Kind {
	case entry.ReadKey, entry.ReadRange, entry.ReadGarbage, entry.ReadPages:
		return nil
	case entry.ReadRow, entry.ReadRows:
		if r.Table > entry.TableVersion && r.Table <= entry.LastTable {
			return nil
		}
		return kv.Errorf(kv.KindInternal, "a read of a row names the table %d", r.Table)
	}
	return kv.Errorf(kv.KindInternal, "a read has the unknown kind %d", r.Kind)
}

// ResumeRange returns where a ReadRange that has reached a limit continues.
func ResumeRange(r *entry.Read, res *entry.ReadResult) []byte {
	return ResumeTurn(r, res.Rows[len(res.Rows)-1].Key)
}

// ResumeTurn returns where a ReadRange continues that has looked at all rows up to the key last.
func ResumeTurn(r *entry.Read, last []byte) []byte {
	if r.Reverse {
		return last
	}
	return kv.Next(last)
}

// Live reports whether a stored version is a value, or a delta, and not a tombstone. If it is none of
// these, the error is KindCorrupt and names the key.
func Live(key, value []byte) (bool, error) {
	if _, _, err := entry.DecodeHead(value); err != nil {
		return false, corruptError(key, err.Error())
	}
	return !entry.IsTombstone(value), nil
}

// NoBaseError is the error of a key whose oldest version is a delta: the value that it changes is missing.
func NoBaseError(key []byte) error {
	return corruptError(key, "changes of a value are stored, but not the value itself")
}

func corruptError(key []byte, text string) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Key: append([]byte(nil), key...), Text: text,
		Hint: "restore the store from a backup, or write the key again"}
}
