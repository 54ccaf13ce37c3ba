package golden

import (
	"fmt"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// ofPins prints the messages about states that are kept.
func ofPins(e *msg.Envelope) string {
	switch b := e.Body.(type) {
	case *msg.Due:
		return due(b.ExpireKey)
	case *msg.KeepPin:
		p := b
		out := fmt.Sprintf("KeepPin %s %s at %s, in life %d", readerName(p.Request), indexes(p.Clock), Time(p.Fixed), p.Incarnation)
		return out + when(p.Name != "", fmt.Sprintf(", as %s for %v", p.Name, time.Duration(p.TtlNanos)))
	case *msg.FindPin:
		p := b
		return fmt.Sprintf("FindPin %s", readerName(p.Request)) + when(p.List, ": all") + when(p.Name != "", ": "+p.Name) +
			when(p.Number != 0, fmt.Sprintf(": number %d", p.Number)) + when(p.AsOf != 0, ": as of "+Time(p.AsOf))
	case *msg.DropPin:
		return fmt.Sprintf("DropPin %s: number %d", readerName(b.Request), b.Number)
	case *msg.PinReply:
		p := b
		out := fmt.Sprintf("PinReply %s:", readerName(p.Request))
		for i := range p.Pins {
			out += " " + Pin(&p.Pins[i])
		}
		if p.Failure != nil {
			out += " " + Failure(p.Failure)
		}
		return out
	case *msg.AskPins:
		return fmt.Sprintf("AskPins from %v at index %d, heard %d.%d", b.Shard, b.Index, b.Incarnation, b.Change)
	case *msg.Pins:
		p := b
		kept := make([]string, len(p.Numbers))
		for i, n := range p.Numbers {
			kept[i] = fmt.Sprintf("%d@%d", n, p.Indexes[i])
		}
		return fmt.Sprintf("Pins %d.%d: [%s], all from @%d on, next %d", p.Incarnation, p.Change, strings.Join(kept, " "), p.Floor, p.Next)
	}
	return ofHeat(e)
}

// Pin prints a state that is kept.
func Pin(p *msg.Pin) string {
	name := fmt.Sprintf("pin %d", p.Number) + when(p.Name != "", " "+p.Name)
	return fmt.Sprintf("%s %s of %s", name, indexes(p.Clock), Time(p.Time)) + when(p.Expires != 0, " until "+Time(p.Expires))
}

func indexes(ixs []msg.ShardIndex) string { return msg.Clock(ixs).String() }
