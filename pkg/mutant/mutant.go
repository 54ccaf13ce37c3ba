// Package mutant plants faults in the state machines, to prove that the tests find them.
//
// Many rules of the protocol seem dispensable until a certain schedule of messages and failures
// occurs. For each such rule there is an [ID]. A file rules.go of its package, and no other one, tests
// Set.Has(ID), in a predicate that is named after the rule:
//
//	func (p *Participant) checksGrants() bool { return !p.Mutants.Has(mutant.NoGrantCheck) }
//
// In an ordinary build, Has is the constant false and the compiler removes the branch. With the
// build tag "mutants", a test gives a state machine the [Set] of rules to violate, and requires
// that the simulation, or a unit test, fails. IDs are not stored and may change.
//
// The packages shard, txn, snapshotqueue and mvcc rely on it. test/sim plants nearly every ID, and lists
// those that need a schedule of their own.
package mutant

// ID names one rule that can be violated.
type ID uint8

const (
	// NoGrantCheck: prepare does not check that the grants are still held.
	NoGrantCheck ID = iota
	// GrantByHolding: prepare accepts any lock that the transaction holds, not only the grant of the
	// read.
	GrantByHolding
	// GrantsUncheckedByLast: the last agent does not check in the decision that the grants are still
	// held.
	GrantsUncheckedByLast
	// ReadLocksLost: read locks are not logged with the prepare.
	ReadLocksLost
	// ReadLocksReleasedAtVote: a participant releases its read locks when it votes.
	ReadLocksReleasedAtVote
	// RangeLocksPresentOnly: a range lock protects only existing keys.
	RangeLocksPresentOnly
	// HotLocksIgnored: the last agent executes its piece despite conflicting locks.
	HotLocksIgnored
	// SeenUnchecked: optimistic reads are not validated in the decision.
	SeenUnchecked
	// IncarnationIgnored: the last agent accepts messages of an earlier incarnation.
	IncarnationIgnored
	// SendBeforeDurable: messages of a step with writes are sent before the writes are durable.
	SendBeforeDurable
	// RespondBeforeDurable: messages of a step without writes are sent before earlier writes of the shard
	// are durable.
	RespondBeforeDurable
	// BatchReordersSteps: steps that are appended together are reordered.
	BatchReordersSteps
	// NoAbortTombstone: a repeated vote for a transaction without a pending commit request aborts the
	// participant, but a later commit request is accepted.
	NoAbortTombstone
	// LateCommitRequestWins: a commit request overrules a tombstone of an abort.
	LateCommitRequestWins
	// RecordRemovedEarly: a commit record is removed before all participants have acknowledged.
	RecordRemovedEarly
	// AppliedForgotten: a participant does not retain which decisions it has applied.
	AppliedForgotten
	// FencesForgotten: an outcome query closes the id in memory only.
	FencesForgotten
	// NoWound: no transaction is wounded.
	NoWound
	// PreparedIsSafe: a prepared transaction is never wounded.
	PreparedIsSafe
	// CapStopsOlder: the cap of a phase also stops older operations.
	CapStopsOlder
	// AttemptsEqualAge: all attempts of one id have the same age.
	AttemptsEqualAge
	// NoVoteRequest: missing votes are not requested.
	NoVoteRequest
	// SilentGatewayKept: a commit whose gateway is silent stays undecided.
	SilentGatewayKept
	// NoPush: waiters do not push the holder's gateway.
	NoPush
	// GatewayDropsWounds: a gateway that has sent the commit request drops wounds.
	GatewayDropsWounds
	// WoundsOnce: wounds are not repeated.
	WoundsOnce
	// NoWoundOnGrant: a transaction that is granted a lock ahead of an older waiter is not wounded.
	NoWoundOnGrant
	// CommitRequestWithoutWound and PrepareWithoutMark: commit and prepare requests of a wounded transaction do
	// not carry "no wait".
	CommitRequestWithoutWound
	PrepareWithoutWound
	// IdleWoundedContinues: a wounded transaction without a request is never aborted.
	IdleWoundedContinues
	// ConditionUnlocked: conditions are checked without a lock.
	ConditionUnlocked
	// StaleLoadUsed: the result of a cache miss is used although a newer value was written meanwhile.
	StaleLoadUsed
	// CheckSkipped: a locking reader does not check its grants at the end.
	CheckSkipped
	// RetryWithoutAbort: a gateway starts the next attempt before the previous one is known to be
	// aborted.
	RetryWithoutAbort
	// GarbageTooEarly: versions that a scan still needs are collected.
	GarbageTooEarly
	// AbortedForgotten: aborted attempts are not retained.
	AbortedForgotten
	// LowWatermarkIgnored: ids below the low watermark of the shard's memory count as never seen.
	LowWatermarkIgnored
	// PresumedWithoutLookup: a commit request for an id that is not in memory is presumed aborted without
	// reading the log.
	PresumedWithoutLookup
	// LookUpBlind: a lookup in the log ignores transactions that finish while it is in flight.
	LookUpBlind
	// ReadersIgnored: a participant seals although a reader is registered.
	ReadersIgnored
	// ReadersIgnoredByLast: the last agent decides although a reader is registered on its own keys.
	ReadersIgnoredByLast
	// HeldIgnored: the last agent counts a vote that is not sealed.
	HeldIgnored
	// SealedIgnored: a reader does not wait for sealed updates.
	SealedIgnored
	// RegisteredAfterWait: a reader registers when its wait ends.
	RegisteredAfterWait
	// NoRegistrationForWait: a reader that needs no registration has none while it waits.
	NoRegistrationForWait
	// NoRegistration: readers are never registered.
	NoRegistration
	// DroppedEpochsCount: the last agent counts epochs that it has dropped.
	DroppedEpochsCount
	// DropForgotten: an epoch is dropped only if the commit request has arrived.
	DropForgotten
	// DropLowered: a late request to drop an older epoch makes newer ones count again.
	DropLowered
	// UnsealedEpochIgnored: a shard applies an unseal response to any epoch.
	UnsealedEpochIgnored
	// UnsealsByItself: a shard unseals without a request to the last agent.
	UnsealsByItself
	// RegistrationsNotAwaited: the last read of a reader does not wait for the other registrations.
	RegistrationsNotAwaited
	// RecoveredHeldToReaders: readers do not wait for recovered updates.
	RecoveredHeldToReaders
	// RecoveredSealedToLast: recovered updates vote sealed.
	RecoveredSealedToLast
	// EpochsRestart: a new incarnation reuses the epochs of the previous one.
	EpochsRestart
	// RestartSealsImmediately: participants of a new incarnation do not wait for the readers of the previous
	// one.
	RestartSealsImmediately
	// RestartDecidesImmediately: pieces that a new incarnation decides do not wait for them either.
	RestartDecidesImmediately
	// LeaseUnchecked: a gateway does not check whether its leases have expired.
	LeaseUnchecked
	// LeaseFromResponse: a gateway counts a lease from the receipt of the response.
	LeaseFromResponse
	// LeaseWithoutMargin: a gateway assumes equal clock rates.
	LeaseWithoutMargin
	// OpenEndUnchecked: the leases of an interactive reader are not checked at its end.
	OpenEndUnchecked
	// OtherCopyTaken: a reader uses the result of the last shard although that relied on another
	// reading than the one whose values arrived.
	OtherCopyTaken
	// LeaseRevived: a renewal is accepted although the lease had expired.
	LeaseRevived
	// RenewedInAnyIncarnation: a renewal is accepted in another incarnation than the registration.
	RenewedInAnyIncarnation
	// GarbagePastSnapshot: versions that only a snapshot sees are collected.
	GarbagePastSnapshot
	// SnapshotUnchecked: a shard reads at a snapshot that may have been dropped.
	SnapshotUnchecked
	// SnapshotBelowSafePoint: a snapshot is retained although it is below the GC safe point.
	SnapshotBelowSafePoint
	// SnapshotHotFirst: the hot shard fixes its CSN before the others.
	SnapshotHotFirst
	// SnapshotUnregistered: the shards fix their CSNs without a registration.
	SnapshotUnregistered
	// SnapshotJoinedLate: a reader that requests a snapshot gets one of a round that was already in flight.
	SnapshotJoinedLate
	// DeregisteredBeforeSnapshot: an interactive reader deregisters before it has its snapshot.
	DeregisteredBeforeSnapshot
	// MoveLeavesNoTombstone: a moved key leaves no move tombstone at its home shard.
	MoveLeavesNoTombstone
	// MoveCopiesNoValue: a move does not copy the value.
	MoveCopiesNoValue
	// MoveTombstoneIgnored: the home shard treats a move tombstone as an absent key.
	MoveTombstoneIgnored
	// BlindWritesIgnoreMove: a write that reads nothing is executed on a shard that does not have the
	// key.
	BlindWritesIgnoreMove
	// MovedKeysUnchecked: the hot shard executes operations on keys that were not moved to it, so a key
	// may be on two shards.
	MovedKeysUnchecked
	// MovedKeysForgotten: a new incarnation of the hot shard does not know which keys were moved to it.
	MovedKeysForgotten
	// MoveUnlocked: a move reads the key without a lock, so writes before its decision are lost.
	MoveUnlocked
	// MovesIgnoreReaders: a move does not wait for readers that are registered on the key.
	MovesIgnoreReaders
	// RedirectIgnored: a gateway retries on the shard that has redirected it.
	RedirectIgnored
	// CoLocatedTooEarly: with co-located reads, the last shard reads before the others have responded.
	CoLocatedTooEarly
	// CollectedMovesForgotten: the move count of a key is removed with its tombstone.
	CollectedMovesForgotten
	// SlotNotReleased: a finished transaction does not release its admission slot.
	SlotNotReleased
	// CollisionRejects: a gateway rejects by the count of a hash slot, which other keys share.
	CollisionRejects
	// KeysUnlimited: a gateway admits as many transactions of one key as there are slots.
	KeysUnlimited
	// SizeWithAdd: a query of a whole set is compatible with adding members.
	SizeWithAdd
	// ContainsWithRemove: relying on a member is compatible with removing it.
	ContainsWithRemove
	// PartsIgnored: kinds that commute on different parts always commute.
	PartsIgnored
	// TypedPastRange: a range lock does not conflict with calls of data types.
	TypedPastRange
	// PlanUnlocked: the locks of the second plan of a call are not checked.
	PlanUnlocked
	// FirstPlanKept: a call that has waited uses its first plan.
	FirstPlanKept
	// OthersIgnored: a plan ignores undecided calls of other transactions.
	OthersIgnored
	// OthersTwice: undecided calls of other transactions count twice.
	OthersTwice
	// RefusalUnlocked: a refusal of a bounded counter takes no lock.
	RefusalUnlocked
	// AheadIgnored: an answer that is returned ahead of the commit is planned as if it came with it.
	AheadIgnored
	// OwnCallsUnseen: a transaction does not see its own calls.
	OwnCallsUnseen
	// PartUnregistered: a reader of a part of a value is not registered for the part.
	PartUnregistered
	// WholeUnregistered: a reader of a whole value is not registered for it.
	WholeUnregistered
	// ChangeIgnoredByReaders: changes of data types do not conflict with readers.
	ChangeIgnoredByReaders
	// OnlyFirstChangeConflicts: only the first call of a change conflicts with readers.
	OnlyFirstChangeConflicts
	// CallLocksLost: locks of calls that change nothing are not logged with the prepare.
	CallLocksLost
	// NoPhaseCap: a phase has no bound, whichever requests wait for its end.
	NoPhaseCap
	// FoldPastSnapshot: a value that is written whole, or changed again, replaces the row of the previous
	// change although a snapshot sees it.
	FoldPastSnapshot
	// DeltaTwice: the newest delta of a chain is applied twice when it is read.
	DeltaTwice
	// DeltaMissed: the oldest delta is not applied.
	DeltaMissed
	// PagesPastSnapshot: pages that only a snapshot sees are collected.
	PagesPastSnapshot
	// PatchOfLastOnly: the row for changes of several transactions on a value in pages contains only the
	// last change.
	PatchOfLastOnly
	// BufferedChangesDropped: buffered changes of absent pages are lost when the value is written again.
	BufferedChangesDropped
	// SharedAfterSent: a read shares the response to one that was sent before.
	SharedAfterSent
	// SharedWithOtherArguments: a read shares the response to one with other arguments.
	SharedWithOtherArguments
	// UniqueShared: reads with distinct results share one response.
	UniqueShared
	// ExpiryUnchecked: an expired key is deleted although it was written since.
	ExpiryUnchecked
	// DeadlineLostAtMove: the deadline of a moved key is lost.
	DeadlineLostAtMove
	// ExpiresEarly: keys are deleted before their deadlines.
	ExpiresEarly
	// FailuresUnvalidated: a failure is final although the reads that it depends on may be stale.
	FailuresUnvalidated
	// LocklessFailuresFinal: the failure of a read without locks is not repeated under locks.
	LocklessFailuresFinal
	// ClockTrusted: ids are discarded by a clock that was set only just now.
	ClockTrusted
	// WatermarkLowered: a low watermark in the future is lowered when the shard starts.
	WatermarkLowered
	// WatermarkPassed: an outcome query closes the id although its outcome was deleted while the query was
	// reading.
	WatermarkPassed
	// LockWithoutWound: a gateway with outstanding lock requests ignores wounds.
	LockWithoutWound
	// RoundBeforeReader: a reader that requests a snapshot gets the last one, of a round before its
	// begin.
	RoundBeforeReader
	// LateReadsUsed: an interactive reader that has requested a snapshot uses the results of its reads
	// in flight.
	LateReadsUsed
	// ClosedWhenHeldOnly: the snapshot-queues of an old update's keys accept readers while it is
	// sealed.
	ClosedWhenHeldOnly
	// TimeBlockedNotInherited: a shard ignores the time blocked in unseal responses.
	TimeBlockedNotInherited
	// NoRoundGaps: a gateway starts a snapshot round as soon as the previous one has ended.
	NoRoundGaps
	// AttemptsIndependent: a shard that has committed or prepared an attempt of a transaction accepts other
	// attempts.
	AttemptsIndependent
	// LastAgentsIndependent: a shard takes part in commits of one attempt with different last agents.
	LastAgentsIndependent
	// VoteOfAnyCommit: votes, commit requests and cancellations count for any commit of their attempt.
	VoteOfAnyCommit
	// DecisionOfAnyCommit: the response to a vote is the decision about another commit of the attempt.
	DecisionOfAnyCommit
	// PromiseOfAnyCommit: a participant's prepared state, and decisions about it, count for any commit
	// of their attempt.
	PromiseOfAnyCommit
	// AckOfAnyCommit: an acknowledgement counts for any commit of its attempt.
	AckOfAnyCommit
	// ResponseOfAnyCommit: a gateway accepts the response to any commit of its attempt.
	ResponseOfAnyCommit
	// ConcurrentCommitNotAborted: a commit that is rejected because of an undecided concurrent commit leaves no
	// tombstone.
	ConcurrentCommitNotAborted
	// GatewayReusesCommitIDs: a gateway reuses its commit ids after a restart.
	GatewayReusesCommitIDs
	// SnapshotClockTrusted: snapshots are dropped by a clock that was set only just now.
	SnapshotClockTrusted
	// BorrowedSnapshotTooOld: a reader shares a snapshot that was requested from another state machine before
	// the reader began.
	BorrowedSnapshotTooOld
	// ShutdownWithinLease: a shard that shuts down cleanly reports no readers although leases of the
	// previous incarnation have not expired.
	ShutdownWithinLease
	// SharedSnapshotDropped: a state machine drops a snapshot when its own transactions have ended, although
	// others use it.
	SharedSnapshotDropped
	// RoundsAnsweredDurable: a shard responds to a round only when its log is durable.
	RoundsAnsweredDurable
	// RoundIgnoresSealed: a shard fixes its CSN for a round although an update is sealed.
	RoundIgnoresSealed
	// StateOfAnyIncarnation: a read at the snapshot of a round is accepted in another incarnation of
	// the shard.
	StateOfAnyIncarnation
	// StateReadBeforeDurable: a read at the snapshot of a round is answered before its result is
	// durable.
	StateReadBeforeDurable
	// RetainedBeforeDurable: a snapshot is retained although a shard's part of it is not durable.
	RetainedBeforeDurable
	// RoundLeaseUnchecked: the snapshot of a round is used although a registration has expired.
	RoundLeaseUnchecked
	// RoundsWaitForever: a round waits for a shard without a timeout.
	RoundsWaitForever
	// ExclusionForgotten: a shard that did not respond to a round takes part in the next one.
	ExclusionForgotten
	// ExclusionEndsAtProbe: an excluded shard takes part in rounds as soon as it responds to a probe.
	ExclusionEndsAtProbe
	// ExcludedShardDecides: an excluded shard can be chosen as the last agent.
	ExcludedShardDecides
	// StartClockTrusted: keys are deleted by the clock at the start, whatever it is.
	StartClockTrusted
	// IDTimesTrusted: the begin time of a transaction is the time in its id, whenever it arrives.
	IDTimesTrusted
	// AttemptsBeginAnew: each attempt of an interactive transaction has a begin time of its own.
	AttemptsBeginAnew
	// IdleHoldersKept: an idle transaction keeps the locks for which younger ones wait.
	IdleHoldersKept
	// PingsCount: repeating a request counts as activity of an idle transaction.
	PingsCount
	// HoldsUncounted: one user's locks may block others all the time.
	HoldsUncounted
	// UnlockedUnchecked: reads without a right to write the key are not validated.
	UnlockedUnchecked
	// EarlierLeasesForgotten: an incarnation that still waits for the leases of the previous one does
	// not report them, so the next one does not wait for them.
	EarlierLeasesForgotten
	// LeasesTakenAsEnded: an incarnation waits for no lease if it knows their expiry.
	LeasesTakenAsEnded
	// LeaderLeaseIgnored: a leader serves without a lease.
	LeaderLeaseIgnored
	// LeaderLeaseFromResponse: a leader's lease counts from the arrival of the response to a heartbeat.
	LeaderLeaseFromResponse
	// LeaderLeaseWithoutMargin: a leader's lease counts in full, although clock rates differ.
	LeaderLeaseWithoutMargin
	// VotesDespitePromise: a voter forgets its promise to the leader.
	VotesDespitePromise
	// VotesForLeadersNode: a promise does not bind a voter towards the replica that it was made to.
	VotesForLeadersNode
	// PromiseLostAtRestart: a voter that has restarted votes at once.
	PromiseLostAtRestart
	// OwnLeaseForgotten: a leader that has stepped down votes during its own lease.
	OwnLeaseForgotten
	// ServesAfterTransfer: a leader serves although it has transferred leadership.
	ServesAfterTransfer
	// TransferWithoutWindow: a transfer entry states that no registrations are valid.
	TransferWithoutWindow
	// PreviousWindowForgotten: a transfer entry does not count registrations by the leader before.
	PreviousWindowForgotten
	// WindowEndsWithTermEntry: a leader that has not begun ends the window of the transfer entry before it.
	WindowEndsWithTermEntry
	// AcknowledgedBeforeDisk: a replica acknowledges what it has not written.
	AcknowledgedBeforeDisk
	// VotesForShorterLog: a voter does not compare logs.
	VotesForShorterLog
	// BeginsEarly: a leader begins with what it knows to be committed.
	BeginsEarly
	// RegisteredPastLeaderLease: a leader registers readers for longer than its own lease.
	RegisteredPastLeaderLease
	// GrantedLeaseIgnored: a gateway relies on the lease that it has requested, though the response states a shorter
	// one.
	GrantedLeaseIgnored
	// SendBeforeCommit: messages of a leader's steps leave before the entries before them are committed.
	SendBeforeCommit
	// ReadBeforeApplied: a leader reads its store before the rows that it has written are applied.
	ReadBeforeApplied
	// ClockBeforeInbox: a leader checks its lease before it takes the messages of a step.
	ClockBeforeInbox
	// JointLeaseByOldVoters: while the configuration is joint, a lease needs promises of the old voters only.
	JointLeaseByOldVoters
	// JointLeaseByNewVoters: while the configuration is joint, a lease needs promises of the new voters only.
	JointLeaseByNewVoters
	// OwnLeaseShrinks: a transfer and the leader's own promise count its present lease, not the longest.
	OwnLeaseShrinks
	// LearnersPromiseNothing: a learner makes no promise.
	LearnersPromiseNothing
	// EmptyReplicaVotes: a replica that has received nothing yet, as of a lost disk, votes.
	EmptyReplicaVotes
	// LearnersDoNotVote: a learner that is asked for its vote does not vote.
	LearnersDoNotVote
	// LearnersCount: a lease counts promises of learners.
	LearnersCount
	// ConfigurationHidesWindow: an entry that changes the configuration ends the window of a transfer entry.
	ConfigurationHidesWindow
	// JointByNewVoters: a joint configuration needs majorities of the new voters only.
	JointByNewVoters
	// JointByOldVoters: a joint configuration needs majorities of the old voters only.
	JointByOldVoters
	// RemovedLeaderCounts: a leader that is no voter counts itself for its lease.
	RemovedLeaderCounts
	// NumberUsedAgain: a node makes a replica with a number that it has had.
	NumberUsedAgain
	// MessagesOfAnotherDisk: a node makes a replica for a message to one of an earlier disk.
	MessagesOfAnotherDisk
	// GoneByReplicaBehind: a replica reports numbers as removed that it does not know yet.
	GoneByReplicaBehind
	// DestroyedUnreleased: a removed replica is destroyed before the release.
	DestroyedUnreleased
	// ChangesUnreleased: a change of the configuration begins before the one before is released.
	ChangesUnreleased
	// SnapshotWithoutConfiguration: a Raft snapshot does not have the configuration.
	SnapshotWithoutConfiguration
	// SnapshotWithoutWindow: a Raft snapshot does not have the window of a transfer entry.
	SnapshotWithoutWindow
	// SnapshotWithoutIntents: a Raft snapshot does not have the prepared updates.
	SnapshotWithoutIntents
	// SnapshotWithoutReadLocks: the prepared updates in a Raft snapshot hold the locks of their writes only.
	SnapshotWithoutReadLocks
	// SnapshotWithoutFences: a Raft snapshot does not have the fences of queried ids.
	SnapshotWithoutFences
	// SnapshotWithoutOutcomes: a Raft snapshot does not have the outcomes of transactions.
	SnapshotWithoutOutcomes
	// SnapshotAcknowledgedEarly: a Raft snapshot is acknowledged before it is installed.
	SnapshotAcknowledgedEarly
	// CutBeyondFlushed: a log is cut beyond what the store has flushed.
	CutBeyondFlushed
	// CommitNotRecorded: the commit index is not written with the entries that it came with.
	CommitNotRecorded
	// LogKeptBehindRows: the log is kept as it is though the rows are further.
	LogKeptBehindRows
	// HeartbeatBeyondAcknowledged: a heartbeat reports more as committed than its receiver has acknowledged.
	HeartbeatBeyondAcknowledged
	// VotesHideCommitted: vote requests and responses do not report what is committed.
	VotesHideCommitted
	// CommittedTermOfDisk: the term of what is committed is read from a log whose entry a write is about to replace.
	CommittedTermOfDisk
	// ConfirmedByEarlierHeartbeat: a read is confirmed by a heartbeat that was sent before its step.
	ConfirmedByEarlierHeartbeat
	// DamagedEntryAcknowledged: an entry is not verified before it is acknowledged.
	DamagedEntryAcknowledged
	// DamagedEntryApplied: an entry is not verified before it is applied.
	DamagedEntryApplied
	// UnfitLeads: a replica whose log or rows are damaged leads.
	UnfitLeads
	// UnfitNotDeclared: a leader does not declare replicas unfit that report it.
	UnfitNotDeclared
	// CheckAtAnyPosition: a check compares checksums of the rows at different positions.
	CheckAtAnyPosition
	// DifferingNotDeclared: a replica whose rows differ from those of a majority goes on.
	DifferingNotDeclared
	// UndecidedGoesOn: a shard goes on though no majority of its replicas agrees on the rows.
	UndecidedGoesOn
	// SlowLeaderKept: a leader whose disk is slow, or nearly full, keeps its leadership.
	SlowLeaderKept
	// SlowSuccessorTaken: it transfers leadership to a replica whose disk is as slow.
	SlowSuccessorTaken
	// SlowTransfersRepeated: the next leader transfers leadership at once, if its disk is slow.
	SlowTransfersRepeated
	// StuckDiskIgnored: a replica whose disk ends no write sends heartbeats and responses.
	StuckDiskIgnored
	// UnappliedAcknowledged: a participant acknowledges a commit that it has not applied.
	UnappliedAcknowledged
	// ReserveKept: the reserve of ids stays when an incarnation ends cleanly.
	ReserveKept
	// ReadersRegisteredBeforeTransfer: a leader that is about to transfer leadership registers readers.
	ReadersRegisteredBeforeTransfer
	// LocksGrantedBeforeTransfer: a leader that is about to transfer leadership grants locks to interactive
	// transactions.
	LocksGrantedBeforeTransfer
	// EarlierStatesCollected: a leader overwrites and collects what the states see that earlier leaders have kept.
	EarlierStatesCollected
	// LostStatesServed: a leader serves states of earlier ones above the CSN at which it has begun.
	LostStatesServed
	// RoundsAnsweredUncommitted: the leader of several replicas responds to a round before the CSN is committed.
	RoundsAnsweredUncommitted
	// LaterIncarnationIgnored: a deposed leader responds to messages that name a later incarnation of its shard.
	LaterIncarnationIgnored
	// NodeClockForgotten: a new leader does not know for how long the time of day has been steady.
	NodeClockForgotten
	// RetentionUnproven: a gateway reads at a state that an earlier leader may have kept no longer.
	RetentionUnproven
	// LogCutBeyondFlushed: a log is truncated although the store has not flushed the rows of its entries.
	LogCutBeyondFlushed
	// VoteCutWithLog: truncating a log deletes the term and the vote.
	VoteCutWithLog
	// CommitIndexNotRecorded: a record of entries does not hold the commit index that came with them.
	CommitIndexNotRecorded
	// ReplicaNumberReused: a replica is made under a number that the node has had of the group.
	ReplicaNumberReused
	// EntryChecksumIgnored: the checksum of an entry is not verified.
	EntryChecksumIgnored
	// ReplicaReadsUnclosed: a replica serves reads at CSNs above what it has applied.
	ReplicaReadsUnclosed
	// ReplicaReadsAnyState: a replica serves reads at states that were collected.
	ReplicaReadsAnyState
	// RetentionUnwritten: a leader of several replicas collects versions without the row that says so.
	RetentionUnwritten
	// DownNodeRefuses: a gateway refuses work for shards with several replicas because one node is down or draining.
	DownNodeRefuses
	// IncarnationsPerMachine: each machine of a gateway learns incarnations for itself.
	IncarnationsPerMachine
	// RoundUnconfirmed: without leases, a snapshot round relies on registrations that no shard has confirmed.
	RoundUnconfirmed
	// ClockRateIgnored: a node leads although the rate of its clock is off.
	ClockRateIgnored
	numMutants
)
