package record

import "github.com/linchpindb/linchpin/pkg/kv"

// fences are the ids that are closed for good, and by whom. They are in the log too, and
// kept until the floor of the shard passes them.
type fences struct {
	users    map[kv.TxnID]kv.Account
	count map[kv.Account]int
}

func (f *fences) init() { f.users, f.count = map[kv.TxnID]kv.Account{}, map[kv.Account]int{} }

// add reports whether the id is closed; it is not if the user has limit already, unless
// that is 0.
func (f *fences) add(user kv.Account, id kv.TxnID, limit int) bool {
	_, ok := f.users[id]
	switch {
	case ok:
		return true
	case limit > 0 && f.count[user] >= limit:
		return false
	}
	f.users[id] = user
	f.count[user]++
	return true
}

// drop forgets those with a time below floor.
func (f *fences) dropBelow(floor int64) {
	for id, user := range f.users {
		if id.Time >= floor {
			continue
		}
		delete(f.users, id)
		f.count[user]--
		if f.count[user] == 0 {
			delete(f.count, user)
		}
	}
}
