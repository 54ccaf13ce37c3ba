package detail

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// LeastWait is the shortest wait that a sentence reports.
const LeastWait = time.Millisecond

// Sentence describes a receipt in English, for a reader who knows the operations and not the
// protocol: the longest wait, its cause, the aborted attempts, and one advice. It is empty if the
// wait is shorter than LeastWait and no attempt was aborted.
func Sentence(r *pb.Receipt) string {
	if r == nil {
		return ""
	}
	var parts []string
	main := r.Abort
	if r.WaitedUs >= uint64(LeastWait.Microseconds()) {
		parts = append(parts, waited(r))
		main = r.Wait
	}
	if r.Aborted > 0 {
		parts = append(parts, aborted(r))
	}
	if main != nil {
		if a := advice(main); a != "" {
			parts = append(parts, a)
		}
	}
	return strings.Join(parts, " ")
}

// Advice describes in one sentence how to avoid a conflict. It is empty if there is no way, or if it is
// not known.
func Advice(c *pb.Conflict) string {
	if c.Advice == nil && !c.Interactive && !c.HolderInteractive && !areMoves(mine(c), theirs(c)) {
		return ""
	}
	return advice(c)
}

// waited describes the wait and its cause.
func waited(r *pb.Receipt) string {
	c := r.Wait
	if c == nil {
		c = &pb.Conflict{}
	}
	long := Duration(time.Duration(r.WaitedUs) * time.Microsecond)
	head := "Waited " + long
	if r.Waiting {
		head = "Still waiting after " + long
	}
	cause := waitCause(c)
	switch {
	case cause != "":
		return head + forKey(c.Key) + ": " + cause + "."
	case r.Waiting:
		return fmt.Sprintf("Timed out after waiting %s; no shard reported the cause.", long)
	}
	return head + forKey(c.Key) + "; the cause is not known."
}

// waitCause describes what the transaction waited for; empty if it is not known.
func waitCause(c *pb.Conflict) string {
	mine, theirs, other := "the "+mine(c).noun(), theirs(c).phrase(), holder(c)
	more := ""
	if c.Others > 0 {
		more = fmt.Sprintf(", and with %d more", c.Others)
	}
	switch c.Cause {
	case pb.Cause_CAUSE_LOCK:
		return fmt.Sprintf("%s conflicts with %s of %s%s", mine, theirs, other, more)
	case pb.Cause_CAUSE_RANGE:
		return fmt.Sprintf("%s conflicts with a range lock of %s, for %s%s", mine, other, theirs, more)
	case pb.Cause_CAUSE_QUEUE:
		return fmt.Sprintf("%s is queued behind %s of %s, which is older%s", mine, theirs, other, more)
	case pb.Cause_CAUSE_READERS:
		return mine + " is blocked by readers: open read-only transactions, or reads of several shards in flight"
	case pb.Cause_CAUSE_SNAPSHOT:
		return mine + " is blocked by a snapshot of all shards: of the history (--history-every), for a scan or for a View"
	case pb.Cause_CAUSE_INTENT:
		return fmt.Sprintf("%s is blocked by %s, which is committing %s%s", mine, other, theirs, more)
	case pb.Cause_CAUSE_RECOVERY:
		return "after its restart a shard delays writes until the read-only transactions from before have timed out"
	}
	if !c.Holder.IsZero() {
		return other + " was ahead"
	}
	return ""
}

// aborted describes how many attempts a conflict aborted, and why the last one.
func aborted(r *pb.Receipt) string {
	head := "1 attempt was aborted"
	if r.Aborted > 1 {
		head = fmt.Sprintf("%d attempts were aborted, the last one", r.Aborted)
	}
	return head + " because " + abortCause(r) + "."
}

func abortCause(r *pb.Receipt) string {
	c := r.Abort
	if c == nil {
		c = &pb.Conflict{}
	}
	switch {
	case c.Cause == pb.Cause_CAUSE_WOUND && len(c.Key) > 0:
		return fmt.Sprintf("%s, which is older, needed %s for %s, which conflicts with %s of this transaction",
			holder(c), named(c.Key), theirs(c).phrase(), mine(c).phrase())
	case c.Cause == pb.Cause_CAUSE_WOUND:
		return fmt.Sprintf("%s, which is older, needed a key that this transaction had locked", holder(c))
	case c.Cause == pb.Cause_CAUSE_CHANGED:
		return fmt.Sprintf("another transaction changed %s after this one had read it", named(c.Key))
	}
	if cause, ok := abortCauses[r.Reason]; ok {
		return cause
	}
	return "of a conflict with another transaction"
}

