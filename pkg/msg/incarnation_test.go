package msg

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// TestRecipientIncarnationKnowsAllMessages: a message to shards that has an incarnation names that of the recipient, or
// of another shard.
func TestRecipientIncarnationKnowsAllMessages(t *testing.T) {
	ofOthers := map[string]string{
		"VoteRequest": "of the last agent", "Registered": "of the shard that has read",
	}
	for i, m := range filledEnvelopes(rand.New(rand.NewPCG(1, 1))) {
		row := Rows()[i]
		if row.To&ToShards == 0 {
			continue
		}
		_, other := ofOthers[row.Name]
		has := hasIncarnation(reflect.TypeOf(m.Body).Elem())
		require.Equal(t, has && !other, RecipientIncarnation(m) != 0, row.Name)
	}
}

// hasIncarnation reports whether a message, or one inside it, has an incarnation.
func hasIncarnation(t reflect.Type) bool {
	if t == reflect.TypeFor[kv.Incarnation]() {
		return true
	}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if hasIncarnation(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
