package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/console"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/test/console/browser"
)

// node is a source of one node with few values that are not zero. With an error, it can neither list snapshots nor
// reach the hot shard.
type node struct {
	err   error
	waits atomic.Uint64
}

var cutOff = &node{err: errors.New("it does not answer")}

func (*node) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{NodeId: 1, ClusterId: "test", Members: []pb.Member{{NodeId: 1, Up: true, Self: true}}}, nil
}

func (n *node) HotKeys(context.Context, *pb.HotKeysRequest) (*pb.HotKeysResponse, error) {
	return &pb.HotKeysResponse{Moves: []pb.HotMove{{Key: []byte("hot")}}, Keys: []pb.HotKey{
		{Key: []byte("hot"), ConflictsPerS: 1}, {Key: []byte("moving"), Moving: true}}}, n.err
}

func (n *node) Activity(context.Context, *pb.ActivityRequest) (*pb.ActivityResponse, error) {
	waits := n.waits.Add(1)
	return &pb.ActivityResponse{NodeId: 1,
		Shards:   []pb.ShardStatus{{NodeId: 1, Term: 1, Replicas: []pb.ReplicaStatus{{NodeId: 1}}}},
		Seconds:  []pb.ActivitySecond{{TimeS: time.Now().Unix() - 3, Classes: []pb.ActivityClass{{Kind: "scan"}}}},
		Receipts: []pb.RecentReceipt{{Kind: "scan"}, {Kind: "scan", Receipt: &pb.Receipt{Abort: &pb.Conflict{}}}},
		Waits:    []pb.CurrentWait{{}, {Wait: &pb.Conflict{}}, {Wait: &pb.Conflict{Cause: pb.Cause_CAUSE_READERS}}},
		Conflicts: []pb.KeyConflict{{Key: []byte("a"), Operations: "value.put", HolderOperations: "get", Waits: waits,
			WaitedUs: 9000}, {Key: []byte("b"), Operations: "get", Waits: waits}}}, nil
}

func (n *node) ListSnapshots(context.Context, *pb.ListSnapshotsRequest) (*pb.ListSnapshotsResponse, error) {
	return &pb.ListSnapshotsResponse{Snapshots: []pb.Snapshot{{Id: "@1"}}}, n.err
}

// gate is a server of a console that can reject requests, or stop responding without closing
// connections, like a node whose machine has failed.
type gate struct {
	*httptest.Server
	refuses, silent atomic.Bool
}

