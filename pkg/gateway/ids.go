package gateway

import (
	"fmt"
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// idClock checks the times in transaction ids by the node's clock. The argument now is by that clock.
type idClock struct{ clock *clock.Hybrid }

// maxBehind is how far an id may be behind the time by which shards collect garbage. An older id might
// become too old for a shard before the transaction ends, and then its outcome could not be determined; so
// the transaction is not started.
const maxBehind = kv.DefaultRetention / 2

// check rejects an id whose time cannot come from a client with a correct clock. The transaction is not
// started.
func (c idClock) check(id kv.TxnID, now int64) *kv.Error {
	if id.Time <= 0 || c.isAhead(id, now) {
		return c.wrongTime(id, now)
	}
	if oldest, ok := c.clock.MinIDTime(now); ok && id.Time < oldest-int64(maxBehind) {
		return c.wrongTime(id, now)
	}
	return nil
}

// isAhead reports whether the time of an id is too far in the future.
func (c idClock) isAhead(id kv.TxnID, now int64) bool {
	return id.Time > c.clock.WallAt(now)+int64(kv.MaxIDAhead)
}

// wrongTime is the error for an id that is rejected.
func (c idClock) wrongTime(id kv.TxnID, now int64) *kv.Error {
	stamp := func(t int64) string { return time.Unix(0, t).UTC().Format(time.RFC3339) }
	wall := c.clock.WallAt(now)
	return &kv.Error{Kind: kv.KindInvalid, Op: -1,
		Text: fmt.Sprintf("the time in the transaction id is %s, and the node's clock shows %s", stamp(id.Time), stamp(wall)),
		Hint: "create ids with the node's clock, which the welcome message contains, or " +
			"let the node create them; check the clock of the client", ServerTime: wall}
}
