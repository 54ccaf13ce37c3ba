package outbox_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// bodies returns an envelope with each kind of message.
func bodies(txn kv.TxnRef) map[string]*msg.Envelope {
	out := map[string]*msg.Envelope{}
	for _, r := range msg.Rows() {
		e := msg.ToShard(1)
		e.Body = r.New()
		setSubject(r.Name, reflect.ValueOf(e.Body).Elem(), txn)
		out[r.Name] = e
	}
	return out
}

// setSubject makes a message refer to a transaction, or to a shard or gateway with its number.
func setSubject(message string, body reflect.Value, txn kv.TxnRef) {
	for _, field := range []string{"Txn", "Reader", "Request"} {
		if id := body.FieldByName(field); id.IsValid() {
			id.Set(reflect.ValueOf(txn))
			return
		}
	}
	switch {
	case message == "Announcement", message == "SnapshotListRequest", message == "LoadReport":
		body.FieldByName("Shard").SetUint(uint64(txn.Time))
	case message == "PairReport":
		body.FieldByName("Gateway").SetUint(uint64(txn.Time))
	case message == "Due":
		body.FieldByName("ExpireKey").Set(reflect.ValueOf(&msg.ExpireKey{Txn: txn}))
	case withoutSubject[message]:
	default:
		body.FieldByName("Id").Set(reflect.ValueOf(txn.TxnID))
	}
}

// withoutSubject are messages of which each receiver has one.
var withoutSubject = map[string]bool{"SnapshotList": true, "HeatMap": true}

func TestRetriesOfEveryMessageAreDetected(t *testing.T) {
	a, b := bodies(ref(1)), bodies(ref(2))
	require.NotEmpty(t, a)
	seen := map[outbox.Repeat]string{}
	for name, e := range a {
		r, ok := outbox.RepeatOf(e)
		require.True(t, ok, "package outbox does not know %s", name)
		require.Empty(t, seen[r], "%s has the Repeat of another message", name)
		seen[r] = name
		other, _ := outbox.RepeatOf(b[name])
		require.Equal(t, withoutSubject[name], r == other, "%s about another transaction", name)
		copied := *e
		same, _ := outbox.RepeatOf(&copied)
		require.Equal(t, r, same)
		copied.Shard++
		moved, _ := outbox.RepeatOf(&copied)
		require.NotEqual(t, r, moved, "%s for another shard", name)
	}
	_, ok := outbox.RepeatOf(msg.ToShard(1))
	require.False(t, ok, "an empty envelope")
}

func TestDifferentMessagesAreNotRepeats(t *testing.T) {
	pairs := map[string][2]*msg.Envelope{
		"two requests of an attempt": {{Body: &msg.Lock{Number: 1}}, {Body: &msg.Lock{Number: 2}}},
		"two attempts": {{Body: &msg.Lock{Txn: kv.TxnRef{Attempt: 1}}},
			{Body: &msg.Lock{Txn: kv.TxnRef{Attempt: 2}}}},
		"two pages":              {{Body: &msg.ReadPage{Number: 1}}, {Body: &msg.ReadPage{Number: 2}}},
		"a page and the end":     {{Body: &msg.ReadPage{Number: 1}}, {Body: &msg.ReadPage{Number: 1, Done: true}}},
		"votes of two shards":    {{Body: &msg.Vote{Shard: 1}}, {Body: &msg.Vote{Shard: 2}}},
		"responses to two reads": {{Body: &msg.LockResponse{Number: 1}}, {Body: &msg.LockResponse{Number: 2}}},
		"a key and a state":      {{Body: &msg.Due{ExpireKey: &msg.ExpireKey{}}}, {Body: &msg.Due{}}},
		"a shard that leaves": {{Body: &msg.Announcement{Shard: 1}},
			{Body: &msg.Announcement{Shard: 1, Draining: true}}},
		"an acknowledgement": {{Body: &msg.Announcement{Shard: 1, Acknowledged: true}},
			{Body: &msg.Announcement{Shard: 1, Draining: true}}},
		"two calls": {{Body: &msg.Announcement{Call: &msg.NodeCall{Number: 1, Requester: 1}}},
			{Body: &msg.Announcement{Call: &msg.NodeCall{Number: 2, Requester: 1}}}},
		"a call and its response": {{Body: &msg.Announcement{Call: &msg.NodeCall{Number: 1, Requester: 1}}},
			{Body: &msg.Announcement{Call: &msg.NodeCall{Number: 1}}}},
		"a call and a shard": {{Body: &msg.Announcement{Call: &msg.NodeCall{Number: 1, Requester: 1}}},
			{Body: &msg.Announcement{}}},
		"wounds by two waiters": {{Body: &msg.Wound{By: ref(1)}}, {Body: &msg.Wound{By: ref(2)}}},
	}
	for name, p := range pairs {
		a, _ := outbox.RepeatOf(p[0])
		b, _ := outbox.RepeatOf(p[1])
		require.NotEqual(t, a, b, name)
	}
}
