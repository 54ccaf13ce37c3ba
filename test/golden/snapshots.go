package golden

import (
	"fmt"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// snapshotMessage formats the messages about snapshots.
func snapshotMessage(e *msg.Envelope) string {
	switch b := e.Body.(type) {
	case *msg.Due:
		return dueText(b.ExpireKey)
	case *msg.RetainSnapshot:
		p := b
		out := fmt.Sprintf("RetainSnapshot %s %s at %s, in incarnation %d", readerName(p.Request), clockText(p.Clock),
			Time(p.Fixed),
			p.Incarnation)
		return out + when(p.Name != "", fmt.Sprintf(", as %s for %v", p.Name, time.Duration(p.TtlNanos)))
	case *msg.FindSnapshot:
		p := b
		return fmt.Sprintf("FindSnapshot %s", readerName(p.Request)) + when(p.List, ": all") +
			when(p.Name != "", ": "+p.Name) +
			when(p.Number != 0, fmt.Sprintf(": number %d", p.Number)) + when(p.AsOf != 0, ": as of "+Time(p.AsOf))
	case *msg.DropSnapshot:
		return fmt.Sprintf("DropSnapshot %s: number %d", readerName(b.Request), b.Number)
	case *msg.SnapshotResponse:
		p := b
		out := fmt.Sprintf("SnapshotResponse %s:", readerName(p.Request))
		for i := range p.Snapshots {
			out += " " + Snapshot(&p.Snapshots[i])
		}
		if p.Failure != nil {
			out += " " + Failure(p.Failure)
		}
		return out
	case *msg.SnapshotListRequest:
		return fmt.Sprintf("SnapshotListRequest from %v at CSN %d, known %d.%d", b.Shard, b.CSN, b.Incarnation, b.Change)
	case *msg.SnapshotList:
		p := b
		numbers := make([]string, len(p.Numbers))
		for i, n := range p.Numbers {
			numbers[i] = fmt.Sprintf("%d@%d", n, p.CSNs[i])
		}
		return fmt.Sprintf("SnapshotList %d.%d: [%s], all from @%d on, next %d", p.Incarnation, p.Change,
			strings.Join(numbers, " "), p.SafePoint, p.Next)
	}
	return heatMessage(e)
}

// Snapshot formats a retained snapshot.
func Snapshot(p *msg.Snapshot) string {
	name := fmt.Sprintf("snapshot %d", p.Number) + when(p.Name != "", " "+p.Name)
	return fmt.Sprintf("%s %s of %s", name, clockText(p.Clock), Time(p.Time)) +
		when(p.Expires != 0, " until "+Time(p.Expires))
}

func clockText(ixs []msg.ShardCSN) string { return msg.Clock(ixs).String() }
