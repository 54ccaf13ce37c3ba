package golden

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Entry formats a log entry.
func Entry(e *entry.Entry) string {
	name := e.Table.String() + " " + rowName(e.Table, e.Key)
	switch {
	case e.Action == entry.Delete && e.Table == entry.TableVersion:
		return fmt.Sprintf("remove %s@%d", name, e.CSN)
	case e.Action == entry.Delete:
		return "remove " + name
	case e.Action == entry.DeleteBelow && e.Table == entry.TableVersion:
		return fmt.Sprintf("remove versions of %s below @%d", Key(e.Key), e.CSN)
	case e.Action == entry.DeleteBelow:
		return fmt.Sprintf("remove every %s below %s", e.Table, rowName(e.Table, e.Key))
	}
	text, err := rowText(e)
	if err != nil {
		return fmt.Sprintf("%s: unreadable: %v", name, err)
	}
	return strings.TrimSpace(strings.TrimSpace(name) + text)
}

// rowName formats a row's key.
func rowName(t entry.Table, key []byte) string {
	switch t {
	case entry.TablePrepared, entry.TableRecord:
		var r kv.TxnRef
		if r.Unmarshal(key) == nil {
			return Name(r)
		}
	case entry.TablePage:
		if user, id, ok := entry.SplitPageKey(key); ok {
			return fmt.Sprintf("%d of %s", id, Key(user))
		}
	case entry.TableDeadline:
		if expires, user, ok := entry.SplitDeadlineKey(key); ok {
			return fmt.Sprintf("%d of %s", expires, Key(user))
		}
	case entry.TableSnapshot:
		return strconv.FormatUint(binary.BigEndian.Uint64(key), 10)
	case entry.TableOutcome, entry.TableFence:
		var id kv.TxnID
		if id.Unmarshal(key) == nil {
			return NameID(id)
		}
	}
	return Key(key)
}

func rowText(e *entry.Entry) (string, error) {
	switch e.Table {
	case entry.TableVersion:
		switch {
		case entry.IsDirectory(e.Value):
			return directoryText(e)
		case entry.IsPatch(e.Value):
			return patchText(e)
		case entry.IsDelta(e.Value):
			return deltaText(e)
		}
		v, err := entry.DecodeValue(e.Value)
		return fmt.Sprintf("@%d = %s (%v)", e.CSN, Value(v.Type, v.Payload), v.Version) + expiresText(v.Expires), err
	case entry.TablePrepared:
		var p entry.Prepared
		err := p.Unmarshal(e.Value)
		out := fmt.Sprintf(" for %v:", p.Last)
		for i := range p.Effects {
			out += " " + effectText(&p.Effects[i])
		}
		for _, l := range p.Locks {
			span := kv.Point(l.Start)
			if l.IsRange {
				span = kv.Range(l.Start, l.End)
			}
			out += fmt.Sprintf(" %s:%v", SpanName(span), adt.Mode(l.Mode))
		}
		return out, err
	case entry.TableRecord:
		var r entry.Record
		err := r.Unmarshal(e.Value)
		return fmt.Sprintf(" is committed, not acknowledged by %v", r.Participants), err
	case entry.TableOutcome:
		var o entry.Outcome
		err := o.Unmarshal(e.Value)
		return when(o.Committed != 0, fmt.Sprintf(": attempt %d committed", o.Committed)+resultsText(o.Results)) +
			when(o.Applied != 0, fmt.Sprintf(": attempt %d applied", o.Applied)) + when(o.ResultsLost, " (results lost)"), err
	case entry.TableSnapshot:
		var p msg.Snapshot
		err := p.Unmarshal(e.Value)
		return ": " + Snapshot(&p), err
	case entry.TableMoved:
		var p entry.Moved
		err := p.Unmarshal(e.Value)
		return " is here since " + Time(p.Since), err
	case entry.TableRetention:
		var r entry.Retention
		err := r.Unmarshal(e.Value)
		return fmt.Sprintf(" from %d on, and %d", r.SafePoint, r.Retained), err
	case entry.TablePage:
		return fmt.Sprintf(": %q", e.Value), nil
	case entry.TableState:
		var s entry.State
		err := s.Unmarshal(e.Value)
		return fmt.Sprintf(" incarnation %d, CSN %d, %d writes", s.Incarnation, s.CSN, s.Writes) +
			when(s.LowWatermark > 0, ", low watermark "+Time(s.LowWatermark)) + when(s.Moves > 0,
			fmt.Sprintf(", %d moves", s.Moves)), err
	}
	return "", nil
}

