// Package console_test tests the console in a browser, with a cluster that has a hot key.
package console_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/test/console/browser"
)

// planted are the hot keys. The second is markup that would run if the page inserted it as
// markup, the third is not printable.
var planted = []string{"planted:visits", `<img src=x onerror="window.owned=1"><script>window.owned=2</script>`,
	"\x00\xff\u202e"}

// shownAs are the planted keys as the console shows them.
var shownAs = []string{planted[0], planted[1], `"\x00\xff\u202e"`}

// cluster is a cluster with load on the planted keys.
type cluster struct {
	*embed.Cluster
	db *client.DB
	// stop stops the load, then the cluster.
	stop func()
}

// start starts a cluster and the load: a few clients write the planted keys in interactive
// transactions, which hold their locks for a round trip. The first key has twice as many.
func start(t *testing.T) *cluster {
	t.Helper()
	return startWith(t, func(client int) string { return planted[client%4%len(planted)] })
}

// startWith starts a cluster and the load: keyOf is the key of a client's next transaction.
func startWith(t *testing.T, keyOf func(client int) string) *cluster {
	t.Helper()
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Listen: true, HTTP: "127.0.0.1:0",
		Version: "test"})
	require.NoError(t, err)
	db, err := client.Open(t.Context(), c.Addrs())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for ctx.Err() == nil {
				key := keyOf(i)
				err := db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
					if _, _, err := tx.GetForUpdate(ctx, key); err != nil {
						return err
					}
					return tx.Put(ctx, key, []byte("x"))
				})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	stop := sync.OnceFunc(func() {
		cancel()
		wg.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, errors.Join(db.Close(), c.Stop(ctx)))
	})
	t.Cleanup(stop)
	return &cluster{c, db, stop}
}

func (c *cluster) url() string { return "http://" + c.HTTPAddr() + "/console/" }

// has is an expression that reports whether a section shows a key, as text.
func has(section, key string) string {
	return `[...document.querySelectorAll("#` + section +
		` *")].some((n) => n.childElementCount === 0 && n.textContent === ` + strconv.Quote(key) + `)`
}

// TestHotKeyIsShown within 10 s of its first transaction, with the conflicting operations;
// and so are all other parts of the page.
func TestHotKeyIsShown(t *testing.T) {
	b := browser.Open(t)
	b.Look(1280, "light")
	began := time.Now()
	c := start(t)
	b.Do(chromedp.Navigate(c.url()))
	b.Until(has("keys", planted[0]), 10*time.Second)
	require.Less(t, time.Since(began), 10*time.Second)
	t.Logf("shown after %v", time.Since(began).Round(10*time.Millisecond))

	row := `[...document.querySelectorAll("#keys li")].find((li) => li.querySelector(".key-name").textContent === ` +
		strconv.Quote(planted[0]) + `)?.innerText`
	b.Until(row+`.includes("get-for-update waits for get-for-update")`, 20*time.Second)
	b.Until(row+`.includes("contended for ")`, 20*time.Second)
	// All planted keys have the same advice, which is shown once.
	advice := `[...document.querySelectorAll("#keys .advice")].map((p) => p.textContent).filter(Boolean)`
	b.Until(advice+`.length > 0`, 20*time.Second)
	require.Len(t, browser.Eval[[]string](b, advice), 1)
	b.Until(`document.getElementById("keys").innerText.includes("same advice as ")`, 20*time.Second)
	b.Until(row+`.includes("waiting on average")`, 20*time.Second)
	require.Contains(t, browser.Eval[string](b, `document.getElementById("nodes-note").textContent`),
		"3 of 3 nodes up · test")

	b.Until(`Number(document.getElementById("figure-rate").textContent.replace(/[^0-9.]/g, "")) > 0`, 20*time.Second)
	b.Until(`document.querySelector("#rate .line.first") !== null`, 20*time.Second)
	b.Until(`document.querySelector("#latency .line.second") !== null`, 20*time.Second)
	b.Until(`document.querySelector("#waits .edge") !== null`, 20*time.Second)
	b.Until(`document.querySelector("#conflicts td button") !== null`, 20*time.Second)
	b.Until(has("receipts", planted[0]), 20*time.Second)
	_, err := c.db.CreateSnapshot(t.Context(), "before-import", client.TTL(time.Hour))
	require.NoError(t, err)
	b.Until(has("snapshots", "before-import"), 20*time.Second)
	b.Until(`document.querySelectorAll("#nodes .up").length === 3`, 20*time.Second)
	b.Until(has("moves", planted[0]), 30*time.Second)
	b.Silent()
}

// TestKeysCannotRunCode: every key is shown as text.
func TestKeysCannotRunCode(t *testing.T) {
	b := browser.Open(t)
	b.Look(1280, "light")
	// Only the longest waits of a second are shown, which are those of the key with the most clients: each key in turn.
	c := startWith(t, func(int) string { return planted[time.Now().Unix()%int64(len(planted))] })
	b.Do(chromedp.Navigate(c.url()))
	for _, key := range shownAs {
		b.Until(has("keys", key), 20*time.Second)
		b.Until(has("receipts", key), 20*time.Second)
	}
	require.True(t, browser.Eval[bool](b, `window.owned === undefined`))
	require.Equal(t, 2, browser.Eval[int](b, `document.scripts.length`))
	require.Zero(t, browser.Eval[int](b, `document.querySelectorAll("main img, main script").length`))
	// The browser rejects the insertion of markup.
	require.Equal(t, "TypeError", browser.Eval[string](b,
		`(() => { try { document.createElement("p").innerHTML = "<b>x</b>"; return "" } catch (e) { return e.name } })()`))
	b.Forget() // its message about that
}

// TestConsoleOnAPhone: nothing is wider than the screen, and the theme is that of the system
// or the selected one.
func TestConsoleOnAPhone(t *testing.T) {
	b := browser.Open(t)
	b.Look(390, "dark")
	c := start(t)
	b.Do(chromedp.Navigate(c.url()))
	b.Until(has("keys", planted[0]), 20*time.Second)
	b.Until(`document.querySelector("#conflicts td button") !== null && document.querySelector("#receipts li") !== null`,
		20*time.Second)
	ground := `getComputedStyle(document.body).backgroundColor`
	dark := browser.Eval[string](b, ground)
	for _, width := range []int64{390, 360} {
		b.Look(width, "dark")
		require.LessOrEqual(t, browser.Eval[int](b, `document.documentElement.scrollWidth`), int(width))
		require.Empty(t, browser.Eval[[]string](b,
			`[...document.querySelectorAll("section, section > header *, .figure *")]
				.filter((n) => n.getBoundingClientRect().right > innerWidth + 0.5)
				.map((n) => n.outerHTML.slice(0, 100))`))
	}
	b.Look(390, "light")
	light := browser.Eval[string](b, ground)
	require.NotEqual(t, dark, light)
	theme := `document.getElementById("theme")`
	for _, want := range []struct{ name, ground string }{{"light", light}, {"dark", dark}, {"auto", light}} {
		require.True(t, browser.Eval[bool](b, theme+`.click() === undefined`))
		require.Equal(t, "Theme: "+want.name, browser.Eval[string](b, theme+`.textContent`))
		require.Equal(t, want.ground, browser.Eval[string](b, ground), want.name)
	}
	b.Silent()

	c.stop()
	b.Until(`document.body.dataset.state === "lost"`, 20*time.Second)
	require.Contains(t, browser.Eval[string](b, `document.getElementById("state-text").textContent`), "No response since")
}
