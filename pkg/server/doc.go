// Package server is the edge of a node: the services linchpin.v1.KV and Admin
// over gRPC, with health and reflection.
//
// Behind it is a Backend, which runs transactions and knows nothing of gRPC.
// Whatever comes in goes the same way:
//
//	decode    codec, with gogo's marshallers
//	check     operation.go: every limit and shape, once, for all calls; guard.Caller: may the user do it
//	convert   pb.Op -> msg.Op, in one slice that the backend may keep
//	submit    Backend.Submit, with a deadline that is always set
//	answer    result.go and errors.go, msg.Result -> pb.Result, kv.Kind -> code
//
// # What is promised
//
// A request that is refused here was never given to the backend: it changed
// nothing. An error that comes with a detail (package rpc/detail) was decided
// by linchpin, and its kind gives the outcome of the transaction. When the edge
// itself stops waiting, because the caller's deadline has passed or the caller
// is gone, the outcome may be anything and the error says so: OutcomeUnknown,
// never DeadlineExceeded, whose promise is that nothing was applied.
//
// # Pipeline
//
// Two goroutines serve a stream, however many calls are in flight:
//
//	reader:  receive a message
//	         for each call: admit, check, submit, all on this goroutine
//	backend: done(response) appends to the stream's queue of answers
//	sender:  take whatever is in the queue, send it as one message, repeat
//
// Nothing waits for company and there is no timer: under load answers queue
// while the one before is being sent, so messages grow just as the load does.
//
// Bounds: calls that are unanswered (above it each further call is answered
// ResourceExhausted at once), and answers that the client does not read, in
// number and in bytes (above either the reader stops, and HTTP/2's flow
// control stops the client).
//
// # Panics
//
// A panic that reaches this package ends the call or stream that it happened
// in with Internal; it is logged with its stack and the process goes on.
package server
