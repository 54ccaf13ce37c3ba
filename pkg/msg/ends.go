package msg

// Ends reports whether the message brings a transaction that is under way to
// its end, or nearer to letting go of what others wait for: locks, promises,
// registrations. Queues take such messages before those that begin something,
// which are all the others.
//
//	Decide, Release, Check, Leave   end locks and promises, and registrations,
//	                                where they arrive
//	Vote                            is what the decision waits for
//	LockReply, ReadReply            are what a holder of locks, or a reader that
//	                                is registered, waits for before it goes on
//	Notice, Unsealed                have a Read go on that waits at a shard, of
//	                                a reader that is registered elsewhere or here
//	Answer, CheckReply              end an update and a locking reader, for whom
//	                                nobody waits but the client
//
// What only asks is not among them, since it may end something in vain that a
// message before it would have completed: Mark, Cancel, AskVote, Unseal, Push,
// and a Vote that is repeated, which is a question, too: if it overtook the
// transaction's Park it would have the attempt aborted. Nor is what nobody
// holds anything for: DecideAck, Waits, the answers about pins, pages and outcomes, or what nodes ask nodes. A
// PushReply follows a long silence, and is in no hurry.
func (m *Envelope) Ends() bool {
	if m.Vote != nil {
		return !m.Vote.Repeated
	}
	return m.Decide != nil || m.Release != nil || m.Check != nil || m.Leave != nil ||
		m.LockReply != nil || m.ReadReply != nil || m.Notice != nil || m.Unsealed != nil ||
		m.Answer != nil || m.CheckReply != nil
}
