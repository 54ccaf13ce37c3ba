package detail

import (
	"fmt"
	"strings"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Sentence says a receipt in words for somebody who knows the operations and
// nothing of how the store works: how long, for what, which attempts had to be
// given up, and what would have commuted. It is empty if there is nothing to
// tell.
func Sentence(r *pb.Receipt) string {
	if r == nil {
		return ""
	}
	var says []string
	told := r.Abort
	if r.WaitedUs > 0 {
		says = append(says, waited(r))
		told = r.Wait
	}
	if r.Aborted > 0 {
		says = append(says, givenUp(r))
	}
	if told != nil {
		says = append(says, commuted(told)...)
	}
	return strings.Join(says, " ")
}

// WouldCommute says in words what would have commuted, empty if nothing would or if
// it is not known. Where both sides did the same it is said of one.
func WouldCommute(c *pb.Conflict) string {
	if len(c.Commutes) == 0 {
		return ""
	}
	says := commuted(c)
	if len(says) > 1 && set(c.Operations) == set(c.HolderOperations) && c.Lock == c.HolderLock {
		says = says[:1]
	}
	return strings.Join(says, " ")
}

// waited says for how long and for what.
func waited(r *pb.Receipt) string {
	c := r.Wait
	if c == nil { // of an older server
		c = &pb.Conflict{Key: r.Key, Holder: r.Holder}
	}
	long, key, had := wait(r.WaitedUs), named(c.Key), "had to wait"
	head := "Waited " + long
	if r.Waiting {
		head, had = "Was still waiting after "+long, "has to wait"
	}
	mine, theirs := noun(c.Operations, c.Mode, c.Lock), phrase(c.HolderOperations, c.HolderMode, c.HolderLock)
	other := holder(c.Holder)
	more := ""
	if c.Others > 0 {
		more = fmt.Sprintf(", and for %d more", c.Others)
	}
	switch c.Cause {
	case pb.Cause_CAUSE_LOCK:
		return fmt.Sprintf("%s for %s: the %s %s for %s, which had locked it for %s%s.", head, key, mine, had, other, theirs, more)
	case pb.Cause_CAUSE_RANGE:
		return fmt.Sprintf("%s for %s: the %s %s for %s, which had locked a range with that key for %s%s.", head, key, mine, had, other, theirs, more)
	case pb.Cause_CAUSE_QUEUE:
		return fmt.Sprintf("%s for %s: the %s %s until %s, which is older and came first in the queue, was through with %s%s.", head, key, mine, had, other, theirs, more)
	case pb.Cause_CAUSE_READERS:
		return fmt.Sprintf("%s for %s: the %s %s for its readers, which are read-only transactions that are open, or scans and snapshots that begin.", head, key, mine, had)
	case pb.Cause_CAUSE_UPDATE:
		return fmt.Sprintf("%s for %s: the %s %s for %s, which was about to commit %s%s.", head, key, mine, had, other, theirs, more)
	case pb.Cause_CAUSE_FORGOTTEN:
		return fmt.Sprintf("%s: a shard had restarted, and lets nobody write until the read-only transactions that may have been open before have ended.", head)
	}
	switch {
	case !c.Holder.IsZero():
		return fmt.Sprintf("%s for %s, behind %s.", head, key, other)
	case r.Waiting:
		return fmt.Sprintf("The time was over after %s; no shard has told what the transaction waited for.", long)
	}
	return head + "; it is not known for what."
}

// givenUp says how many attempts others ended, and why the last one was.
func givenUp(r *pb.Receipt) string {
	head := "1 attempt was given up"
	if r.Aborted > 1 {
		head = fmt.Sprintf("%d attempts were given up, the last one", r.Aborted)
	}
	c := r.Abort
	if c == nil {
		c = &pb.Conflict{}
	}
	mine, theirs := phrase(c.Operations, c.Mode, c.Lock), phrase(c.HolderOperations, c.HolderMode, c.HolderLock)
	switch {
	case c.Cause == pb.Cause_CAUSE_WOUND && len(c.Key) > 0:
		return fmt.Sprintf("%s because %s, which is older and so goes first, needed %s for %s, and this one had it locked for %s.", head, holder(c.Holder), named(c.Key), theirs, mine)
	case c.Cause == pb.Cause_CAUSE_WOUND:
		return fmt.Sprintf("%s because %s, which is older and so goes first, needed a key that this one had locked.", head, holder(c.Holder))
	case c.Cause == pb.Cause_CAUSE_CHANGED:
		return fmt.Sprintf("%s because another transaction changed %s after this one had read it.", head, named(c.Key))
	}
	why, known := reasons[r.Reason]
	if !known {
		why = "of another transaction"
	}
	return fmt.Sprintf("%s because %s.", head, why)
}

// reasons say why attempts end of which nothing more is known.
var reasons = map[string]string{
	"wounded":     "an older transaction, which goes first, needed a key that this one had locked",
	"stale-read":  "another transaction changed what this one had read",
	"stale-grant": "a lock that this one had read under was lost",
}

// commuted says what would have commuted. Nothing is said of what is not known,
// nor where no operation is at fault.
func commuted(c *pb.Conflict) (says []string) {
	mine, theirs := set(c.Operations), set(c.HolderOperations)
	if mine == 0 || theirs == 0 {
		return nil
	}
	for i := range c.Commutes {
		if s := typed(c, &c.Commutes[i]); s != "" {
			says = append(says, s)
		}
	}
	for _, a := range adt.Advise(mine, theirs) {
		says = append(says, advice(c, &a))
	}
	if len(says) == 0 {
		says = append(says, fmt.Sprintf("Nothing that does the same would have commuted: %s and %s exclude each other, so the shorter the transactions, the shorter the wait.",
			mine.PhraseOf(words(c.Lock)), theirs.PhraseOf(words(c.HolderLock))))
	}
	return says
}

// typed says what would have commuted of a data type's methods; it is empty if
// the advice is about other operations. The server has told all of it, since the
// type may be one that only servers know.
func typed(c *pb.Conflict, a *pb.Advice) string {
	kind, holderKind := words(c.Lock), words(c.HolderLock)
	typ, _, _ := strings.Cut(c.Lock, ".")
	apart := ""
	if a.Apart {
		apart = " and about another part of the " + typ
	}
	switch {
	case a.Method != "":
		return fmt.Sprintf("With %s in the place of the %s there would have been no conflict, if that is enough%s.", methodName(a.Method), kind, apart)
	case a.HolderMethod != "":
		return fmt.Sprintf("With %s in the place of the other one's %s there would have been no conflict, if that is enough%s.", methodName(a.HolderMethod), holderKind, apart)
	case a.Apart:
		return fmt.Sprintf("They would have commuted if they had been about different parts of the %s.", typ)
	}
	return ""
}

// methodName is the method of a type's full name of it: "contains".
func methodName(full string) string {
	_, name, _ := strings.Cut(full, ".")
	return name
}

// words says what a kind of lock is, as an operation: "add on a set" of
// "set.add". It is empty if there is none.
func words(lock string) string {
	typ, kind, ok := strings.Cut(lock, ".")
	if !ok {
		return ""
	}
	return adt.KindWords(typ, kind)
}

// noun says what operations are, after a "the". Of what is not known, the mode
// tells at least something.
func noun(ops []pb.Operation, mode pb.LockMode, lock string) string {
	if lock != "" || len(ops) > 0 {
		return set(ops).NounOf(words(lock))
	}
	return set(ops).Noun(known(mode))
}

// phrase is noun with an article.
func phrase(ops []pb.Operation, mode pb.LockMode, lock string) string {
	if lock != "" || len(ops) > 0 {
		return set(ops).PhraseOf(words(lock))
	}
	return set(ops).Phrase(known(mode))
}

// known is the mode for any key that a lock mode is; those of data types have
// their names.
func known(m pb.LockMode) adt.Mode {
	if m < 0 || m >= pb.LockMode_LOCK_TYPED {
		return adt.ModeNone
	}
	return adt.Mode(m)
}

func advice(c *pb.Conflict, a *adt.Advice) string {
	mine, theirs := set(c.Operations), set(c.HolderOperations)
	m, h := a.Of(mine, theirs)
	here, there := mine.NounOf(words(c.Lock)), theirs.NounOf(words(c.HolderLock))
	with, provided := "", a.IfMine
	switch {
	case a.Theirs == adt.MethodNone:
		with = fmt.Sprintf("%s in the place of the %s", m.Phrase(adt.ModeNone), here)
	case a.Mine == adt.MethodNone:
		with = fmt.Sprintf("%s in the place of the other one's %s", h.Phrase(adt.ModeNone), there)
		provided = a.IfTheirs
	case a.Mine == a.Theirs:
		with = m.Phrase(adt.ModeNone) + " in the place of both"
	default:
		with = fmt.Sprintf("%s in the place of the %s, and %s in the place of the other one's %s", m.Phrase(adt.ModeNone), here, h.Phrase(adt.ModeNone), there)
	}
	if a.Mine != adt.MethodNone && a.Theirs != adt.MethodNone && a.IfTheirs != a.IfMine {
		provided += " and, on the other side, " + a.IfTheirs
	}
	return fmt.Sprintf("With %s there would have been no conflict, if %s: %s.", with, provided, adt.Together(m, h))
}

// set is the methods that operations are. Operations and methods have the same
// numbers.
func set(ops []pb.Operation) (out adt.Methods) {
	for _, op := range ops {
		if op > 0 && op < 32 {
			out |= adt.Method(op).Set()
		}
	}
	return out
}

// named is a key in words.
func named(key []byte) string {
	if len(key) > maxShownKey {
		return fmt.Sprintf("key %q...", key[:maxShownKey])
	}
	return fmt.Sprintf("key %q", key)
}

func wait(us uint64) string {
	if us < 10_000 {
		return fmt.Sprintf("%d us", us)
	}
	return fmt.Sprintf("%d ms", us/1000)
}

// holder names a transaction; who may not know which it is, has a zero id.
func holder(id kv.TxnID) string {
	if id.IsZero() {
		return "another transaction"
	}
	return "transaction " + id.String()
}
