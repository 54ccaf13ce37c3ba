package adt_test

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/adt/check"
)

func init() { adt.SetRefute(check.Type) }
