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

func reportOf(s kv.ShardID, keys ...any) *msg.LoadReport {
	d := &msg.LoadReport{Shard: s}
	for i := 0; i < len(keys); i += 2 {
		d.Keys = append(d.Keys, msg.KeyHeat{Key: []byte(keys[i].(string)), Shard: s, Heat: float64(keys[i+1].(int))})
	}
	return d
}

func mapText(m *msg.HeatMap) (out string) {
	if m == nil {
		return "nothing"
	}
	for _, k := range m.Keys {
		out += fmt.Sprintf("%s@%v=%v ", k.Key, k.Shard, k.Heat)
	}
	return out
}

func TestSurveyMergesReports(t *testing.T) {
	s := NewSurvey(quarter)
	require.False(t, s.Active())
	require.Equal(t, "nothing", mapText(s.Map(0)), "nothing to publish")
	s.Apply(0, reportOf(1, "a", 5, "b", 3))
	s.Apply(0, reportOf(2, "c", 4))
	require.True(t, s.Active())
	require.Equal(t, "a@s1=5 c@s2=4 b@s1=3 ", mapText(s.Map(0)))
	s.Apply(1, reportOf(1, "b", 9))
	require.Equal(t, "b@s1=9 c@s2=4 ", mapText(s.Map(1)), "a report replaces the previous one")
	s.Apply(2, reportOf(2))
	s.Apply(2, reportOf(1))
	require.True(t, s.Active(), "an empty map is still to be published")
	require.Equal(t, "", mapText(s.Map(2)))
	require.False(t, s.Active())
	require.Equal(t, "nothing", mapText(s.Map(3)), "the empty map is published once")
}

func TestOutdatedReportsAreDropped(t *testing.T) {
	s := NewSurvey(quarter)
	s.Apply(0, reportOf(1, "a", 5))
	s.Apply(int64(quarter), reportOf(2, "b", 4))
	require.Equal(t, "a@s1=5 b@s2=4 ", mapText(s.Map(int64(4*quarter))))
	require.Equal(t, "b@s2=4 ", mapText(s.Map(int64(5*quarter))))
	require.Equal(t, "", mapText(s.Map(int64(6*quarter))))
}

func TestMovedKeyIsListedOnce(t *testing.T) {
	s := NewSurvey(quarter)
	s.Apply(0, reportOf(1, "a", 5, "b", 4))
	s.Apply(0, reportOf(9, "a", 7, "b", 4))
	require.Equal(t, "a@s9=7 b@s1=4 ", mapText(s.Map(0)))
}

func TestHeatMapIsBounded(t *testing.T) {
	s := NewSurvey(quarter)
	for sh := range kv.ShardID(8) {
		d := &msg.LoadReport{Shard: sh}
		for i := range LoadReportKeys {
			d.Keys = append(d.Keys, msg.KeyHeat{Key: fmt.Appendf(nil, "%d/%d", sh, i), Heat: float64(1000*i + int(sh))})
		}
		s.Apply(0, d)
	}
	m := s.Map(0)
	require.Len(t, m.Keys, MapKeys)
	require.Equal(t, "7/31", string(m.Keys[0].Key))
	require.Equal(t, float64(1000*(LoadReportKeys-MapKeys/8)), m.Keys[MapKeys-1].Heat, "the hottest keys are kept")

	s = NewSurvey(quarter)
	long := &msg.LoadReport{Shard: 1}
	for i := range LoadReportKeys {
		long.Keys = append(long.Keys, msg.KeyHeat{Key: append(make([]byte, kv.MaxKeyBytes-1), byte(i)), Heat: float64(i)})
	}
	s.Apply(0, long)
	require.Len(t, s.Map(0).Keys, maxMapBytes/kv.MaxKeyBytes, "bounded by the length of the keys")
}
