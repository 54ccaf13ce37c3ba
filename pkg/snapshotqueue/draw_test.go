package snapshotqueue

import (
	"fmt"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/golden"
)

// draw prints the updates, with the readers that hold them and the time blocked, and the registered readers, with the
// updates that they wait for.
func draw(q *Queue) (out []string) {
	line := func(id kv.TxnRef, needs []Need, text string) {
		out = append(out, fmt.Sprintf("  %-3s %-21s | %s", golden.Name(id), needsText(needs), text))
	}
	for _, u := range q.sortedUpdates() {
		line(u.txn, u.needs, stateText(q, u))
	}
	for _, rd := range q.sortedReaders() {
		text := "reads"
		if rd.lasting {
			text = "registered"
		}
		text += " until " + golden.Time(rd.until)
		for _, r := range q.waitingReads {
			if r.Reader == rd.id && r.state == readWaiting {
				text += ", waits for" + names(r.waits)
			}
		}
		line(rd.id, rd.needs, text)
	}
	if len(out) == 0 {
		return []string{"  (empty)"}
	}
	return out
}

func stateText(q *Queue, u *update) string {
	text := u.state.String()
	switch {
	case u.state == Sealed:
		text += " " + u.epoch.String()
	case u.piece:
		text = "piece, " + text
	}
	by := ""
	for _, rd := range q.sortedReaders() {
		if !commute(rd.needs, u.needs) && u.state == Held {
			by += " " + golden.Name(rd.id)
		}
	}
	if by != "" {
		text += " by" + by
	}
	if age := q.timeBlocked(u); age > 0 {
		text += ", age " + golden.Time(age)
	}
	if q.timeBlocked(u) > int64(q.opt.CloseAfter) {
		text += ", closes its keys"
	}
	if u.state != Sealed && u.state != Unheld && q.now < q.opt.SealFrom {
		text += " until " + golden.Time(q.opt.SealFrom) + " at least"
	}
	return text
}

func names(us []*update) (out string) {
	for _, u := range us {
		out += " " + golden.Name(u.txn)
	}
	return out
}

func needsText(needs []Need) string {
	if len(needs) == 0 {
		return "-"
	}
	words := make([]string, len(needs))
	for i, n := range needs {
		words[i] = golden.SpanName(n.Span) + ":" + n.Mode.String()
	}
	return strings.Join(words, " ")
}
