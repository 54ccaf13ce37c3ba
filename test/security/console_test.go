package security

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/console"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/users"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// startLockWait makes one transaction of root wait for a lock of another one until end is called.
func (c *cluster) startLockWait() (holder, waiter client.TxID, end func()) {
	c.t.Helper()
	root := c.openAs(0, users.Root)
	lock := func(ctx context.Context, tx *client.Tx) error {
		_, _, err := tx.GetForUpdate(ctx, "hot")
		return err
	}
	holder, commit := proc.Hold(c.t, root, lock)
	began, ended := make(chan client.TxID, 1), make(chan error, 1)
	go func() {
		ended <- root.Update(proc.Context(c.t), func(ctx context.Context, tx *client.Tx) error {
			if tx.Attempt() == 1 {
				began <- tx.ID()
			}
			return lock(ctx, tx)
		})
	}()
	return holder, <-began, func() {
		require.NoError(c.t, commit())
		require.NoError(c.t, <-ended)
	}
}

// awaitWait waits until a user's view of the activity has a waiting transaction, and returns it.
func (c *cluster) awaitWait(name string) (w admin.Wait) {
	c.t.Helper()
	as := c.admin(0, name)
	retryUntilOK(c.t, func() error {
		for node := range c.nodes {
			a, err := as.Activity(proc.Context(c.t), admin.ActivityOptions{Node: node + 1, MaxWaits: 10})
			if err != nil {
				return err
			}
			if len(a.Waits) > 0 {
				w = a.Waits[0]
				return nil
			}
		}
		return kv.Errorf(kv.KindNotFound, "no transaction waits")
	})
	return w
}

// TestMonitorsSeeNoTransactionIDs: the activity and the receipts hide transaction ids from monitors,
// because with an id a user can query the outcome, with the values read, and abort the transaction.
func TestMonitorsSeeNoTransactionIDs(t *testing.T) {
	c := start(t, 2, nil)
	c.createUser("watcher", admin.Rights{Monitor: true})
	holder, waiter, end := c.startLockWait()
	seen := c.awaitWait(users.Root)
	require.Equal(t, holder, seen.Conflict.Holder)
	require.Equal(t, waiter, seen.TxID)
	masked := c.awaitWait("watcher")
	require.Equal(t, "hot", masked.Conflict.Key)
	require.NotEqual(t, holder, masked.Conflict.Holder)
	require.NotEqual(t, waiter, masked.TxID)
	require.Equal(t, masked.Conflict.Holder, c.awaitWait("watcher").Conflict.Holder, "masked ids are stable")
	end()
	wire := pb.NewAdminClient(c.dial(0, "watcher")) // its messages have everything that the node sends
	retryUntilOK(t, func() error {
		a, err := wire.Activity(proc.Context(t), &pb.ActivityRequest{MaxReceipts: 10})
		if err != nil {
			return err
		}
		if len(a.Receipts) == 0 {
			return kv.Errorf(kv.KindNotFound, "no receipt")
		}
		text := a.String()
		require.NotContains(t, text, holder.String(), "the sentence hides it too")
		require.NotEqual(t, waiter.String(), a.Receipts[0].TxnId.String())
		require.Contains(t, a.Receipts[0].Receipt.Sentence, a.Receipts[0].Receipt.Wait.Holder.String())
		return nil
	})
}

// TestConsoleNeedsMonitorRole: the console is shown to monitors that authenticate with name and token as
// browsers do, without transaction ids. When the role is revoked, the event stream ends.
func TestConsoleNeedsMonitorRole(t *testing.T) {
	c := start(t, 2, nil)
	token := c.createUser("watcher", admin.Rights{Monitor: true})
	other := c.createUser("alice", admin.Rights{Grants: writes("")})
	holder, waiter, end := c.startLockWait()
	defer end()
	c.awaitWait(users.Root)
	url := "https://" + c.nodes[0].HTTPAddr() + "/console/"
	get := func(path, user, password string) *http.Response {
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: c.config("")(), DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(proc.Context(t), http.MethodGet, url+path, nil)
		require.NoError(t, err)
		if user != "" {
			r.SetBasicAuth(user, password)
		}
		resp, err := web.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	for _, path := range []string{"", "app.js", "api/v1/snapshot", "api/v1/events"} {
		require.Equal(t, http.StatusUnauthorized, get(path, "", "").StatusCode, path)
		require.Equal(t, http.StatusForbidden, get(path, "alice", other).StatusCode, path)
	}
	var d console.Document
	retryUntilOK(t, func() error {
		resp := get("api/v1/snapshot", "watcher", token)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		d = console.Document{}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&d))
		if len(d.Waits) == 0 {
			return kv.Errorf(kv.KindNotFound, "no transaction waits")
		}
		return nil
	})
	require.Equal(t, "hot", string(d.Waits[0].Wait.Key))
	require.NotEqual(t, holder.String(), d.Waits[0].Wait.Holder.String())
	require.NotEqual(t, waiter.String(), d.Waits[0].TxnId.String())

	resp := get("api/v1/events", "watcher", token)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	require.True(t, lines.Scan())
	require.True(t, strings.HasPrefix(lines.Text(), "data: "))
	_, err := c.admin(0, users.Root).RevokeUser(proc.Context(t), "watcher", admin.Rights{Monitor: true})
	require.NoError(t, err)
	for lines.Scan() {
	}
	require.NoError(t, lines.Err(), "the server ended the stream")
	require.Equal(t, http.StatusForbidden, get("api/v1/events", "watcher", token).StatusCode)
}
