package adt_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

var setType = collectionType{id: adt.Set, newModel: func() refModel { return setModel{} }, draw: drawSetCall,
	wholeMethod: "members"}

type setModel map[string]bool

func (s setModel) clone() refModel { return maps.Clone(s) }

func (s setModel) call(method string, a adt.Args) (answer []msg.Datum, failed kv.Kind) {
	n := len(s)
	for _, d := range a {
		switch method {
		case "add", "add-count":
			s[string(d.Bytes)] = true
		case "remove", "remove-count":
			delete(s, string(d.Bytes))
		case "contains":
			return []msg.Datum{adt.Bool(s[string(d.Bytes)])}, kv.KindOK
		}
	}
	switch method {
	case "add-count":
		return data(len(s) - n), kv.KindOK
	case "remove-count":
		return data(n - len(s)), kv.KindOK
	case "len":
		return data(n), kv.KindOK
	case "members":
		for _, m := range slices.Sorted(maps.Keys(s)) {
			answer = append(answer, adt.Bytes([]byte(m)))
		}
	}
	return answer, kv.KindOK
}

func drawSetCall(t *rapid.T) (method string, a adt.Args) {
	method = rapid.SampledFrom([]string{"add", "remove", "contains", "len", "members", "add-count", "remove-count"}).Draw(
		t, "method")
	switch method {
	case "contains":
		return method, adt.Args{drawText(t, "member")}
	case "len", "members":
		return method, nil
	}
	for range rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 20)).Draw(t, "members") {
		a = append(a, drawText(t, "member"))
	}
	return method, a
}

// TestSetLocksDependOnMembers: the lock depends on the members of the set.
func TestSetLocksDependOnMembers(t *testing.T) {
	v := setType.value(t, setType.op("add", "x", "y"))
	for _, row := range []struct {
		op   msg.Op
		want string
	}{
		{setType.op("add", "z"), "add"},
		{setType.op("add", "x"), "present"},
		{setType.op("add", "x", "z"), "add"},
		{setType.op("remove", "x"), "remove"},
		{setType.op("remove", "z"), "absent"},
		{setType.op("contains", "x"), "present"},
		{setType.op("contains", "z"), "absent"},
		{setType.op("add-count", "x"), "present"},
		{setType.op("add-count", "x", "z"), "insert"},
		{setType.op("remove-count", "z"), "absent"},
		{setType.op("remove-count", "y", "z"), "take"},
		{setType.op("len"), "all"},
	} {
		require.Equal(t, row.want, setType.locks(v, row.op), "%v", row.op)
	}
}

func TestSetLimits(t *testing.T) {
	long := strings.Repeat("m", adt.MaxMemberBytes)
	require.Nil(t, failure(entry.Value{}, setType.op("add", long)))
	requireFailure(t, kv.KindInvalid, "add of a set: a member has 65537 bytes",
		failure(entry.Value{}, setType.op("add", "a", long+"m")))
	requireFailure(t, kv.KindInvalid, "want add member ...", failure(entry.Value{}, setType.op("add")))
	requireFailure(t, kv.KindInvalid, "member must be bytes", failure(entry.Value{}, setType.op("contains", 7)))
}
