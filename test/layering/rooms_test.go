package layering_test

import "testing"

// TestTypesAndCirclesAreSmall: a reader can hold a type, or what calls each other, in mind.
func TestTypesAndCirclesAreSmall(t *testing.T) {
	tree := module(t)
	none(t, append(tree.Types(), tree.Circles()...))
}

// TestConditionsAssignNothing to variables that outlive them.
func TestConditionsAssignNothing(t *testing.T) { none(t, module(t).Inits()) }

// TestTheCommitPathIsStraight: no function of it reaches itself.
func TestTheCommitPathIsStraight(t *testing.T) { none(t, module(t).Recursions()) }
