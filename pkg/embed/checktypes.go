package embed

import (
	"sync"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/adt/check"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// checkBudget is how long a server that starts may look at its data types, but for
// a chunk of rounds of each, and checkLeast chunks of those that are not
// linchpin's. Somewhat arbitrary: it is not noticeable, and most wrong declarations are
// refuted in less.
const (
	checkBudget = 50 * time.Millisecond
	checkChunk  = 10
	checkLeast  = 5
)

// checkTypes tries to refute the declarations of the data types, once in a
// process: a server whose types do not commute as they claim would give wrong
// answers. Linchpin's own were checked at length when it was built, and get a
// chunk each; the rest of the time is for others.
var checkTypes = sync.OnceValue(func() error {
	begin := time.Now()
	all := adt.Types()
	for seed := uint64(1); len(all) > 0; seed++ {
		var own []*adt.Type
		for _, t := range all {
			if err := check.Type(t, seed, checkChunk); err != nil {
				return &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: err.Error(),
					Hint: "correct the declaration; \"linchpin check-types\" checks it without starting a server"}
			}
			if t.ID >= adt.FirstUserType {
				own = append(own, t)
			}
			if seed > checkLeast && time.Since(begin) > checkBudget {
				return nil
			}
		}
		all = own
	}
	return nil
})