// abortCauses are the causes by Receipt.reason, for aborts without a conflict.
var abortCauses = map[string]string{
	"wounded":     "an older transaction needed a key that this one had locked",
	"stale-read":  "another transaction changed a key that this one had read",
	"stale-grant": "the shard lost a lock of this transaction",
}

// side is one of the two sides of a conflict.
type side struct {
	methods adt.Methods
	// calls are the full names of methods of data types.
	calls []string
	mode  adt.Mode
	// typed are the operations on a data type in words, such as "add on a set"; empty if there are
	// none.
	typed string
}

func mine(c *pb.Conflict) side { return sideOf(c.Operations, c.Lock) }

func theirs(c *pb.Conflict) side { return sideOf(c.HolderOperations, c.HolderLock) }

func sideOf(operations []string, lock string) side {
	methods, calls := adt.ParseMethods(operations)
	return side{methods, calls, adt.ParseMode(lock), typed(lock, calls)}
}

// typed names the methods that were called, or if they are not known those that need the lock: "add on
// a set" of "set.add".
func typed(lock string, calls []string) string {
	if len(calls) > 0 {
		return adt.DescribeCalls(calls)
	}
	typ, kind, ok := strings.Cut(lock, ".")
	if !ok {
		return ""
	}
	return adt.DescribeKind(typ, kind)
}

// noun names the operations, to follow a "the". If they are not known it names the lock.
func (s side) noun() string {
	if s.typed != "" || s.methods != 0 {
		return s.methods.NounOf(s.typed)
	}
	return s.methods.Noun(s.mode)
}

// phrase is noun with an indefinite article.
func (s side) phrase() string {
	if s.typed != "" || s.methods != 0 {
		return s.methods.PhraseOf(s.typed)
	}
	return s.methods.Phrase(s.mode)
}

// advice describes in one sentence how to avoid a conflict. It is empty if the operations are not known,
// or are not the cause.
func advice(c *pb.Conflict) string {
	a, b := mine(c), theirs(c)
	if c.Cause == pb.Cause_CAUSE_CHANGED && c.Interactive && a.methods != 0 {
		return "Send this transaction as a one-shot, or use an add if the key is only incremented."
	}
	if a.methods == 0 || b.methods == 0 || c.Cause == pb.Cause_CAUSE_SNAPSHOT {
		return ""
	}
	if c.Cause == pb.Cause_CAUSE_INTENT { // a reader waits for every update that it does not commute with
		return "Use a snapshot read if a slightly older state is sufficient: it never waits for a commit."
	}
	if areMoves(a, b) {
		return nearBound(c)
	}
	replace := replacement(c)
	if c.Advice != nil && isTyped(c.Advice) {
		replace = typedReplacement(c, c.Advice)
	}
	send := oneShot(c)
	switch {
	case send != "" && replace != "":
		return fmt.Sprintf("%s, or %s.", send, replace)
	case send != "":
		return fmt.Sprintf("%s: %s and %s do not commute.", send, a.phrase(), b.phrase())
	case replace != "":
		return strings.ToUpper(replace[:1]) + replace[1:] + "."
	}
	s := fmt.Sprintf("%s and %s do not commute: keep the transactions short.", a.phrase(), b.phrase())
	return strings.ToUpper(s[:1]) + s[1:]
}

// nearBound explains why two moves of a bounded counter conflict. Those of an interactive transaction do
// wherever the counter is, because their results are returned before the commit. A node of an earlier
// version reports no shortage.
func nearBound(c *pb.Conflict) string {
	s, send := c.Shortage, oneShot(c)
	switch {
	case s == nil && send != "":
		return send + ": then the two commute, unless the counter is near its bound."
	case s == nil:
		return "The counter is near its bound: too little is left for both operations, so their order matters."
	case s.Requested == 0:
		return fmt.Sprintf("The counter is near its bound: the amount certain to be left was %d, and the other "+
			"transaction requested more.", s.Left)
	}
	return fmt.Sprintf("The counter is near its bound: the amount certain to be left was %d, and this transaction "+
		"requested %d.", s.Left, s.Requested)
}

// areMoves reports whether both sides move a bounded counter. These operations commute, except near a
// bound.
func areMoves(a, b side) bool {
	return len(a.calls) > 0 && len(b.calls) > 0 && allMoves(a.calls) && allMoves(b.calls)
}

