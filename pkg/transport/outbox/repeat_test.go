package outbox_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/transport/outbox"
)

// bodies gives one envelope with each message that there is, made by
// reflection so that a new one cannot be forgotten.
func bodies(txn kv.TxnRef) map[string]*msg.Envelope {
	out := map[string]*msg.Envelope{}
	typ := reflect.TypeOf(msg.Envelope{})
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Type.Kind() != reflect.Pointer || f.Name == "Trace" { // that one goes along with a message
			continue
		}
		e := msg.ToShard(1)
		body := reflect.New(f.Type.Elem())
		name(f.Name, body.Elem(), txn)
		reflect.ValueOf(e).Elem().Field(i).Set(body)
		out[f.Name] = e
	}
	return out
}

// name has a message be about a transaction, or about a shard with its number.
func name(message string, body reflect.Value, txn kv.TxnRef) {
	for _, field := range []string{"Txn", "Reader", "Request"} {
		if id := body.FieldByName(field); id.IsValid() {
			id.Set(reflect.ValueOf(txn))
			return
		}
	}
	switch {
	case message == "Announce", message == "AskPins", message == "HeatDigest":
		body.FieldByName("Shard").SetUint(uint64(txn.Time))
	case message == "PairDigest":
		body.FieldByName("Gateway").SetUint(uint64(txn.Time))
	case message == "Due":
		body.FieldByName("ExpireKey").Set(reflect.ValueOf(&msg.ExpireKey{Txn: txn}))
	case aboutNobody[message]:
	default:
		body.FieldByName("Id").Set(reflect.ValueOf(txn.TxnID))
	}
}

// aboutNobody are messages of which there is one for each whom they are for.
var aboutNobody = map[string]bool{"Pins": true, "HeatMap": true}

func TestEveryMessageHasARepeat(t *testing.T) {
	a, b := bodies(ref(1)), bodies(ref(2))
	require.NotEmpty(t, a)
	seen := map[outbox.Repeat]string{}
	for name, e := range a {
		r, ok := outbox.RepeatOf(e)
		require.True(t, ok, "package outbox does not know %s", name)
		require.Empty(t, seen[r], "%s is not told apart", name)
		seen[r] = name
		other, _ := outbox.RepeatOf(b[name])
		require.Equal(t, aboutNobody[name], r == other, "%s about another transaction", name)
		again := *e
		same, _ := outbox.RepeatOf(&again)
		require.Equal(t, r, same)
		again.Shard++
		elsewhere, _ := outbox.RepeatOf(&again)
		require.NotEqual(t, r, elsewhere, "%s for another shard", name)
	}
	_, ok := outbox.RepeatOf(msg.ToShard(1))
	require.False(t, ok, "an empty envelope")
}

func TestWhatIsNotARepeat(t *testing.T) {
	pairs := map[string][2]*msg.Envelope{
		"two requests of an attempt": {{Lock: &msg.Lock{Number: 1}}, {Lock: &msg.Lock{Number: 2}}},
		"two attempts":               {{Lock: &msg.Lock{Txn: kv.TxnRef{Attempt: 1}}}, {Lock: &msg.Lock{Txn: kv.TxnRef{Attempt: 2}}}},
		"two pages":                  {{ScanAt: &msg.ScanAt{Number: 1}}, {ScanAt: &msg.ScanAt{Number: 2}}},
		"a page and the end":         {{ScanAt: &msg.ScanAt{Number: 1}}, {ScanAt: &msg.ScanAt{Number: 1, Done: true}}},
		"votes of two shards":        {{Vote: &msg.Vote{Shard: 1}}, {Vote: &msg.Vote{Shard: 2}}},
		"answers about two reads":    {{LockReply: &msg.LockReply{Number: 1}}, {LockReply: &msg.LockReply{Number: 2}}},
		"a key and a state":          {{Due: &msg.Due{ExpireKey: &msg.ExpireKey{}}}, {Due: &msg.Due{}}},
		"a shard that leaves":        {{Announce: &msg.Announce{Shard: 1}}, {Announce: &msg.Announce{Shard: 1, Leaving: true}}},
		"who has heard of it":        {{Announce: &msg.Announce{Shard: 1, Heard: true}}, {Announce: &msg.Announce{Shard: 1, Leaving: true}}},
		"two questions":              {{Announce: &msg.Announce{Call: &msg.NodeCall{Number: 1, Asker: 1}}}, {Announce: &msg.Announce{Call: &msg.NodeCall{Number: 2, Asker: 1}}}},
		"a question and an answer":   {{Announce: &msg.Announce{Call: &msg.NodeCall{Number: 1, Asker: 1}}}, {Announce: &msg.Announce{Call: &msg.NodeCall{Number: 1}}}},
		"a question and a shard":     {{Announce: &msg.Announce{Call: &msg.NodeCall{Number: 1, Asker: 1}}}, {Announce: &msg.Announce{}}},
		"marks by two waiters":       {{Mark: &msg.Mark{By: ref(1)}}, {Mark: &msg.Mark{By: ref(2)}}},
	}
	for name, p := range pairs {
		a, _ := outbox.RepeatOf(p[0])
		b, _ := outbox.RepeatOf(p[1])
		require.NotEqual(t, a, b, name)
	}
}
