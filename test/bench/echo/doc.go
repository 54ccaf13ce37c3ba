// Package echo is what linchpin's speed is held against: the barest servers
// that gRPC allows, with clients to match.
//
//	unary    a call per request; the handler returns an answer
//	stream   one stream; many requests a message, and an answer message for
//	         each, made by the goroutine that has received it ("inline")
//	raw      the same with bytes in place of protocol buffers
//
// Unary and stream carry linchpin's own requests and answers, a put of one key,
// which are encoded and decoded by the generated code and given no meaning.
// Raw carries as many bytes, which are copied. The clients do as little as
// clients can that have many callers: those of streams have one goroutine that
// sends what callers have queued, and one that wakes them. A sender that yields
// before it sends, so that callers who can run queue theirs first, makes fewer
// and larger messages; the stream is measured both ways.
package echo
