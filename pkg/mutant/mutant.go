// Package mutant lets a test break a machine on purpose.
//
// The protocol has many rules of which each seems dispensable until a certain
// schedule comes. For each such rule there is an ID here, and the machine
// asks Set.Has(ID) at the very place where it keeps the rule. In an ordinary
// build Has is the constant false and the compiler removes the branch; with
// the build tag "mutants" a test gives a machine the Set of rules to break,
// and the simulation must notice.
package mutant

// ID names one rule that can be broken.
type ID uint8

const (
	// NoGrantCheck: prepare does not check that the grants are still held.
	NoGrantCheck ID = iota
	// GrantByHolding: prepare accepts any lock that the transaction holds.
	GrantByHolding
	// GrantsUncheckedByLast: the last agent does not check in the decision that the
	// grants are still held.
	GrantsUncheckedByLast
	// ReadLocksLost: read locks are not logged with the prepare.
	ReadLocksLost
	// ReadLocksReleasedAtVote: a participant drops its read locks when it votes.
	ReadLocksReleasedAtVote
	// RangeLocksPresentOnly: a range lock protects only keys that exist.
	RangeLocksPresentOnly
	// HotLocksIgnored: the last agent runs its piece past conflicting locks.
	HotLocksIgnored
	// SeenUnchecked: optimistic reads are not validated in the decision.
	SeenUnchecked
	// IncarnationIgnored: the last agent takes up business of an earlier life.
	IncarnationIgnored
	// SendBeforeDurable: messages of a step that wrote something leave before that is
	// durable.
	SendBeforeDurable
	// TellBeforeDurable: messages of a step that wrote nothing leave although what its
	// shard wrote before is not durable.
	TellBeforeDurable
	// GatherReorders: the steps that are appended together are in another order.
	GatherReorders
	// NoTombstone: a repeated vote for what is not parked aborts the voter,
	// but a later CommitRequest is taken all the same.
	NoTombstone
	// LateParkWins: a CommitRequest overrules a tombstone.
	LateParkWins
	// RecordForgottenEarly: a commit record goes before all acknowledged.
	RecordForgottenEarly
	// AppliedForgotten: a participant does not remember what it applied.
	AppliedForgotten
	// FencesForgotten: an enquiry fences in memory only.
	FencesForgotten
	// NoWound: nobody is marked.
	NoWound
	// PreparedIsSafe: a prepared transaction is never marked.
	PreparedIsSafe
	// CapStopsOlder: the cap of a phase also stops older operations.
	CapStopsOlder
	// AttemptsEqualAge: attempts of one id are of one age.
	AttemptsEqualAge
	// NoAskVote: missing votes are not asked for.
	NoAskVote
	// NoPush: waiters do not ask the holder's gateway.
	NoPush
	// GatewayDropsMarks: a gateway that has sent the commit drops marks.
	GatewayDropsMarks
	// MarksOnce: marks are not repeated.
	MarksOnce
	// NoMarkOnGrant: a grant past an older waiter is not marked.
	NoMarkOnGrant
	// ParkWithoutMark and PrepareWithoutMark: these do not carry "no wait".
	ParkWithoutMark
	PrepareWithoutMark
	// NoIdleGrace: a marked transaction without a request lives on.
	NoIdleGrace
	// ConditionUnlocked: conditions are checked without a lock.
	ConditionUnlocked
	// ColdReadStale: a cold value is taken though a newer one was written.
	ColdReadStale
	// CheckSkipped: a locking reader does not check its grants at the end.
	CheckSkipped
	// RetryWithoutAbort: a gateway starts the next attempt before the last
	// one is known to be aborted.
	RetryWithoutAbort
	// GarbageTooEarly: versions that a scan still needs are collected.
	GarbageTooEarly
	// DeadForgotten: aborted attempts are forgotten at once.
	DeadForgotten
	// MemoryFloorIgnored: what memory has forgotten counts as never seen.
	MemoryFloorIgnored
	// PresumedUnasked: a CommitRequest that memory does not know is presumed aborted
	// without asking the log.
	PresumedUnasked
	// LookUpBlind: a lookup is not told what is finished while it is under way.
	LookUpBlind
	// ReadersIgnored: a participant seals although a reader is registered.
	ReadersIgnored
	// ReadersIgnoredByLast: the last agent decides although a reader is
	// registered on its own keys.
	ReadersIgnoredByLast
	// HeldIgnored: the last agent counts a vote that is not sealed.
	HeldIgnored
	// SealedIgnored: a reader does not wait for sealed updates.
	SealedIgnored
	// RegisteredAfterWait: a reader registers when its wait is over.
	RegisteredAfterWait
	// NoRegistrationForWait: who need not be registered is not, while it waits.
	NoRegistrationForWait
	// NoRegistration: readers are never registered.
	NoRegistration
	// DroppedEpochsCount: the last agent counts epochs that it has dropped.
	DroppedEpochsCount
	// DropForgotten: an epoch is dropped only if the record is parked already.
	DropForgotten
	// DropLowered: a late request to drop an older epoch has newer ones count again.
	DropLowered
	// UnsealedEpochIgnored: a shard takes an answer to Unseal for any epoch.
	UnsealedEpochIgnored
	// UnsealsByItself: a shard unseals without asking the last agent.
	UnsealsByItself
	// NoticesNotAwaited: the last read of a reader does not wait for the others.
	NoticesNotAwaited
	// RecoveredHeldToReaders: readers do not wait for what was recovered.
	RecoveredHeldToReaders
	// RecoveredSealedToLast: what was recovered votes that it is sealed.
	RecoveredSealedToLast
	// EpochsRestart: a new life gives out the epochs of the last one.
	EpochsRestart
	// RestartSealsAtOnce: a new life's participants do not wait for the readers of the
	// last.
	RestartSealsAtOnce
	// RestartDecidesAtOnce: nor do the pieces that it decides.
	RestartDecidesAtOnce
	// LeaseUnchecked: a gateway does not look whether its leases have lapsed.
	LeaseUnchecked
	// LeaseFromReply: a gateway counts a lease from when it heard of it.
	LeaseFromReply
	// LeaseWithoutMargin: a gateway counts on clocks that go at one rate.
	LeaseWithoutMargin
	// OpenEndUnchecked: an open reader's leases are not looked at when it ends.
	OpenEndUnchecked
	// OtherCopyTaken: a reader takes what the last shard read though it relied on
	// another reading than the one whose values came.
	OtherCopyTaken
	// LeaseRevived: a renewal counts although the lease had lapsed.
	LeaseRevived
	// RenewedElsewhere: a renewal in another life than the registration counts.
	RenewedElsewhere
	// GarbagePastPin: versions that only a pin sees are collected.
	GarbagePastPin
	// PinUnchecked: a shard reads at a pin that may have been given up.
	PinUnchecked
	// PinBelowFloor: a state is kept although a newer one was.
	PinBelowFloor
	// PinHotFirst: the hot shard fixes its index before the others.
	PinHotFirst
	// PinUnregistered: the shards fix their indexes without a registration.
	PinUnregistered
	// PinJoinedLate: who asks for a pin gets one that was under way already.
	PinJoinedLate
	// OpenLeftBeforePin: an open reader leaves before it is pinned.
	OpenLeftBeforePin
	// MoveLeavesNoMark: the home of a key that has been moved does not say so.
	MoveLeavesNoMark
	// MoveCopiesTooLittle: a move does not bring what the key held.
	MoveCopiesTooLittle
	// MarkIgnored: a key's home takes the mark for no value.
	MarkIgnored
	// BlindWritesIgnoreMark: a write that reads nothing is executed where the
	// key is not.
	BlindWritesIgnoreMark
	// GuestsUnchecked: the hot shard takes whatever it is asked for as its own,
	// so that a key may be on two shards.
	GuestsUnchecked
	// GuestsForgotten: a new life of the hot shard does not know what was moved
	// to it.
	GuestsForgotten
	// MoveUnlocked: a move reads the key without locking it, so that what is
	// written before the move is decided is lost.
	MoveUnlocked
	// MovesIgnoreReaders: a move does not wait for readers that are registered
	// where the key is.
	MovesIgnoreReaders
	// RedirectIgnored: a gateway goes on to look for a key where it was told
	// that it is not.
	RedirectIgnored
	// GatheredTooEarly: where a gateway gathers, the last shard reads before the
	// others have answered.
	GatheredTooEarly
	// CollectedMovesForgotten: a shard forgets with a tombstone how often its
	// key has moved.
	CollectedMovesForgotten
	// PlaceKept: a transaction that ends does not give its place back.
	PlaceKept
	// CollisionRefuses: a gateway refuses by the count of a slot, in which other
	// keys are as well.
	CollisionRefuses
	// KeysUnlimited: a gateway takes as many transactions of one key as there
	// are places.
	KeysUnlimited
	// SizeWithAdd: a question about all of a set goes with adding members.
	SizeWithAdd
	// ContainsWithRemove: relying on a member goes with removing it.
	ContainsWithRemove
	// PartsIgnored: what commutes for other parts of a value always does.
	PartsIgnored
	// TypedPastRange: a range lock does not stop calls of data types.
	TypedPastRange
	// PlanUnlocked: nobody checks that the locks are held which a call turned out
	// to need.
	PlanUnlocked
	// FirstPlanKept: a call that has waited goes by what its key held before.
	FirstPlanKept
	// OthersIgnored: a call goes by the value alone, as if nobody had prepared
	// changes of it.
	OthersIgnored
	// OthersTwice: prepared changes of others count twice.
	OthersTwice
	// RefusalUnlocked: a bounded counter that refuses locks nothing.
	RefusalUnlocked
	// AheadIgnored: an answer that is given before the change is prepared is
	// planned as if it came with it.
	AheadIgnored
	// OwnCallsUnseen: a transaction does not see its own calls.
	OwnCallsUnseen
	// PartUnregistered: a reader of a part of a value is not registered for it.
	PartUnregistered
	// WholeUnregistered: a reader of all of a value is not registered for it.
	WholeUnregistered
	// ChangeUnshown: readers do not meet changes of data types.
	ChangeUnshown
	// ChangeShownByFirst: readers meet only the first call of a change.
	ChangeShownByFirst
	// CallLocksLost: locks of calls that change nothing are not logged with the
	// prepare.
	CallLocksLost
	// NoPhaseCap: a phase may go on for ever, whoever waits for its end.
	NoPhaseCap
	// FoldPastPin: a value that is written whole, or changed again, takes the row of
	// the change before it although a kept state sees that.
	FoldPastPin
	// DeltaTwice: the newest change of a value that is stored as changes is made
	// twice when it is read.
	DeltaTwice
	// DeltaMissed: the oldest one is not made.
	DeltaMissed
	// PagesPastPin: pages of a value that only a pin sees are collected.
	PagesPastPin
	// PatchOfTheLast: what several transactions have changed of a value in pages is
	// one row, which says only what the last has.
	PatchOfTheLast
	// TopsDropped: changes that are kept beside pages which are not in memory are lost
	// when their value is written anew.
	TopsDropped
	// SharedAfterSent: a read is answered by one that had been sent before.
	SharedAfterSent
	// SharedUnlike: a read is answered by one with other arguments.
	SharedUnlike
	// UniqueShared: reads that are to differ are answered by one.
	UniqueShared
	// ExpiryUnchecked: a key that was due is deleted though it has been written
	// since.
	ExpiryUnchecked
	// DeadlineLostAtMove: a key that has moved is not noted with its deadline.
	DeadlineLostAtMove
	// ExpiresEarly: keys are deleted before their deadlines.
	ExpiresEarly
	// FailuresUnvalidated: a failure is final though what was read before it may not
	// have been current.
	FailuresUnvalidated
	// ClockBelieved: ids are forgotten by a time of day that has only just been set.
	ClockBelieved
	// FloorLowered: a floor that is in the future is lowered when the shard starts.
	FloorLowered
	// FloorPassed: an enquiry whose outcome was deleted while it was read closes the id.
	FloorPassed
	// LockWithoutMark: a gateway whose lock requests have no answer ignores marks.
	LockWithoutMark
	// RoundBeforeReader: who asks for a state gets the last one, which a round fixed
	// before the reader began.
	RoundBeforeReader
	// LateReadsUsed: an open reader that has asked for a pin uses what comes of its
	// reads that were under way.
	LateReadsUsed
	// ClosedWhenHeldOnly: the queues of an old update's keys are open while it is
	// sealed.
	ClosedWhenHeldOnly
	// HeldAgeNotInherited: a shard takes no notice of the age in answers to Unseal.
	HeldAgeNotInherited
	// NoRoundGaps: a gateway begins a round as soon as the last one has ended.
	NoRoundGaps
	// AttemptsApart: a shard that has committed an attempt of a transaction, or has
	// promised to, takes others.
	AttemptsApart
	// LastAgentsApart: a shard takes part in several commits of one attempt, which have
	// different last agents.
	LastAgentsApart
	// VoteOfAnyCommit: a vote, a commit request and a cancellation count for any commit of their
	// attempt.
	VoteOfAnyCommit
	// DecisionOfAnyCommit: a vote for a commit is answered by the decision about another one of the
	// attempt.
	DecisionOfAnyCommit
	// PromiseOfAnyCommit: a participant's promise, and a decision about it, count for any commit of
	// their attempt.
	PromiseOfAnyCommit
	// AckOfAnyCommit: an acknowledgement counts for any commit of its attempt.
	AckOfAnyCommit
	// AnswerOfAnyCommit: a gateway takes an answer to any commit of its attempt.
	AnswerOfAnyCommit
	// RivalNotKilled: a commit that is refused because another one is undecided has no tombstone.
	RivalNotKilled
	// GatewayStartsAlike: a gateway names its commits as it did before it restarted.
	GatewayStartsAlike
	// PinClockBelieved: pins are given up by a time of day that has only just been set.
	PinClockBelieved
	// BorrowJoinedLate: a reader shares a state that its machine had asked another for before the
	// reader began.
	BorrowJoinedLate
	// RestWithinLease: a shard that shuts down cleanly reports that there are no readers although the
	// leases of the incarnation before have not expired.
	RestWithinLease
	// LentForgotten: a machine has a state forgotten when its own transactions have ended, although
	// it is lent.
	LentForgotten
	// RoundsAnsweredDurable: a shard answers a round when its log is durable.
	RoundsAnsweredDurable
	// RoundIgnoresSealed: a shard fixes its index for a round although an update is sealed.
	RoundIgnoresSealed
	// StateOfAnyIncarnation: a read at a round's state counts in another incarnation of the shard.
	StateOfAnyIncarnation
	// StateReadBeforeDurable: a read at a round's state is answered before its result is durable.
	StateReadBeforeDurable
	// KeptBeforeDurable: a snapshot is kept although a shard's part of it is not durable.
	KeptBeforeDurable
	// RoundLeaseUnchecked: a round's state counts although a registration has lapsed.
	RoundLeaseUnchecked
	// RoundsWaitForever: a round waits for a shard as long as that takes.
	RoundsWaitForever
	// LeftOutForgotten: a shard that did not answer a round has a part in the next one.
	LeftOutForgotten
	// LeftOutBackAtOnce: it has a part in rounds as soon as it answers a probe.
	LeftOutBackAtOnce
	// LeftOutDecides: it is chosen as the last agent like others.
	LeftOutDecides
	// StartClockBelieved: keys are deleted by the time of day at the start, whatever it is.
	StartClockBelieved
	// IDsBelieved: a transaction counts as begun at the time in its id, whenever it arrives.
	IDsBelieved
	// AttemptsBeginAnew: each attempt of an interactive transaction counts as begun when it arrives.
	AttemptsBeginAnew
	// IdleHoldersKept: a transaction that is idle keeps the locks that younger ones wait for.
	IdleHoldersKept
	// PingsCount: a transaction is not idle if it asks for what it has.
	PingsCount
	// HoldsUncounted: one user's locks may hold up others all the time.
	HoldsUncounted
	// UnlockedUnchecked: what was read without a right to write it is not validated.
	UnlockedUnchecked
	// EarlierLeasesForgotten: an incarnation that still waits for the leases of the one before does
	// not report them, so that the next one does not wait for them.
	EarlierLeasesForgotten
	// LeasesTakenAsEnded: an incarnation waits for no lease if it knows until when they last.
	LeasesTakenAsEnded
	numMutants
)
