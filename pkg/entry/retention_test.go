package entry

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
)

func TestRetentionHasRetainedCSNs(t *testing.T) {
	r := &Retention{SafePoint: 7, Retained: []kv.CSN{2, 5}}
	for csn, has := range []bool{false, false, true, false, false, true, false, true, true} {
		require.Equal(t, has, r.Has(kv.CSN(csn)), csn)
	}
}
