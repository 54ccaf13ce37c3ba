package integration

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/linchpindb/linchpin/pkg/cli"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

const deploy = "../../deploy"

// settingNames returns the names of all settings of "linchpin start".
func settingNames(t *testing.T) (names []string) {
	t.Helper()
	code, out := proc.Exec(t, "config", "show", "--output", "json")
	require.Equal(t, cli.ExitOK, code, out)
	for line := range strings.Lines(out) {
		var s struct{ Setting string }
		require.NoError(t, json.Unmarshal([]byte(line), &s))
		names = append(names, s.Setting)
	}
	require.Greater(t, len(names), 20)
	return names
}

var variable = regexp.MustCompile(`LINCHPIN_[A-Z_]+`)

// requireKnownVariables requires that each LINCHPIN_ variable in a text belongs to a setting.
func requireKnownVariables(t *testing.T, names []string, text string) {
	t.Helper()
	found := variable.FindAllString(text, -1)
	require.NotEmpty(t, found)
	for _, v := range found {
		name := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(v, "LINCHPIN_")), "_", "-")
		require.Contains(t, names, name, v)
	}
}

// TestSystemdUnit: the program accepts the command lines and the settings of the unit. If systemd is
// installed, it accepts the unit.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(deploy + "/systemd/linchpin.service")
	require.NoError(t, err)
	names, unit := settingNames(t), string(raw)
	commands := regexp.MustCompile(`(?m)^Exec[A-Za-z]+=/usr/local/bin/linchpin (.*)$`).FindAllStringSubmatch(unit, -1)
	require.Len(t, commands, 2)
	config, err := filepath.Abs(deploy + "/linchpin/linchpin.yaml")
	require.NoError(t, err)
	for _, c := range commands {
		args := strings.Fields(strings.ReplaceAll(c[1], "/etc/linchpin/linchpin.yaml", config))
		if args[0] == "start" {
			args = append([]string{"config", "show"}, args[1:]...)
		}
		code, out := proc.Exec(t, args...)
		require.Equal(t, cli.ExitOK, code, out)
	}
	for _, want := range []string{"Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict", "LimitNOFILE=",
		"Restart=on-failure", "RestartPreventExitStatus=74 "} {
		require.Contains(t, unit, "\n"+want)
	}
	sample, err := os.ReadFile(config)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^#? ?([a-z]+(?:-[a-z]+)*): `).FindAllStringSubmatch(string(sample), -1) {
		require.Contains(t, names, m[1], "settings in comments count too")
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed; the syntax of the unit is not checked")
		return
	}
	copied := filepath.Join(t.TempDir(), "linchpin.service")
	require.NoError(t,
		os.WriteFile(copied, []byte(strings.ReplaceAll(unit, "/usr/local/bin/linchpin", proc.Build(t).Linchpin)), 0o644))
	out, err := exec.CommandContext(t.Context(), analyze, "verify", copied).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

// TestDockerfile: the last stage contains only the program, does not run as root, and has a valid health
// check and valid settings.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(deploy + "/docker/Dockerfile")
	require.NoError(t, err)
	requireKnownVariables(t, settingNames(t), string(raw))
	last := map[string][]string{}
	lines := bufio.NewScanner(strings.NewReader(string(raw)))
	for lines.Scan() {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		if what == "FROM" {
			last = map[string][]string{}
		}
		if what != "#" && what != "" {
			last[what] = append(last[what], rest)
		}
		if what == "RUN" && strings.Contains(rest, "go build") {
			require.Contains(t, rest, "CGO_ENABLED=0")
			require.DirExists(t, "../../"+rest[strings.LastIndex(rest, "./"):])
		}
	}
	require.Equal(t, []string{"scratch"}, last["FROM"])
	require.Equal(t, []string{"65532:65532"}, last["USER"])
	require.Equal(t, []string{`["/linchpin"]`}, last["ENTRYPOINT"])
	check := regexp.MustCompile(`CMD (\[.*\])$`).FindStringSubmatch(last["HEALTHCHECK"][0])
	require.NotNil(t, check)
	var command []string
	require.NoError(t, json.Unmarshal([]byte(check[1]), &command))
	require.Equal(t, []string{"/linchpin", "health", "--addr", "127.0.0.1:7070"}, command)
	code, out := proc.Exec(t, "health", "--addr", proc.FreeAddr(t))
	require.Equal(t, cli.ExitUnavailable, code, out)
}

// composeService is a service of the compose file.
type composeService struct {
	Build          struct{ Context, Dockerfile string }
	Environment    map[string]string
	Volumes, Ports []string
}

