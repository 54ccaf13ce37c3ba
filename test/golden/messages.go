package golden

import (
	"fmt"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Message formats an envelope: the receiver, and the content.
func Message(e *msg.Envelope) string {
	to := e.Shard.String()
	if e.Gateway != 0 {
		to = "gateway " + e.Gateway.String()
	}
	return Names("to " + to + ": " + messageText(e))
}

func messageText(e *msg.Envelope) string {
	switch b := e.Body.(type) {
	case *msg.Lock:
		return fmt.Sprintf("Lock %s #%d%s%s: %s", Name(b.Txn), b.Number, when(b.NoWait, " nowait"),
			when(b.Optimistic, " optimistic"), opsText(b.Ops))
	case *msg.LockResponse:
		return lockResponseText(b)
	case *msg.Check:
		return fmt.Sprintf("Check %s: holds%s?", Name(b.Txn), grantsText(b.Grants))
	case *msg.CheckResponse:
		if !b.Ok {
			return fmt.Sprintf("CheckResponse %s from %v: no", Name(b.Txn), b.Shard)
		}
		return fmt.Sprintf("CheckResponse %s from %v: yes", Name(b.Txn), b.Shard)
	case *msg.Release:
		return "Release " + Name(b.Txn)
	case *msg.Prepare:
		p := b
		return fmt.Sprintf("Prepare %s for %v%s: %s", Name(p.Txn), p.Last, when(p.NoWait, " nowait"), pieceText(&p.Piece))
	case *msg.CommitRequest:
		p := b
		return fmt.Sprintf("CommitRequest %s%s%s: %s", Name(p.Txn),
			when(len(p.Participants) > 0, fmt.Sprintf(" with %v", p.Participants)),
			when(p.ReadBefore, " after reads")+when(p.NoWait, " nowait"), pieceText(&p.Piece))
	}
	return decisionMessage(e)
}

func decisionMessage(e *msg.Envelope) string {
	switch b := e.Body.(type) {
	case *msg.Vote:
		return voteText(b)
	case *msg.VoteRequest:
		return "VoteRequest " + Name(b.Txn)
	case *msg.Decision:
		return fmt.Sprintf("Decision %s: %s", Name(b.Txn), map[bool]string{true: "commit", false: "abort"}[b.Commit])
	case *msg.DecisionAck:
		return fmt.Sprintf("DecisionAck %s from %v", Name(b.Txn), b.Shard)
	case *msg.CommitResponse:
		a := b
		if !a.Committed {
			return fmt.Sprintf("CommitResponse %s: aborted, %s%s", Name(a.Txn), Failure(a.Failure), receiptText(a.Receipt))
		}
		return fmt.Sprintf("CommitResponse %s: committed%s%s%s", Name(a.Txn), resultsText(a.Results),
			when(a.ResultsLost, " (results lost)"), receiptText(a.Receipt))
	case *msg.Wound:
		return fmt.Sprintf("Wound %s by %s", Name(b.Txn), Name(b.By)) +
			when(b.Conflict != nil, ": "+conflictText(b.Conflict))
	case *msg.CancelRequest:
		return "CancelRequest " + Name(b.Txn)
	case *msg.Push:
		return fmt.Sprintf("Push %s from %v%s", Name(b.Txn), b.Shard, map[bool]string{true: ", others wait"}[b.Contended])
	case *msg.PushResponse:
		return fmt.Sprintf("PushResponse %s: %s", Name(b.Txn), map[bool]string{true: "known", false: "unknown"}[b.Known])
	}
	return queryMessage(e)
}

func queryMessage(e *msg.Envelope) string {
	switch {
	case msg.Is[msg.QueryTxn](e):
		return "QueryTxn " + NameID(msg.As[msg.QueryTxn](e).Id)
	case msg.Is[msg.QueryTxnResponse](e):
		r := msg.As[msg.QueryTxnResponse](e)
		outcome := when(r.Committed, "committed"+resultsText(r.Results)) + when(r.Fenced, "fenced") +
			when(r.TooOld, "too old") + when(r.ResultsLost, " (results lost)")
		return fmt.Sprintf("QueryTxnResponse %s from %v: %s", NameID(r.Id), r.Shard, outcome)
	case msg.Is[msg.ReadPage](e) && msg.As[msg.ReadPage](e).Done:
		return fmt.Sprintf("ReadPage %s: done", readerName(msg.As[msg.ReadPage](e).Txn))
	case msg.Is[msg.ReadPage](e):
		s := msg.As[msg.ReadPage](e)
		return fmt.Sprintf("ReadPage %s #%d: %s at CSN %d, limit %d", readerName(s.Txn), s.Number,
			SpanName(kv.Range(s.Start, s.End)), s.CSN, s.Limit) + when(s.SnapshotNumber != 0,
			fmt.Sprintf(", snapshot %d", s.SnapshotNumber))
	case msg.Is[msg.ReadPageResponse](e):
		p := msg.As[msg.ReadPageResponse](e)
		if p.Gone {
			return fmt.Sprintf("ReadPageResponse %s from %v: gone", readerName(p.Txn), p.Shard)
		}
		return fmt.Sprintf("ReadPageResponse %s #%d from %v: %s", readerName(p.Txn), p.Number, p.Shard,
			strings.TrimPrefix(Result(&msg.Result{Pairs: p.Pairs, Resume: p.Resume}), "0: "))
	case msg.Is[msg.Announcement](e):
		return fmt.Sprintf("Announcement %v incarnation %d", msg.As[msg.Announcement](e).Shard,
			msg.As[msg.Announcement](e).Incarnation)
	}
	return readerMessage(e)
}

func when(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

func resultsText(rs []msg.Result) string { return when(len(rs) > 0, " ["+Results(rs)+"]") }

func receiptText(r *msg.Receipt) string {
	if r == nil || r.WaitedNanos == 0 {
		return ""
	}
	return "; " + Receipt(r)
}

// Receipt formats a receipt. A receipt without a holder is of an update that waited for readers.
func Receipt(r *msg.Receipt) string {
	text := when(r.Open, "has ") + "waited " + Time(r.WaitedNanos) + when(len(r.Key) > 0, " for "+Key(r.Key)) +
		methodsText(r.Methods, r.Mode)
	switch {
	case r.Cause == msg.CauseNone:
		return text + ", cause unknown"
	case r.Holder.IsZero():
		return text + ", behind readers"
	}
	return text + ", behind " + Name(r.Holder) + methodsText(r.HolderMethods, r.HolderMode) +
		when(r.Cause == msg.CauseQueue, " in the queue") + when(r.Cause == msg.CauseRange, " with a range") +
		when(r.Others > 0, fmt.Sprintf(" and %d more", r.Others))
}

// methodsText formats the use of a key.
func methodsText(ms, mode uint64) string {
	return when(ms != 0, "("+adt.Methods(ms).Noun(adt.Mode(mode))+")")
}

// conflictText formats the two conflicting uses of a key.
func conflictText(r *msg.Receipt) string {
	if r == nil {
		return ""
	}
	return "it holds " + Key(r.Key) + methodsText(r.Methods, r.Mode) +
		when(r.HolderMethods != 0, ", the other requests"+methodsText(r.HolderMethods, r.HolderMode))
}

// Conflict formats the conflict that ended an attempt.
func Conflict(r *msg.Receipt) string {
	if r == nil {
		return ""
	}
	return ", by " + Name(r.Holder) + ": " + conflictText(r)
}

// Failure formats a failure.
func Failure(f *msg.Failure) string {
	if f == nil {
		return "without a reason"
	}
	at := ""
	if f.HasSeq {
		at = fmt.Sprintf(" at operation %d", f.Seq)
	}
	if f.Reason == msg.ReasonMoved {
		return fmt.Sprintf("Moved%s: %s is on %v", at, Key(f.Key), f.MovedTo)
	}
	if f.RetryAfterNanos > 0 {
		at += fmt.Sprintf(", again in %v", time.Duration(f.RetryAfterNanos).Round(100*time.Microsecond))
		if len(f.Key) > 0 {
			at += ", of " + Key(f.Key)
		}
	}
	return Names(fmt.Sprintf("%s/%v%s: %s", strings.TrimPrefix(f.Reason.String(), "Reason"), kv.Kind(f.Kind), at,
		f.Text)) + when(f.Conflict != nil, " ("+conflictText(f.Conflict)+")")
}

func lockResponseText(r *msg.LockResponse) string {
	head := fmt.Sprintf("LockResponse %s #%d from %v:", Name(r.Txn), r.Number, r.Shard)
	if r.Failure != nil {
		return head + " failed, " + Failure(r.Failure) + receiptText(&r.Receipt)
	}
	return head + resultsText(r.Results) + when(len(r.Grants) > 0, " under"+grantsText(r.Grants)) + receiptText(&r.Receipt)
}

func voteText(v *msg.Vote) string {
	head := fmt.Sprintf("Vote %s from %v: ", Name(v.Txn), v.Shard)
	if !v.Yes {
		return head + "no, " + Failure(v.Failure) + receiptText(&v.Receipt)
	}
	sealed := "held"
	if v.Sealed {
		sealed = "sealed " + v.Epoch.String()
	}
	return head + "yes, " + sealed + resultsText(v.Results) + when(v.Repeated, ", requests the decision") +
		receiptText(&v.Receipt)
}

func grantsText(gs []msg.Grant) string {
	out := ""
	for i := range gs {
		out += fmt.Sprintf(" %s:%v#%d", SpanName(gs[i].Span()), adt.Mode(gs[i].Mode), gs[i].Number)
	}
	return out
}

func pieceText(p *msg.Piece) string {
	out := opsText(p.Ops)
	if len(p.Grants()) > 0 {
		out += " under" + grantsText(p.Grants())
	}
	for _, s := range p.Seen() {
		v := s.Version.String()
		if s.Version.IsZero() {
			v = "absent"
		}
		out += " validates " + Key(s.Key) + "@" + v
	}
	return strings.TrimSpace(out)
}
