// Package trace makes spans of what happens to a transaction, for OpenTelemetry. It
// is opt-in: without a Tracer the shells do not call it, and messages carry nothing.
//
// One transaction, on gateway n1, that writes s0 and a hot key on s8:
//
//	n1  transaction ├──────────────────────────────────────────────────────┤
//	n2    shard.prepare ├───────────────────┤            ├─┤ shard.apply
//	        wait for a lock ├────┤ durable ├┤
//	n3    shard.decide  ├────────────────────────────────────┤
//	        wait for votes  ├────────────────────┤
//	        wait for a lock                      ├────┤ durable ├─┤
//
// The machines are pure and know nothing of this. Spans are made by the shells, of
// the messages that they pass to and from the machines: a shard's span begins with
// the message that asks for something, and ends when the reply to it leaves. In
// between there is the content of the reply: its receipt says how long it waited for
// what. Marks between are the shell's own: when votes came, when the step was over
// and when its entries were durable.
//
//	gateway   Tracer.Begin      a transaction begins, and may be sampled
//	          Tracer.Label      messages of one that was carry its trace
//	          Txn.End
//	shard     Shard.Received    before a step, Shard.Sent after it
//	          Tracer.Left       its messages leave, being durable
//
// A message carries its trace (msg.Trace, 27 bytes) only if its transaction was
// sampled. The names of readers differ from that of their transaction, and are found
// by what they share with it (kv.TxnID.Affinity).
//
// Spans contain keys, which are users' data: all who can read traces can read them.
// They do not contain values.
//
// Everything here has a bound (maxLive, maxOpen); what is beyond it is not traced.
// Nothing depends on a span but what is shown.
package trace
