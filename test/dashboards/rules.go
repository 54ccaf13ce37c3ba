package dashboards

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// Rule is a recording rule, or an alert.
type Rule struct {
	File        string `yaml:"-"`
	Record      string
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

// Name returns the name of the recorded series or of the alert.
func (r *Rule) Name() string { return r.Record + r.Alert }

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []*Rule
	}
}

// LoadRules reads all rules of a directory.
func LoadRules(dir string) (rules []*Rule, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yml"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		var r ruleFile
		if err := decode(f, &r); err != nil {
			return nil, err
		}
		for _, g := range r.Groups {
			for _, rule := range g.Rules {
				rule.File = filepath.Base(f)
				rules = append(rules, rule)
			}
		}
	}
	return rules, nil
}

// AlertTest is the expected state of an alert at a time, in a test for promtool.
type AlertTest struct {
	Alertname string
	Alerts    []any `yaml:"exp_alerts"`
}

// LoadAlertTests reads all tests of alerts in a directory.
func LoadAlertTests(dir string) (tests []AlertTest, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yml"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		var t struct {
			Tests []struct {
				AlertTests []AlertTest `yaml:"alert_rule_test"`
			}
		}
		if err := yaml.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		for _, one := range t.Tests {
			tests = append(tests, one.AlertTests...)
		}
	}
	return tests, nil
}

// decode reads a file, which may have only the fields of v.
func decode(file string, v any) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
