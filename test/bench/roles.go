package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/spf13/cobra"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/test/bench/echo"
)

// nodeRole is a linchpin node.
func nodeRole() *cobra.Command {
	var opt embed.Options
	var order, profile, mode, logs string
	var hot []string
	c := &cobra.Command{Use: "node", Hidden: true, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			opt.Order, err = txn.ParseOrder(order)
			if err != nil {
				return err
			}
			opt.Hot, err = hotshard.ParseMode(mode)
			if err != nil {
				return err
			}
			for _, k := range hot {
				opt.HotKeys = append(opt.HotKeys, []byte(k))
			}
			opt.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
			if logs != "" {
				f, err := os.OpenFile(filepath.Join(logs, filepath.Base(opt.Dir)+".log"),
					os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
				if err != nil {
					return err
				}
				opt.Log = slog.New(slog.NewTextHandler(f, nil))
			}
			if err := embed.TuneMemory(opt); err != nil {
				return err
			}
			i, err := embed.Start(c.Context(), opt)
			if err != nil {
				return err
			}
			done, err := profiled(profile)
			if err != nil {
				return err
			}
			ctx, end := context.WithCancel(c.Context())
			ended := make(chan error, 1)
			go func() {
				defer end()
				// A line is the time that fsyncs take longer from now on.
				ended <- readyFor(i.Addr(), func(line string) error {
					d, err := time.ParseDuration(line)
					i.DelaySyncs(d)
					return err
				})
			}()
			err = i.Wait(ctx) // it may be drained before its parent ends it
			if ctx.Err() != nil {
				err = errors.Join(err, <-ended)
			}
			return errors.Join(err, done(), i.Stop())
		}}
	f := c.Flags()
	f.StringVar(&opt.Dir, "store", "", "")
	f.StringVar(&opt.Listen, "listen", "", "")
	f.StringVar(&opt.Join, "join", "", "")
	f.IntVar(&opt.Shards, "shards", 8, "")
	f.IntVar(&opt.Replicas, "replicas", 1, "")
	f.StringVar(&mode, "hot-mode", hotshard.ModeAuto.String(), "")
	f.StringArrayVar(&hot, "hot-key", nil, "")
	f.StringVar(&order, "commit-order", txn.HotLast.String(), "")
	f.BoolVar(&opt.UnsafeNoSync, "unsafe-no-sync", false, "")
	f.DurationVar(&opt.SyncDelay, "delay-fsync", 0, "")
	f.DurationVar(&opt.NetDelay, "delay-net", 0, "")
	f.StringVar(&opt.HTTP, "http", "", "")
	f.StringVar(&opt.TLS.Cert, "cert", "", "")
	f.StringVar(&opt.TLS.Key, "key", "", "")
	f.StringVar(&opt.TLS.CA, "ca", "", "")
	f.StringVar(&profile, "profile-as", "", "")
	f.StringVar(&logs, "logs", "", "")
	return c
}

// profiled starts profiles under a name, a path without its end, and returns
// what ends them. The empty name is for none.
func profiled(name string) (func() error, error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	cpu, err := os.Create(name + ".cpu.pprof")
	if err != nil {
		return nil, err
	}
	runtime.SetMutexProfileFraction(20)
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		errs := []error{cpu.Close()}
		for _, p := range []string{"mutex", "allocs"} {
			f, err := os.Create(name + "." + p + ".pprof")
			if err != nil {
				return err
			}
			errs = append(errs, pprof.Lookup(p).WriteTo(f, 0), f.Close())
		}
		return errors.Join(errs...)
	}, nil
}

// echoRole is a bare echo server.
func echoRole() *cobra.Command {
	var answer int
	c := &cobra.Command{Use: "echo", Hidden: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		s := echo.NewServer(answer)
		served := make(chan error, 1)
		go func() { served <- s.Serve(lis) }()
		ready(lis.Addr().String())
		s.Stop()
		if err := <-served; err != nil {
			return fmt.Errorf("echo: %w", err)
		}
		return nil
	}}
	c.Flags().IntVar(&answer, "raw-bytes", 0, "")
	return c
}
