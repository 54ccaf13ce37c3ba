package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/load/workload"
	"github.com/linchpindb/linchpin/test/bench/etcd"
)

// etcdProgram is what Debian's package etcd-server installs.
const etcdProgram = "etcd"

// members is a cluster of three members of etcd, with its own settings.
type members struct {
	processes []*child
	clients   []*etcd.Client
}

// startMembers starts a cluster that serves. Without the program, it returns an error of exec.ErrNotFound.
func startMembers(ctx context.Context, dir string) (*members, error) {
	path, err := exec.LookPath(etcdProgram)
	if err != nil {
		return nil, err
	}
	m := &members{}
	if err := m.start(ctx, path, dir); err != nil {
		return nil, errors.Join(err, m.stop())
	}
	return m, nil
}

func (m *members) start(ctx context.Context, path, dir string) error {
	var names, addrs, peers, cluster []string
	for i := range 3 {
		addr, err := freeAddr()
		if err != nil {
			return err
		}
		peer, err := freeAddr()
		if err != nil {
			return err
		}
		names, addrs, peers = append(names, fmt.Sprint("etcd", i+1)), append(addrs, addr), append(peers, "http://"+peer)
		cluster = append(cluster, names[i]+"="+peers[i])
	}
	for i, addr := range addrs {
		p, err := self(ctx, "etcd", "--serves", addr, "--", path, "--name", names[i], "--data-dir",
			filepath.Join(dir, names[i]), "--logger", "zap", "--log-level", "error",
			"--listen-client-urls", "http://"+addr, "--advertise-client-urls", "http://"+addr,
			"--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i],
			"--initial-cluster", strings.Join(cluster, ","))
		if err != nil {
			return err
		}
		m.processes = append(m.processes, p)
		c, err := etcd.Dial(addr)
		if err != nil {
			return err
		}
		m.clients = append(m.clients, c)
	}
	return m.await(ctx)
}

// membersWithin bounds the time in which etcd's members elect a leader.
const membersWithin = 30 * time.Second

// await returns when each member answers.
func (m *members) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, membersWithin)
	defer cancel()
	for i, c := range m.clients {
		for {
			_, _, err := c.Get(ctx, "anything")
			if err == nil {
				break
			}
			if !workload.Sleep(ctx, 50*time.Millisecond) {
				return fmt.Errorf("etcd's member %d does not answer: %w", i+1, err)
			}
		}
	}
	return nil
}

func (m *members) stop() (err error) {
	for _, c := range m.clients {
		err = errors.Join(err, c.Close())
	}
	for _, p := range m.processes {
		err = errors.Join(err, p.stop())
	}
	return err
}

// client is that of a caller: callers are spread over the members, as etcd's own client does.
func (m *members) client(caller int) *etcd.Client { return m.clients[caller%len(m.clients)] }

// etcdRole runs a program until the input of this process ends, so that it does not outlive the comparison.
func etcdRole() *cobra.Command {
	var addr string
	c := &cobra.Command{Use: "etcd", Hidden: true, Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			program := exec.Command(args[0], args[1:]...)
			program.Stderr = os.Stderr
			if err := program.Start(); err != nil {
				return err
			}
			stopped := make(chan struct{})
			ended := make(chan error, 1)
			go func() {
				err := program.Wait()
				select {
				case <-stopped:
				default: // nothing reads the end while the parent goes on
					fmt.Fprintln(os.Stderr, "etcd has ended:", err)
				}
				ended <- err
			}()
			ready(addr)
			close(stopped)
			err := program.Process.Kill()
			<-ended
			if errors.Is(err, os.ErrProcessDone) {
				return nil
			}
			return err
		}}
	c.Flags().StringVar(&addr, "serves", "", "")
	return c
}
