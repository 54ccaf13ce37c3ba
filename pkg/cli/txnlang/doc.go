// Package txnlang parses the line language of `linchpin txn`, for transactions of several operations.
//
// There is one operation per line, or between semicolons. A number sign at the start of a word begins a
// comment. Grammar, with terminals in quotes, [ ] for an option and | for alternatives:
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
// An end of "" is after the last key, a start of "" before the first. A version is as results show it, as in
// 0.3.1742; 0.0.0 stands for a key that does not exist.
//
// The type, the dot and the method are one bare word. Arguments that are numbers or truth values are bare.
//
// A word is bare or quoted. A bare word ends at a space, a semicolon or the end of the line, and has no double
// quote in it. A quoted word is a double-quoted Go string: \n, \t, \", \\, \xff, \u00e9 and so on; it can be
// empty, and is never a keyword.
//
// A duration is bare, in the form of Go: 30s, 1h30m, 250ms.
//
// The package only translates. The server checks what a transaction may contain (lengths, empty keys, ranges).
package txnlang