// TestComposeFile: the variables are settings, the files exist, and the join list contains exactly the
// nodes that are started.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(deploy + "/docker/compose.yml")
	require.NoError(t, err)
	requireKnownVariables(t, settingNames(t), string(raw))
	var file struct {
		Services map[string]composeService
		Volumes  map[string]any
	}
	require.NoError(t, yaml.Unmarshal(raw, &file))
	var joined []string
	for name, s := range file.Services {
		if s.Build.Context != "" {
			require.FileExists(t, filepath.Join(deploy, "docker", s.Build.Context, s.Build.Dockerfile))
			host, _, err := net.SplitHostPort(s.Environment["LINCHPIN_ADVERTISE"])
			require.NoError(t, err)
			require.Equal(t, name, host)
			joined = append(joined, s.Environment["LINCHPIN_ADVERTISE"])
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if strings.HasPrefix(from, ".") {
				_, err := os.Stat(filepath.Join(deploy, "docker", from))
				require.NoError(t, err)
			} else {
				require.Contains(t, file.Volumes, from)
			}
		}
	}
	slices.Sort(joined)
	require.Len(t, joined, 3)
	require.Equal(t, strings.Join(joined, ","), file.Services["n1"].Environment["LINCHPIN_JOIN"])
	requireScraped(t, file.Services)
	for _, provisioned := range []string{"prometheus.yml", "grafana/datasources.yml", "grafana/dashboards.yml"} {
		text, err := os.ReadFile(filepath.Join(deploy, "docker", provisioned))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, new(map[string]any)))
	}
}

// requireScraped requires that Prometheus scrapes all nodes of the compose file at the port of the image,
// and that ports are published on the loopback only, because the connections are not encrypted.
func requireScraped(t *testing.T, services map[string]composeService) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(deploy, "docker", "prometheus.yml"))
	require.NoError(t, err)
	var c struct {
		Scrapes []struct {
			Targets []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal(raw, &c))
	image, err := os.ReadFile(filepath.Join(deploy, "docker", "Dockerfile"))
	require.NoError(t, err)
	port := regexp.MustCompile(`LINCHPIN_HTTP=0\.0\.0\.0:(\d+)`).FindStringSubmatch(string(image))
	require.NotNil(t, port)
	var nodes []string
	for name, s := range services {
		if s.Build.Context != "" {
			nodes = append(nodes, name+":"+port[1])
		}
		for _, p := range s.Ports {
			require.True(t, strings.HasPrefix(p, "127.0.0.1:"), "%s publishes %s", name, p)
		}
	}
	require.ElementsMatch(t, nodes, c.Scrapes[0].Targets[0].Targets)
}

// TestDockerignoreExcludesNoSource: the paths that the image build ignores contain no Go file.
func TestDockerignoreExcludesNoSource(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../.dockerignore")
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		ignored := filepath.Join("..", "..", strings.TrimSpace(line))
		err := filepath.WalkDir(ignored, func(path string, d fs.DirEntry, err error) error {
			require.NotEqual(t, ".go", filepath.Ext(path), "%s is compiled, and .dockerignore excludes it", path)
			return err
		})
		if !errors.Is(err, fs.ErrNotExist) { // bin may be absent
			require.NoError(t, err)
		}
	}
}

// TestManualAndCompletion: both are generated from the commands of the program.
func TestManualAndCompletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, out := proc.Exec(t, "man", dir)
	require.Equal(t, cli.ExitOK, code, out)
	for _, page := range []string{"linchpin.1", "linchpin-start.1", "linchpin-drain.1", "linchpin-debug-zip.1",
		"linchpin-config-show.1", "linchpin-log-level.1"} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		require.NoError(t, err)
		require.Contains(t, string(text), ".SH SYNOPSIS", page)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		code, out := proc.Exec(t, "completion", shell)
		require.Equal(t, cli.ExitOK, code, out)
		require.Contains(t, out, "linchpin", shell)
		if program, err := exec.LookPath(shell); err == nil {
			script := filepath.Join(dir, shell)
			require.NoError(t, os.WriteFile(script, []byte(out), 0o644))
			result, err := exec.CommandContext(t.Context(), program, "-n", script).CombinedOutput()
			require.NoError(t, err, "%s", result)
		}
	}
	code, out = proc.Exec(t, "__complete", "dra")
	require.Equal(t, cli.ExitOK, code)
	require.Contains(t, out, "drain\tDrain a node, then stop it")
}
