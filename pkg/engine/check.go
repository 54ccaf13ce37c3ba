package engine

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// CheckEntry refuses what cannot be stored. Such an entry is a mistake of the
// caller, not of the disk; both twins refuse the same ones, before anything
// of the batch is applied.
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
	if e.Table != entry.TableVersion && e.Index != 0 {
		return kv.Errorf(kv.KindInternal, "an entry of the %v table has an index", e.Table)
	}
	return nil
}

// CheckRead refuses a question that has no answer.
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

// ResumeRange is where a ReadRange that is full goes on.
func ResumeRange(r *entry.Read, res *entry.ReadResult) []byte {
	return ResumeTurn(r, res.Rows[len(res.Rows)-1].Key)
}

// ResumeTurn is where a ReadRange goes on that has looked at all rows up to those of a key.
func ResumeTurn(r *entry.Read, last []byte) []byte {
	if r.Reverse {
		return last
	}
	return kv.Next(last)
}

// Live reports whether a stored version holds a value, or a change of one, rather
// than a tombstone. One that is neither is KindCorrupt and names the key.
func Live(key, value []byte) (bool, error) {
	if _, _, err := entry.DecodeHead(value); err != nil {
		return false, damaged(key, err.Error())
	}
	return !entry.IsTombstone(value), nil
}

// NoBase is the error of a key whose oldest version is a delta: what it changes
// is missing.
func NoBase(key []byte) error {
	return damaged(key, "changes of a value are stored, but not the value itself")
}

func damaged(key []byte, text string) error {
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Key: append([]byte(nil), key...), Text: text,
		Hint: "restore the store from a backup, or write the key again"}
}
