// Package txnlang reads the line language in which `linchpin txn` is told a
// transaction of several operations.
//
// One operation stands on a line, or between semicolons. A number sign at the
// start of a word makes the rest of the line a comment. Grammar, with words in
// quotes standing for themselves, [ ] for what may be left out and | for or:
//
//	script    = { [ operation ] ( newline | ";" ) }
//	operation = "get" key [ "for" "update" ]
//	          | "put" key value [ "ttl" duration ] [ "if" condition ]
//	          | "del" key [ "if" condition ]
//	          | "require" key condition
//	          | "incr" key [ number ]          the result is the sum
//	          | "add" key number               no result
//	          | "scan" start end [ "limit" number ]
//	          | "delrange" start end
//	          | "expire" key duration | "persist" key
//	          | "ttl" key                      the result is the time to live
//	          | "call" key type "." method { argument }
//	condition = "exists" | "absent" | ( "value" | "=" ) value | "version" version
//
// An end of "" is after the last key, a start of "" before the first. A
// version is what results show, as in 0.3.1742.
//
// The type, the dot and the method are one bare word. Arguments that are numbers
// or truth values are bare as well.
//
// A word is written bare or quoted. A bare word ends at a space, a semicolon
// or the end of the line, and has no double quote in it. A quoted word is a
// double-quoted Go string: \n, \t, \", \\, \xff, \u00e9 and so on; it can be
// empty, and it is never taken for one of the language's own words.
//
// A duration is bare, and as Go writes it: 30s, 1h30m, 250ms.
//
// The package only translates. What a transaction may contain (lengths,
// empty keys, ranges) is judged where the transaction is run.
package txnlang
