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
)

// waits has a transaction of root wait for another one, which it names, until the
// returned function is called.
func (c *cluster) waits() (holder, waiter client.TxID, end func()) {
	c.t.Helper()
	root := c.as(0, users.Root)
	held, release, ended := make(chan client.TxID, 1), make(chan struct{}), make(chan error, 2)
	lock := func(ctx context.Context, tx *client.Tx) error {
		_, _, err := tx.GetForUpdate(ctx, "hot")
		return err
	}
	go func() {
		ended <- root.Update(soon(c.t), func(ctx context.Context, tx *client.Tx) error {
			if err := lock(ctx, tx); err != nil {
				return err
			}
			return stays(ctx, tx, held, release)
		})
	}()
	holder = begun(c.t, held, ended)
	began := make(chan client.TxID, 1)
	go func() {
		ended <- root.Update(soon(c.t), func(ctx context.Context, tx *client.Tx) error {
			if tx.Attempt() == 1 {
				began <- tx.ID()
			}
			return lock(ctx, tx)
		})
	}()
	return holder, begun(c.t, began, ended), func() {
		close(release)
		require.NoError(c.t, <-ended)
		require.NoError(c.t, <-ended)
	}
}

// stays tells which transaction it is of and keeps that open until it may end.
func stays(ctx context.Context, tx *client.Tx, held chan<- client.TxID, release <-chan struct{}) error {
	if tx.Attempt() == 1 {
		held <- tx.ID()
	}
	select {
	case <-release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begun waits until a transaction has begun, and fails the test if it ends first.
func begun(t testing.TB, began <-chan client.TxID, ended <-chan error) client.TxID {
	t.Helper()
	select {
	case id := <-began:
		return id
	case err := <-ended:
		t.Fatalf("a transaction has ended: %v", err)
		return client.TxID{}
	}
}

// whoWaits is what a user is told, when there is something to tell.
func (c *cluster) whoWaits(name string) (w admin.Wait) {
	c.t.Helper()
	as := c.admin(0, name)
	eventually(c.t, func() error {
		for node := range c.nodes {
			a, err := as.Activity(soon(c.t), admin.ActivityOptions{Node: node + 1, MaxWaits: 10})
			if err != nil {
				return err
			}
			if len(a.Waits) > 0 {
				w = a.Waits[0]
				return nil
			}
		}
		return kv.Errorf(kv.KindNotFound, "nobody waits")
	})
	return w
}

// TestWhoLooksAtTheClusterLearnsNoIDs: whoever has the id of a transaction can ask for
// its outcome, with what it read, and have it aborted by that.
func TestWhoLooksAtTheClusterLearnsNoIDs(t *testing.T) {
	c := start(t, 2, nil)
	c.made("watcher", admin.Rights{Monitor: true})
	holder, waiter, end := c.waits()
	seen := c.whoWaits(users.Root)
	require.Equal(t, holder, seen.Conflict.Holder)
	require.Equal(t, waiter, seen.TxID)
	masked := c.whoWaits("watcher")
	require.Equal(t, "hot", masked.Conflict.Key)
	require.NotEqual(t, holder, masked.Conflict.Holder)
	require.NotEqual(t, waiter, masked.TxID)
	require.Equal(t, masked.Conflict.Holder, c.whoWaits("watcher").Conflict.Holder, "it can be told from others")
	end()
	wire := pb.NewAdminClient(c.dial(0, "watcher")) // its messages have all that the node tells
	eventually(t, func() error {
		a, err := wire.Activity(soon(t), &pb.ActivityRequest{MaxReceipts: 10})
		if err != nil {
			return err
		}
		if len(a.Receipts) == 0 {
			return kv.Errorf(kv.KindNotFound, "there is no receipt")
		}
		text := a.String()
		require.NotContains(t, text, holder.String(), "not in words either")
		require.NotEqual(t, waiter.String(), a.Receipts[0].TxnId.String())
		require.Contains(t, a.Receipts[0].Receipt.Sentence, a.Receipts[0].Receipt.Wait.Holder.String())
		return nil
	})
}

// TestTheConsoleIsForMonitors: it is shown to those who may look at the cluster, by
// name and token as browsers send them, without ids, and not for longer than they may.
func TestTheConsoleIsForMonitors(t *testing.T) {
	c := start(t, 2, nil)
	token := c.made("watcher", admin.Rights{Monitor: true})
	other := c.made("alice", admin.Rights{Grants: writes("")})
	holder, waiter, end := c.waits()
	defer end()
	c.whoWaits(users.Root)
	url := "https://" + c.nodes[0].HTTPAddr() + "/console/"
	get := func(path, user, password string) *http.Response {
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: c.config("")(), DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(soon(t), http.MethodGet, url+path, nil)
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
	eventually(t, func() error {
		resp := get("api/v1/snapshot", "watcher", token)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		d = console.Document{}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&d))
		if len(d.Waits) == 0 {
			return kv.Errorf(kv.KindNotFound, "nobody waits")
		}
		return nil
	})
	require.Equal(t, "hot", d.Waits[0].Key)
	require.NotEqual(t, holder.String(), d.Waits[0].Holder)
	require.NotEqual(t, waiter.String(), d.Waits[0].Txn)

	resp := get("api/v1/events", "watcher", token)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	require.True(t, lines.Scan())
	require.True(t, strings.HasPrefix(lines.Text(), "data: "))
	_, err := c.admin(0, users.Root).RevokeUser(soon(t), "watcher", admin.Rights{Monitor: true})
	require.NoError(t, err)
	for lines.Scan() {
	}
	require.NoError(t, lines.Err(), "the server has ended it")
	require.Equal(t, http.StatusForbidden, get("api/v1/events", "watcher", token).StatusCode)
}