// directoryText formats the pages of a value, and the size of the rest in bytes.
func directoryText(e *entry.Entry) (string, error) {
	v, pages, rest, err := entry.DecodeDirectory(e.Value)
	out := fmt.Sprintf("@%d = %s in pages", e.CSN, adt.TypeName(v.Type))
	for _, p := range pages {
		out += fmt.Sprintf(" %d@%d", p.ID, p.FirstCSN)
	}
	return fmt.Sprintf("%s, directory of %d bytes (%v)", out, len(rest), v.Version) + expiresText(v.Expires), err
}

func patchText(e *entry.Entry) (string, error) {
	v, rest, err := entry.DecodePatch(e.Value)
	return fmt.Sprintf("@%d += patch %q (%v)", e.CSN, rest, v.Version) + expiresText(v.Expires), err
}

func deltaText(e *entry.Entry) (string, error) {
	v, calls, err := entry.DecodeDelta(e.Value)
	return fmt.Sprintf("@%d += %s (%v)", e.CSN, callsText(v.Type, calls), v.Version) + expiresText(v.Expires), err
}

// expiresText formats a deadline, if there is one.
func expiresText(at int64) string { return when(at != 0, fmt.Sprintf(" expires %d", at)) }

func effectText(e *entry.Effect) string {
	if e.Expires != 0 {
		plain := *e
		plain.Expires = 0
		return strings.TrimSuffix(effectText(&plain), ")") + expiresText(e.Expires) + ")"
	}
	switch e.Kind {
	case entry.EffectExpire:
		return fmt.Sprintf("(%s stays)", Key(e.Key))
	case entry.EffectAdd:
		return fmt.Sprintf("(%s%+d)", Key(e.Key), e.Delta)
	case entry.EffectChange:
		return changesText(e)
	case entry.EffectDelete:
		return fmt.Sprintf("(%s deleted)", Key(e.Key))
	case entry.EffectMoveOut, entry.EffectMoveIn:
		way := map[entry.EffectKind]string{entry.EffectMoveOut: "moves out", entry.EffectMoveIn: "moves in"}[e.Kind]
		return fmt.Sprintf("(%s %s: %s)", Key(e.Key), way, Value(entry.Type(e.Type), e.Value))
	}
	return fmt.Sprintf("(%s=%s)", Key(e.Key), Value(entry.Type(e.Type), e.Value))
}

// Read formats a read from disk.
func Read(r *entry.Read) string {
	switch r.Kind {
	case entry.ReadRange:
		return fmt.Sprintf("range %s@%d, limit %d", SpanName(r.Span), r.CSN, r.Limit)
	case entry.ReadRow:
		return fmt.Sprintf("%s %s", r.Table, rowName(r.Table, r.Key))
	case entry.ReadGarbage:
		return fmt.Sprintf("garbage of %s@%d", SpanName(r.Span), r.CSN)
	case entry.ReadRows:
		return fmt.Sprintf("%ss from %s, limit %d", r.Table, rowName(r.Table, r.Span.Start), r.Limit)
	case entry.ReadPages:
		return fmt.Sprintf("unreferenced pages of %s", SpanName(r.Span))
	}
	return fmt.Sprintf("key %s@%d", Key(r.Key), r.CSN)
}
