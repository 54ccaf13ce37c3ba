package pebblestore

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

var everyVersion = entry.Read{Kind: entry.ReadRange, Span: kv.Range(nil, nil), CSN: ^kv.CSN(0)}

func ignore(entry.Table, entry.Row) error { return nil }

// stateRow reads one row by its key, for which the tables' filters are asked.
var stateRow = entry.Read{Kind: entry.ReadRow, Table: entry.TableState}

var everyRead = []entry.Read{everyVersion, stateRow}
