// Package browser is a headless Chromium for tests of web pages.
//
//	b := browser.Open(t)
//	b.Do(chromedp.Navigate(url))
//	b.Until(`document.querySelectorAll("#nodes .up").length === 3`, 20*time.Second)
//	b.Silent()
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Tab is a tab of a headless Chromium.
type Tab struct {
	*testing.T
	ctx context.Context

	mu sync.Mutex
	// said are the messages of the page on the browser's console.
	said []string
}

// chromium is the path of the browser, or the test is skipped.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("Chromium is not installed: as root on Debian, .ci/needs chromium installs it")
	return ""
}

// Open starts a browser that can reach only this machine, with more options. Without
// Chromium the test is skipped.
func Open(t *testing.T, more ...chromedp.ExecAllocatorOption) *Tab {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	opts = append(opts, more...)
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // which root cannot have
	}
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	b := &Tab{T: t, ctx: ctx}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.said = append(b.said, fmt.Sprintf("%v: %s (%s:%d)", m.Type, m.Text, m.URL, m.Line))
			b.mu.Unlock()
		}
	}()
	return b
}

// Do runs steps, which must succeed.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	require.NoError(b, chromedp.Do(b.ctx, steps...))
}

// Look sets the width of the window in pixels, and the colour scheme of the system.
func (b *Tab) Look(width int64, scheme string) {
	b.Helper()
	b.Do(chromedp.EmulateViewport(width, 844))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	require.NoError(b, err)
}

// Eval evaluates an expression in the page.
func Eval[T any](b *Tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b, err, expression)
	return v
}

// Until waits for an expression to become true.
func (b *Tab) Until(expression string, atMost time.Duration) {
	b.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(atMost),
		chromedp.WithPollingMutation()))
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Fatalf("not true within %v: %s: %v\nmessages of the page: %q\ntext of the page: %s", atMost, expression, err,
			b.said, Eval[string](b, `document.body.innerText`))
	}
}

// Silent requires that the page has written no message to the console.
func (b *Tab) Silent() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b, b.said)
}

// Forget drops the messages of the page.
func (b *Tab) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = nil
}
