package golden

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

func ofReaders(e *msg.Envelope) string {
	switch b := e.Body.(type) {
	case *msg.Read:
		return read(b)
	case *msg.ReadResponse:
		return readReply(b)
	case *msg.Registered:
		return fmt.Sprintf("Registered that %s has read: %s", readerName(b.Reader), reading(&b.Reading))
	case *msg.Deregister:
		return "Deregister " + readerName(b.Reader) + when(b.KeepNanos > 0, ": its state is complete")
	case *msg.RenewLease:
		return fmt.Sprintf("RenewLease %s #%d of life %d for %v", readerName(b.Reader), b.Number, b.Incarnation, time.Duration(b.LeaseNanos))
	case *msg.RenewLeaseResponse:
		return fmt.Sprintf("RenewLeaseResponse %s #%d from %v: %s", readerName(b.Reader), b.Number, b.Shard,
			map[bool]string{true: "yes", false: "no"}[b.Ok])
	case *msg.Unseal:
		return fmt.Sprintf("Unseal %s of %v, up to epoch %v", Name(b.Txn), b.Shard, b.Epoch)
	case *msg.UnsealResponse:
		return fmt.Sprintf("UnsealResponse %s, up to epoch %v", Name(b.Txn), b.Epoch) + heldFor(b.HeldNanos)
	}
	return ofPins(e)
}

// readerName is a letter, or the number that a gateway made up.
func readerName(r kv.TxnRef) string {
	if n := Name(r); len(n) < 32 {
		return n
	}
	return Reader(r.TxnID)
}

// Reader is the name that a gateway made up, by its number.
func Reader(id kv.TxnID) string { return "reader " + strconv.FormatInt(id.Time&(1<<32-1), 10) }

func read(q *msg.Read) string {
	if q.Probe {
		return fmt.Sprintf("Read %s #%d: probe", readerName(q.Reader), q.Number)
	}
	how := when(q.LeaseNanos > 0, fmt.Sprintf(" registered for %v", time.Duration(q.LeaseNanos))) +
		when(q.Notify, fmt.Sprintf(", telling %v", q.Last)) + when(len(q.Await) > 0, fmt.Sprintf(" after %v", q.Await))
	if !q.Kept.IsZero() {
		how += fmt.Sprintf(" at %d of life %d for %s", q.Index, q.Incarnation, readerName(q.Kept))
	}
	what := ": " + opsText(q.Ops)
	if q.KeepNanos > 0 {
		what = ": fix the index"
	}
	return fmt.Sprintf("Read %s #%d%s%s", readerName(q.Reader), q.Number, how, what)
}

func readReply(p *msg.ReadResponse) string {
	head := fmt.Sprintf("ReadResponse %s #%d, %s:", readerName(p.Reader), p.Number, reading(&p.Reading)) + when(p.AtOnce, " before the log is durable")
	if p.Failure != nil {
		return head + " failed, " + Failure(p.Failure)
	}
	relied := make([]string, len(p.Relied))
	for i := range p.Relied {
		relied[i] = reading(&p.Relied[i])
	}
	return head + results(p.Results) + fmt.Sprintf(" at index %d", p.Index) + when(len(relied) > 0, ", after "+strings.Join(relied, ", ")) +
		waited(&p.Receipt) + when(p.Parked, ", updates wait here") + heldFor(p.HeldNanos)
}

// heldFor is a held age, if there is one.
func heldFor(nanos int64) string { return when(nanos > 0, ", held for "+Time(nanos)) }

// reading names one execution: the shard, its life, and a number.
func reading(r *msg.Reading) string {
	return fmt.Sprintf("%v/%d.%d", r.Shard, r.Incarnation, r.Number)
}
