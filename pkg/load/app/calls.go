package app

import "github.com/linchpindb/linchpin/pkg/adt"

// reads reports whether the call changes nothing.
func (c Call) reads() bool {
	switch c.Type {
	case "value", "counter":
		return c.Method == "get"
	}
	t := adt.ByName(c.Type)
	if t == nil {
		return false
	}
	m := t.MethodByName(c.Method)
	return m != nil && !m.Changes
}

func putValue(key []byte, value string) Call { return Call{key, "value", "put", []any{value}} }
func getValue(key []byte) Call               { return Call{key, "value", "get", nil} }
func addCounter(key []byte, n int64) Call    { return Call{key, "counter", "add", []any{n}} }
func getCounter(key []byte) Call             { return Call{key, "counter", "get", nil} }

func addToSet(key []byte, members ...string) Call { return Call{key, "set", "add", anys(members)} }
func removeFromSet(key []byte, members ...string) Call {
	return Call{key, "set", "remove", anys(members)}
}
func sizeOfSet(key []byte) Call    { return Call{key, "set", "len", nil} }
func membersOfSet(key []byte) Call { return Call{key, "set", "members", nil} }
func addNewToSet(key []byte, members ...string) Call {
	return Call{key, "set", "add-count", anys(members)}
}

func setFields(key []byte, pairs ...string) Call { return Call{key, "map", "set", anys(pairs)} }
func setNewField(key []byte, field, value string) Call {
	return Call{key, "map", "set-if-absent", []any{field, value}}
}
func deleteField(key []byte, field string) Call { return Call{key, "map", "delete", []any{field}} }
func hasField(key []byte, field string) Call    { return Call{key, "map", "has", []any{field}} }
func getFields(key []byte, fields ...string) Call {
	return Call{key, "map", "get-many", anys(fields)}
}
func allFields(key []byte) Call { return Call{key, "map", "all", nil} }
func incrementField(key []byte, field string, n int64) Call {
	return Call{key, "map", "increment", []any{field, n}}
}

func createBounded(key []byte, floor, ceiling, start int64) Call {
	return Call{key, "bounded-counter", "create", []any{floor, ceiling, start}}
}
func addBounded(key []byte, n int64) Call { return Call{key, "bounded-counter", "add", []any{n}} }
func subtractBounded(key []byte, n int64) Call {
	return Call{key, "bounded-counter", "subtract", []any{n}}
}
func getBounded(key []byte) Call { return Call{key, "bounded-counter", "get", nil} }

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

func addToTopK(key []byte, score float64, member string) Call {
	return Call{key, "top-k", "add", []any{score, member}}
}
func maxOfTopK(key []byte) Call               { return Call{key, "top-k", "max", nil} }
func topOfTopK(key []byte, n int) Call        { return Call{key, "top-k", "top", []any{n}} }
func addToSummary(key []byte, x float64) Call { return Call{key, "summary", "add", []any{x}} }
func maxOfSummary(key []byte) Call            { return Call{key, "summary", "max", nil} }
func countOfSummary(key []byte) Call          { return Call{key, "summary", "count", nil} }
func sumOfSummary(key []byte) Call            { return Call{key, "summary", "sum", nil} }
