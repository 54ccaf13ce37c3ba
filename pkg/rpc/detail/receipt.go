package detail

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// LeastWait is the shortest wait that is reported.
const LeastWait = time.Millisecond

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
	if r.WaitedUs >= uint64(LeastWait.Microseconds()) {
		says = append(says, waited(r))
		told = r.Wait
	}
	if r.Aborted > 0 {
		says = append(says, givenUp(r))
	}
	if told != nil {
		if a := advice(told); a != "" {
			says = append(says, a)
		}
	}
	return strings.Join(says, " ")
}

// Advice says in one sentence what would have kept the two out of each other's way,
// empty if it is not known, or if nothing would.
func Advice(c *pb.Conflict) string {
	if c.Advice == nil && !c.Interactive && !c.HolderInteractive {
		return ""
	}
	return advice(c)
}

// waited says for how long and for what.
func waited(r *pb.Receipt) string {
	c := r.Wait
	if c == nil {
		c = &pb.Conflict{}
	}
	long, key, had := wait(r.WaitedUs), named(c.Key), "had to wait"
	head := "Waited " + long
	if r.Waiting {
		head, had = "Was still waiting after "+long, "has to wait"
	}
	mine, theirs := mine(c).noun(), theirs(c).phrase()
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
	case pb.Cause_CAUSE_SNAPSHOT:
		return fmt.Sprintf("%s for %s: the %s %s for a snapshot of the history, or one that a scan or a View reads.", head, key, mine, had)
	case pb.Cause_CAUSE_INTENT:
		return fmt.Sprintf("%s for %s: the %s %s for %s, which was about to commit %s%s.", head, key, mine, had, other, theirs, more)
	case pb.Cause_CAUSE_RECOVERY:
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
	mine, theirs := mine(c).phrase(), theirs(c).phrase()
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

// side is what one of the two did.
type side struct {
	methods adt.Methods
	// calls are the names of those of data types.
	calls []string
	mode  adt.Mode
	// typed says what it did with a data type, as an operation: "add on a set". It is
	// empty if it did nothing with one.
	typed string
}

func mine(c *pb.Conflict) side { return sideOf(c.Operations, c.Lock) }

func theirs(c *pb.Conflict) side { return sideOf(c.HolderOperations, c.HolderLock) }

func sideOf(operations []string, lock string) side {
	methods, calls := adt.MethodsNamed(operations)
	return side{methods, calls, adt.ModeNamed(lock), typed(lock, calls)}
}

// typed says which methods were called, or if that is not known what the kind of lock
// tells: "add on a set" of "set.add".
func typed(lock string, calls []string) string {
	if len(calls) > 0 {
		return adt.CallWords(calls)
	}
	typ, kind, ok := strings.Cut(lock, ".")
	if !ok {
		return ""
	}
	return adt.KindWords(typ, kind)
}

// noun says what it did, after a "the". Of what is not known, the mode tells at least
// something.
func (s side) noun() string {
	if s.typed != "" || s.methods != 0 {
		return s.methods.NounOf(s.typed)
	}
	return s.methods.Noun(s.mode)
}

// phrase is noun with an article.
func (s side) phrase() string {
	if s.typed != "" || s.methods != 0 {
		return s.methods.PhraseOf(s.typed)
	}
	return s.methods.Phrase(s.mode)
}

// advice says what to do about a conflict, in one sentence. Nothing is said of what is not
// known, nor where no operation is at fault.
func advice(c *pb.Conflict) string {
	a, b := mine(c), theirs(c)
	if c.Cause == pb.Cause_CAUSE_CHANGED && c.Interactive && a.methods != 0 {
		return "Send it as one request, or use an add if all that is done with the key is to count."
	}
	if a.methods == 0 || b.methods == 0 || c.Cause == pb.Cause_CAUSE_SNAPSHOT {
		return ""
	}
	if movesNearBound(a, b) {
		return "Too little is left before the bound for both, so the order matters."
	}
	use := useInstead(c)
	if c.Advice != nil && isTyped(c.Advice) {
		use = useTyped(c, c.Advice)
	}
	send := atOnce(c)
	switch {
	case send != "" && use != "":
		return fmt.Sprintf("%s, or %s.", send, use)
	case send != "":
		return fmt.Sprintf("%s: %s and %s exclude each other.", send, a.phrase(), b.phrase())
	case use != "":
		return strings.ToUpper(use[:1]) + use[1:] + "."
	}
	return fmt.Sprintf("Nothing that does the same would have commuted: %s and %s exclude each other, so the shorter the transactions, the shorter the wait.",
		a.phrase(), b.phrase())
}

// movesNearBound reports whether both move a bounded counter: then they commute, but for the want of room
// before its bound.
func movesNearBound(a, b side) bool {
	return len(a.calls) > 0 && len(b.calls) > 0 && allMoves(a.calls) && allMoves(b.calls)
}

func allMoves(calls []string) bool {
	return !slices.ContainsFunc(calls, func(call string) bool {
		typ, method, _ := strings.Cut(call, ".")
		return typ != "bounded-counter" || method == "create" || method == "get"
	})
}

// atOnce says which of the two would have kept the key for less long as one request.
func atOnce(c *pb.Conflict) string {
	switch {
	case c.Interactive && c.HolderInteractive:
		return "Send each of them as one request"
	case c.Interactive:
		return "Send it as one request"
	case c.HolderInteractive:
		return "Send the other one as one request"
	}
	return ""
}

// whose says whose operations the other's are, after atOnce has named it or not.
func whose(c *pb.Conflict) string {
	if c.HolderInteractive && !c.Interactive {
		return "its"
	}
	return "the other one's"
}

// isTyped: the advice is about methods of a data type. The server has told all of it, since
// the type may be one that only servers know.
func isTyped(a *pb.Advice) bool {
	return a.Apart || strings.Contains(a.Instead, ".") || strings.Contains(a.HolderInstead, ".")
}

// useTyped says which method to use of a data type, if that is enough.
func useTyped(c *pb.Conflict, a *pb.Advice) string {
	typ, _, _ := strings.Cut(c.Lock, ".")
	enough := " if that is enough"
	if a.Apart {
		enough += " and about another part of the " + typ
	}
	switch {
	case a.Instead != "":
		return fmt.Sprintf("use %s in the place of the %s", methodName(a.Instead), mine(c).noun()) + enough
	case a.HolderInstead != "":
		return fmt.Sprintf("use %s in the place of %s %s", methodName(a.HolderInstead), whose(c), theirs(c).noun()) + enough
	}
	return fmt.Sprintf("let the two be about different parts of the %s, which commute", typ)
}

// methodName is the method of a type's full name of it: "contains".
func methodName(full string) string {
	_, name, _ := strings.Cut(full, ".")
	return name
}

// useInstead says what to use in the place of what, when, and why that goes together; empty
// if there is nothing.
func useInstead(c *pb.Conflict) string {
	mine, theirs := mine(c), theirs(c)
	a, ok := adt.Advise(mine.methods, theirs.methods)
	if !ok {
		return ""
	}
	m, h := a.Of(mine.methods, theirs.methods)
	use, provided := "", a.IfMine
	switch {
	case a.Theirs == adt.MethodNone:
		use = fmt.Sprintf("use %s in the place of the %s", m.Phrase(adt.ModeNone), mine.noun())
	case a.Mine == adt.MethodNone:
		use = fmt.Sprintf("use %s in the place of %s %s", h.Phrase(adt.ModeNone), whose(c), theirs.noun())
		provided = a.IfTheirs
	case a.Mine == a.Theirs:
		use = fmt.Sprintf("use %s in the place of both", m.Phrase(adt.ModeNone))
	default:
		use = fmt.Sprintf("use %s in the place of the %s, and %s in the place of the other one's %s",
			m.Phrase(adt.ModeNone), mine.noun(), h.Phrase(adt.ModeNone), theirs.noun())
	}
	if a.Mine != adt.MethodNone && a.Theirs != adt.MethodNone && a.IfTheirs != a.IfMine {
		provided += " and, on the other side, " + a.IfTheirs
	}
	return fmt.Sprintf("%s if %s: %s", use, provided, adt.Together(m, h))
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
