package hotshard

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

const quarter = 250 * time.Millisecond

func digestOf(s kv.ShardID, keys ...any) *msg.LoadReport {
	d := &msg.LoadReport{Shard: s}
	for i := 0; i < len(keys); i += 2 {
		d.Keys = append(d.Keys, msg.KeyHeat{Key: []byte(keys[i].(string)), Shard: s, Heat: float64(keys[i+1].(int))})
	}
	return d
}

func told(m *msg.HeatMap) (out string) {
	if m == nil {
		return "nothing"
	}
	for _, k := range m.Keys {
		out += fmt.Sprintf("%s@%v=%v ", k.Key, k.Shard, k.Heat)
	}
	return out
}

func TestSurveyPutsDigestsTogether(t *testing.T) {
	s := NewSurvey(quarter)
	require.False(t, s.Active())
	require.Equal(t, "nothing", told(s.Map(0)), "no key is hot, and none was")
	s.Take(0, digestOf(1, "a", 5, "b", 3))
	s.Take(0, digestOf(2, "c", 4))
	require.True(t, s.Active())
	require.Equal(t, "a@s1=5 c@s2=4 b@s1=3 ", told(s.Map(0)))
	s.Take(1, digestOf(1, "b", 9))
	require.Equal(t, "b@s1=9 c@s2=4 ", told(s.Map(1)), "a digest takes the place of the last one")
	s.Take(2, digestOf(2))
	s.Take(2, digestOf(1))
	require.True(t, s.Active(), "gateways have yet to hear of it")
	require.Equal(t, "", told(s.Map(2)))
	require.False(t, s.Active())
	require.Equal(t, "nothing", told(s.Map(3)), "once is enough: what is not repeated is forgotten")
}

func TestSilentShardsAreForgotten(t *testing.T) {
	s := NewSurvey(quarter)
	s.Take(0, digestOf(1, "a", 5))
	s.Take(int64(quarter), digestOf(2, "b", 4))
	require.Equal(t, "a@s1=5 b@s2=4 ", told(s.Map(int64(4*quarter))))
	require.Equal(t, "b@s2=4 ", told(s.Map(int64(5*quarter))))
	require.Equal(t, "", told(s.Map(int64(6*quarter))))
}

// TestAKeyIsToldOnce: one that has just been moved is known in two places.
func TestAKeyIsToldOnce(t *testing.T) {
	s := NewSurvey(quarter)
	s.Take(0, digestOf(1, "a", 5, "b", 4))
	s.Take(0, digestOf(9, "a", 7, "b", 4))
	require.Equal(t, "a@s9=7 b@s1=4 ", told(s.Map(0)))
}

func TestMapsAreBounded(t *testing.T) {
	s := NewSurvey(quarter)
	for sh := range kv.ShardID(8) {
		d := &msg.LoadReport{Shard: sh}
		for i := range DigestKeys {
			d.Keys = append(d.Keys, msg.KeyHeat{Key: fmt.Appendf(nil, "%d/%d", sh, i), Heat: float64(1000*i + int(sh))})
		}
		s.Take(0, d)
	}
	m := s.Map(0)
	require.Len(t, m.Keys, MapKeys)
	require.Equal(t, "7/31", string(m.Keys[0].Key))
	require.Equal(t, float64(1000*(DigestKeys-MapKeys/8)), m.Keys[MapKeys-1].Heat, "the hottest are told of")

	s = NewSurvey(quarter)
	long := &msg.LoadReport{Shard: 1}
	for i := range DigestKeys {
		long.Keys = append(long.Keys, msg.KeyHeat{Key: append(make([]byte, kv.MaxKeyBytes-1), byte(i)), Heat: float64(i)})
	}
	s.Take(0, long)
	require.Len(t, s.Map(0).Keys, maxMapBytes/kv.MaxKeyBytes, "by the length of keys, too")
}
