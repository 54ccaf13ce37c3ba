package outcome

import "github.com/linchpindb/linchpin/pkg/kv"

// fences are the ids that are closed for good, and their users. They are in the log too, and stay
// until the shard's low watermark passes them.
type fences struct {
	users map[kv.TxnID]kv.Account
	count map[kv.Account]int
}

func (f *fences) init() { f.users, f.count = map[kv.TxnID]kv.Account{}, map[kv.Account]int{} }

// IsFenced reports whether an id is closed.
func (f *fences) IsFenced(id kv.TxnID) bool {
	_, ok := f.users[id]
	return ok
}

// add closes an id and reports whether it is closed. It is not if the user has limit fences already;
// a limit of 0 means none.
func (f *fences) add(user kv.Account, id kv.TxnID, limit int) bool {
	switch {
	case f.IsFenced(id):
		return true
	case limit > 0 && f.count[user] >= limit:
		return false
	}
	f.users[id] = user
	f.count[user]++
	return true
}

// dropBelow deletes the fences of ids with a time below lowWatermark, which are rejected as too old.
func (f *fences) dropBelow(lowWatermark int64) {
	for id, user := range f.users {
		if id.Time >= lowWatermark {
			continue
		}
		delete(f.users, id)
		f.count[user]--
		if f.count[user] == 0 {
			delete(f.count, user)
		}
	}
}