func allMoves(calls []string) bool {
	return !slices.ContainsFunc(calls, func(call string) bool {
		typ, method, _ := strings.Cut(call, ".")
		return typ != "bounded-counter" || method == "create" || method == "get"
	})
}

// oneShot advises to send the interactive sides as one-shots.
func oneShot(c *pb.Conflict) string {
	switch {
	case c.Interactive && c.HolderInteractive:
		return "Send both transactions as one-shots"
	case c.Interactive:
		return "Send this transaction as a one-shot"
	case c.HolderInteractive:
		return "Send that transaction as a one-shot"
	}
	return ""
}

// whose refers to the holder, which oneShot has named or not.
func whose(c *pb.Conflict) string {
	if c.HolderInteractive && !c.Interactive {
		return "its"
	}
	return "the other transaction's"
}

// isTyped reports whether the advice is about methods of a data type. All of it comes from the
// server, because this program may not have the type.
func isTyped(a *pb.Advice) bool {
	return a.Apart || strings.Contains(a.Instead, ".") || strings.Contains(a.HolderInstead, ".")
}

// typedReplacement advises a method of a data type, or operations on different parts of the value.
func typedReplacement(c *pb.Conflict, a *pb.Advice) string {
	typ, _, _ := strings.Cut(c.Lock, ".")
	provided := " if that is sufficient"
	if a.Apart {
		provided += " and concerns another part of the " + typ
	}
	switch {
	case a.Instead != "":
		return fmt.Sprintf("replace the %s with %s", mine(c).noun(), methodName(a.Instead)) + provided
	case a.HolderInstead != "":
		return fmt.Sprintf("replace %s %s with %s", whose(c), theirs(c).noun(), methodName(a.HolderInstead)) + provided
	}
	return fmt.Sprintf("use different parts of the %s, which commute", typ)
}

// methodName is the method of a type's full name of it: "contains".
func methodName(full string) string {
	_, name, _ := strings.Cut(full, ".")
	return name
}

// replacement advises operations that commute, and says when they can be used and why they commute. It is
// empty if there are none.
func replacement(c *pb.Conflict) string {
	mine, theirs := mine(c), theirs(c)
	a, ok := adt.Advise(mine.methods, theirs.methods)
	if !ok {
		return ""
	}
	m, h := a.Of(mine.methods, theirs.methods)
	replace, provided := "", a.IfMine
	switch {
	case a.Theirs == adt.MethodNone:
		replace = fmt.Sprintf("replace the %s with %s", mine.noun(), m.Phrase(adt.ModeNone))
	case a.Mine == adt.MethodNone:
		replace = fmt.Sprintf("replace %s %s with %s", whose(c), theirs.noun(), h.Phrase(adt.ModeNone))
		provided = a.IfTheirs
	case a.Mine == a.Theirs:
		replace = fmt.Sprintf("replace both with %s", m.Phrase(adt.ModeNone))
	default:
		replace = fmt.Sprintf("replace the %s with %s, and the other transaction's %s with %s",
			mine.noun(), m.Phrase(adt.ModeNone), theirs.noun(), h.Phrase(adt.ModeNone))
	}
	if a.Mine != adt.MethodNone && a.Theirs != adt.MethodNone && a.IfTheirs != a.IfMine {
		provided += " and, on the other side, " + a.IfTheirs
	}
	return fmt.Sprintf("%s if %s: %s", replace, provided, adt.WhyCompatible(m, h))
}

// forKey is " for key ...", or empty for no key.
func forKey(key []byte) string {
	if len(key) == 0 {
		return ""
	}
	return " for " + named(key)
}

// named is a key in a sentence, cut to maxShownKey bytes.
func named(key []byte) string {
	if len(key) > maxShownKey {
		return fmt.Sprintf("key %q...", key[:maxShownKey])
	}
	return fmt.Sprintf("key %q", key)
}

// Duration formats a duration for people: in µs below 1 ms, in ms below 10 s, else in s. ms and s have
// three significant digits, without trailing zeros.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return digits(d.Seconds()) + " s"
}

// digits formats a number of 1 or more.
func digits(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// holder names the other transaction; a zero id is not known.
func holder(c *pb.Conflict) string {
	switch {
	case c.Holder.IsZero():
		return "another transaction"
	case c.HolderOwn:
		return "this client's own transaction " + c.Holder.String()
	}
	return "transaction " + c.Holder.String()
}