func open(t *testing.T, from *node) *gate {
	t.Helper()
	g := &gate{}
	c := console.New(from, func(context.Context) error {
		if g.refuses.Load() {
			return errors.New("refused")
		}
		return nil
	})
	over := make(chan struct{})
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.refuses.Load() {
			http.Error(w, "the token has expired", http.StatusUnauthorized)
			return
		}
		c.ServeHTTP(&held{ResponseWriter: w, g: g, until: over, gone: r.Context().Done()}, r)
	}))
	t.Cleanup(func() {
		close(over)
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

// held is a response that blocks while the gate is silent.
type held struct {
	http.ResponseWriter
	g           *gate
	until, gone <-chan struct{}
}

func (h *held) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *held) Write(b []byte) (int, error) {
	if h.g.silent.Load() {
		select {
		case <-h.until:
		case <-h.gone:
		}
	}
	return h.ResponseWriter.Write(b)
}

// TestZeroValuesAreShown: as 0 or not at all, though JSON omits them.
func TestZeroValuesAreShown(t *testing.T) {
	g, b := open(t, &node{}), browser.Open(t)
	b.Do(chromedp.Navigate(g.URL + "/console/"))
	b.Until(`document.querySelector("#rate .line") !== null`, 20*time.Second)
	for selector, want := range map[string][]string{"#keys .key-name": {"a", "hot", "b", "moving"},
		"#keys li:nth-child(even) .facts": {"on the hot shard s0", "on shard s0"}, "#keys-note": {"hot shard s0 0 % busy"},
		"#moves .tag, #nodes .chip": {"s0 → s0, home", "s0"}, "#receipts .amount": {"0 aborts", "0 aborts"},
		"#nodes .facts": {"up 0 s · leads 1 shard · 0 KiB on disk · 0 transactions in flight"}} {
		require.Equal(t, want, browser.Eval[[]string](b,
			`[...document.querySelectorAll("`+selector+`")].map((n) => n.textContent)`), selector)
	}
	require.Equal(t, 3, browser.Eval[int](b, `document.querySelectorAll("#waits .edge").length`))
	require.Empty(t, browser.Eval[[]string](b,
		`document.body.outerHTML.match(/.{0,80}(undefined|NaN|null|Infinity).{0,20}/g) ?? []`))
	b.Silent()
}

const (
	state     = `document.body.dataset.state`
	stateText = `document.getElementById("state-text").textContent`
)

// TestConsoleDetectsASilentNode: no connection breaks when a machine fails, and the page
// must not stay live.
func TestConsoleDetectsASilentNode(t *testing.T) {
	g, b := open(t, cutOff), browser.Open(t)
	b.Look(360, "dark")
	b.Do(chromedp.Navigate(g.URL + "/console/"))
	b.Until(state+` === "live"`, 20*time.Second)
	g.silent.Store(true)
	b.Until(state+` === "lost"`, 20*time.Second)
	require.Contains(t, browser.Eval[string](b, stateText), "No response since")
	require.LessOrEqual(t, browser.Eval[int](b, `document.documentElement.scrollWidth`), 360)
	g.silent.Store(false)
	b.Until(state+` === "live"`, 30*time.Second)
	b.Silent()
}

// TestConsoleShowsWhyItIsRejected, and how to sign in.
func TestConsoleShowsWhyItIsRejected(t *testing.T) {
	g, b := open(t, cutOff), browser.Open(t)
	b.Look(360, "light")
	b.Do(chromedp.Navigate(g.URL + "/console/"))
	b.Until(state+` === "live"`, 20*time.Second)
	g.refuses.Store(true)
	b.Until(stateText+` === "Rejected: the token has expired. Reload the page to sign in; retrying"`, 20*time.Second)
	require.LessOrEqual(t, browser.Eval[int](b, `document.documentElement.scrollWidth`), 360)
	g.refuses.Store(false)
	b.Until(state+` === "live"`, 30*time.Second)
}

// TestStatusDoesNotChangeEachSecond: a screen reader reads each change of a status.
func TestStatusDoesNotChangeEachSecond(t *testing.T) {
	g, b := open(t, cutOff), browser.Open(t)
	b.Do(chromedp.Navigate(g.URL + "/console/"))
	b.Until(state+` === "live"`, 20*time.Second)
	require.True(t, browser.Eval[bool](b, `(() => {
		window.changes = 0;
		const status = [...document.querySelectorAll("[role=status], [aria-live], [role=alert]")];
		for (const n of status) new MutationObserver(() => window.changes++)
			.observe(n, { childList: true, characterData: true, subtree: true });
		return status.length > 0;
	})()`))
	cell := `document.querySelector("#conflicts small").textContent`
	before := browser.Eval[string](b, cell)
	b.Until(cell+` !== `+`"`+before+`"`, 20*time.Second)
	require.Zero(t, browser.Eval[int](b, `window.changes`))
	b.Silent()
}

// TestUnavailableListsAreNotShownAsEmpty: moves and snapshots.
func TestUnavailableListsAreNotShownAsEmpty(t *testing.T) {
	g, b := open(t, cutOff), browser.Open(t)
	b.Do(chromedp.Navigate(g.URL + "/console/"))
	b.Until(state+` === "live"`, 20*time.Second)
	require.Equal(t, "Not available: snapshots could not be listed",
		browser.Eval[string](b, `document.getElementById("snapshots-empty").innerText`))
	require.Equal(t, "Not available: the hot shard did not respond",
		browser.Eval[string](b, `document.getElementById("moves-empty").innerText`))
}

// TestClickedCellDoesNotPauseTheMatrix, and its text stays.
func TestClickedCellDoesNotPauseTheMatrix(t *testing.T) {
	g, b := open(t, cutOff), browser.Open(t)
	b.Do(chromedp.Navigate(g.URL + "/console/"))
	b.Until(`document.querySelectorAll("#conflicts td button").length === 2`, 20*time.Second)
	second := `document.querySelectorAll("#conflicts td button")[1]`
	at := browser.Eval[[]float64](b, `(() => { // a place, as the button is a new one with each update
		`+second+`.scrollIntoView({ block: "center" });
		const r = `+second+`.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})()`)
	b.Do(chromedp.MouseClickXY(at[0], at[1]), chromedp.MouseEvent("mouseMoved", 1, 1))
	before := browser.Eval[string](b, second+`.textContent`)
	b.Until(second+`.textContent !== "`+before+`"`, 20*time.Second)
	b.Until(`document.getElementById("conflicts-read").textContent.startsWith("get against unknown")`, 20*time.Second)
}

// TestHottestCellHasContrast: its texts have the contrast that WCAG requires of small texts,
// 4.5 to 1, in both themes.
func TestHottestCellHasContrast(t *testing.T) {
	g, b := open(t, cutOff), browser.Open(t)
	b.Do(chromedp.Navigate(g.URL + "/console/"))
	for _, scheme := range []string{"light", "dark"} {
		b.Look(390, scheme)
		b.Until(`document.querySelector("#conflicts td button") !== null`, 20*time.Second)
		got := browser.Eval[float64](b, `(() => {
			const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
			const over = (...colours) => {
				for (const c of colours) { canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); }
				const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data]
					.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
				return 0.2126 * r + 0.7152 * g + 0.0722 * b;
			};
			const button = document.querySelector("#conflicts td button");
			const ground = getComputedStyle(button).backgroundColor;
			const ratios = [...button.children].map((n) => {
				const [x, y] = [over(ground), over(ground, getComputedStyle(n).color)].sort((a, b) => b - a);
				return (x + 0.05) / (y + 0.05);
			});
			return Math.min(...ratios);
		})()`)
		require.GreaterOrEqual(t, got, 4.5, scheme)
		t.Logf("%s: %.1f", scheme, got)
	}
}
