package golden

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func readerMessage(e *msg.Envelope) string {
	switch b := e.Body.(type) {
	case *msg.Read:
		return readText(b)
	case *msg.ReadResponse:
		return readResponseText(b)
	case *msg.Registered:
		return fmt.Sprintf("Registered %s: %s", readerName(b.Reader), readingText(&b.Reading))
	case *msg.Deregister:
		return "Deregister " + readerName(b.Reader) + when(b.RetainNanos > 0, ": snapshot complete")
	case *msg.RenewLease:
		return fmt.Sprintf("RenewLease %s #%d of incarnation %d for %v", readerName(b.Reader), b.Number, b.Incarnation,
			time.Duration(b.LeaseNanos))
	case *msg.RenewLeaseResponse:
		return fmt.Sprintf("RenewLeaseResponse %s #%d from %v: %s", readerName(b.Reader), b.Number, b.Shard,
			map[bool]string{true: "yes", false: "no"}[b.Ok])
	case *msg.Unseal:
		return fmt.Sprintf("Unseal %s of %v, up to epoch %v", Name(b.Txn), b.Shard, b.Epoch)
	case *msg.UnsealResponse:
		return fmt.Sprintf("UnsealResponse %s, up to epoch %v", Name(b.Txn), b.Epoch) + heldText(b.HeldNanos)
	}
	return snapshotMessage(e)
}

// readerName formats a reader: a letter, or the number that a gateway chose.
func readerName(r kv.TxnRef) string {
	if n := Name(r); len(n) < 32 {
		return n
	}
	return Reader(r.TxnID)
}

// Reader formats the id of a reader by the number that a gateway chose.
func Reader(id kv.TxnID) string { return "reader " + strconv.FormatInt(id.Time&(1<<32-1), 10) }

func readText(q *msg.Read) string {
	if q.Probe {
		return fmt.Sprintf("Read %s #%d: probe", readerName(q.Reader), q.Number)
	}
	how := when(q.LeaseNanos > 0, fmt.Sprintf(" registered for %v", time.Duration(q.LeaseNanos))) +
		when(q.Notify, fmt.Sprintf(", notify %v", q.Last)) + when(len(q.Await) > 0, fmt.Sprintf(" after %v", q.Await))
	if !q.Round.IsZero() {
		how += fmt.Sprintf(" at CSN %d of incarnation %d for %s", q.CSN, q.Incarnation, readerName(q.Round))
	}
	what := ": " + opsText(q.Ops)
	if q.RetainNanos > 0 {
		what = ": fix the CSN"
	}
	return fmt.Sprintf("Read %s #%d%s%s", readerName(q.Reader), q.Number, how, what)
}

func readResponseText(p *msg.ReadResponse) string {
	head := fmt.Sprintf("ReadResponse %s #%d, %s:", readerName(p.Reader), p.Number, readingText(&p.Reading)) +
		when(p.Immediate, " before the log is durable")
	if p.Failure != nil {
		return head + " failed, " + Failure(p.Failure)
	}
	relied := make([]string, len(p.Awaited))
	for i := range p.Awaited {
		relied[i] = readingText(&p.Awaited[i])
	}
	return head + resultsText(p.Results) + fmt.Sprintf(" at CSN %d", p.CSN) +
		when(len(relied) > 0, ", after "+strings.Join(relied, ", ")) +
		receiptText(&p.Receipt) + when(p.UpdatesWait, ", updates wait here") + heldText(p.HeldNanos)
}

// heldText formats the time blocked, if there is any.
func heldText(nanos int64) string { return when(nanos > 0, ", held for "+Time(nanos)) }

// readingText names one execution: the shard, its incarnation, and a number.
func readingText(r *msg.Reading) string {
	return fmt.Sprintf("%v/%d.%d", r.Shard, r.Incarnation, r.Number)
}
