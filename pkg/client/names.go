package client

import (
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/msg"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Type is the data type of a key, by its name. Types that the nodes of a cluster add have other
// names than these.
type Type string

const (
	// TypeValue holds bytes, which are read and written as a whole: see [Value] and [PutOp].
	TypeValue = Type("value")
	// TypeCounter holds an int64: see [Counter].
	TypeCounter = Type("counter")
	// TypeSet holds members: see [Set].
	TypeSet = Type("set")
	// TypeMap holds fields with values: see [Map].
	TypeMap = Type("map")
	// TypeSortedSet holds members with scores: see [SortedSet].
	TypeSortedSet = Type("sorted-set")
	// TypeTopK holds the members with the highest scores: see [TopK].
	TypeTopK = Type("top-k")
	// TypeSummary holds statistics of numbers: see [Summary].
	TypeSummary = Type("summary")
	// TypeBoundedCounter holds an int64 between two bounds: see [BoundedCounter].
	TypeBoundedCounter = Type("bounded-counter")
	// TypeIDs generates ids: see [IDs].
	TypeIDs = Type("ids")
	// TypeList holds elements in the order in which they were appended: see [List].
	TypeList = Type("list")
)

// method is a method of a data type, by its name.
type method struct {
	typ  Type
	name string
	// kind is how the store counts it: whether it changes anything.
	kind msg.OpKind
}

func newMethod(t Type, name string) method {
	m := method{typ: t, name: name, kind: msg.OpUpdateGet}
	if known, err := adt.FindNamed(string(t), name); err == nil && !known.Changes {
		m.kind = msg.OpQuery
	}
	return m
}

var (
	counterGet = newMethod(TypeCounter, "get")

	setAdd         = newMethod(TypeSet, "add")
	setRemove      = newMethod(TypeSet, "remove")
	setAddCount    = newMethod(TypeSet, "add-count")
	setRemoveCount = newMethod(TypeSet, "remove-count")
	setContains    = newMethod(TypeSet, "contains")
	setLen         = newMethod(TypeSet, "len")
	setMembers     = newMethod(TypeSet, "members")

	mapSet          = newMethod(TypeMap, "set")
	mapSetIfAbsent  = newMethod(TypeMap, "set-if-absent")
	mapDelete       = newMethod(TypeMap, "delete")
	mapIncrement    = newMethod(TypeMap, "increment")
	mapIncrementGet = newMethod(TypeMap, "increment-get")
	mapGet          = newMethod(TypeMap, "get")
	mapGetMany      = newMethod(TypeMap, "get-many")
	mapHas          = newMethod(TypeMap, "has")
	mapLen          = newMethod(TypeMap, "len")
	mapAll          = newMethod(TypeMap, "all")
	mapRange        = newMethod(TypeMap, "range")

	sortedAdd            = newMethod(TypeSortedSet, "add")
	sortedIncrement      = newMethod(TypeSortedSet, "increment")
	sortedIncrementGet   = newMethod(TypeSortedSet, "increment-get")
	sortedRemove         = newMethod(TypeSortedSet, "remove")
	sortedScore          = newMethod(TypeSortedSet, "score")
	sortedRank           = newMethod(TypeSortedSet, "rank")
	sortedRevRank        = newMethod(TypeSortedSet, "rev-rank")
	sortedRangeByRank    = newMethod(TypeSortedSet, "range-by-rank")
	sortedRangeByRevRank = newMethod(TypeSortedSet, "range-by-rev-rank")
	sortedRangeByScore   = newMethod(TypeSortedSet, "range-by-score")
	sortedLen            = newMethod(TypeSortedSet, "len")

	topAdd = newMethod(TypeTopK, "add")
	topTop = newMethod(TypeTopK, "top")
	topMax = newMethod(TypeTopK, "max")

	listAppend    = newMethod(TypeList, "append")
	listAppendLen = newMethod(TypeList, "append-len")
	listTrim      = newMethod(TypeList, "trim")
	listGet       = newMethod(TypeList, "get")
	listRange     = newMethod(TypeList, "range")
	listLen       = newMethod(TypeList, "len")

	summaryAdd      = newMethod(TypeSummary, "add")
	summaryCount    = newMethod(TypeSummary, "count")
	summarySum      = newMethod(TypeSummary, "sum")
	summaryMean     = newMethod(TypeSummary, "mean")
	summaryMin      = newMethod(TypeSummary, "min")
	summaryMax      = newMethod(TypeSummary, "max")
	summaryVariance = newMethod(TypeSummary, "variance")
	summaryStats    = newMethod(TypeSummary, "stats")

	boundedCreate      = newMethod(TypeBoundedCounter, "create")
	boundedAdd         = newMethod(TypeBoundedCounter, "add")
	boundedSubtract    = newMethod(TypeBoundedCounter, "subtract")
	boundedTryAdd      = newMethod(TypeBoundedCounter, "try-add")
	boundedTrySubtract = newMethod(TypeBoundedCounter, "try-subtract")
	boundedGet         = newMethod(TypeBoundedCounter, "get")
	boundedBounds      = newMethod(TypeBoundedCounter, "bounds")

	idsNext = newMethod(TypeIDs, "next")
)

// typeOf returns the type of a number. Types of the cluster's own have their names beside it.
func typeOf(t pb.DataType, name string) Type {
	if name == "" {
		name = strings.ReplaceAll(strings.ToLower(t.String()), "_", "-")
	}
	return Type(name)
}
