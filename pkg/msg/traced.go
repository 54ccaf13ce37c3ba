package msg

import "github.com/linchpindb/linchpin/pkg/kv"

// Attempt is the attempt, or the reader, that the message is about; ok is false if
// it is about none. Those that only ask about one are not among them: Push, Mark,
// enquiries and what is said about pins and hot keys.
func (m *Envelope) Attempt() (ref kv.TxnRef, ok bool) {
	switch {
	case m.Prepare != nil:
		return m.Prepare.Txn, true
	case m.Park != nil:
		return m.Park.Txn, true
	case m.Vote != nil:
		return m.Vote.Txn, true
	case m.Decide != nil:
		return m.Decide.Txn, true
	case m.DecideAck != nil:
		return m.DecideAck.Txn, true
	case m.Answer != nil:
		return m.Answer.Txn, true
	case m.Lock != nil:
		return m.Lock.Txn, true
	case m.LockReply != nil:
		return m.LockReply.Txn, true
	}
	return m.readersAttempt()
}

func (m *Envelope) readersAttempt() (ref kv.TxnRef, ok bool) {
	switch {
	case m.Read != nil:
		return m.Read.Reader, true
	case m.ReadReply != nil:
		return m.ReadReply.Reader, true
	case m.Notice != nil:
		return m.Notice.Reader, true
	case m.Check != nil:
		return m.Check.Txn, true
	case m.CheckReply != nil:
		return m.CheckReply.Txn, true
	case m.Release != nil:
		return m.Release.Txn, true
	case m.ScanAt != nil:
		return m.ScanAt.Txn, true
	case m.ScanPage != nil:
		return m.ScanPage.Txn, true
	}
	return ref, false
}
