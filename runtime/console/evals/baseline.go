package evals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/fault"
)

// ReadBaseline reads the report or scores file at path. It returns a function that
// compares a report with the file, or nil if path is empty. Call it before the
// evaluation, which may take long.
func ReadBaseline(path string) (func(eval.Report) eval.Delta, error) {
	if path == "" {
		return nil, nil
	}
	if !strings.HasSuffix(path, ".txt") {
		base, err := eval.ReadReport(path)
		return func(current eval.Report) eval.Delta { return eval.Compare(base, current) }, err
	}
	agreed, err := readScoresFile(path)
	return func(current eval.Report) eval.Delta { return eval.CompareScores(agreed, current) }, err
}

// readScoresFile reads a scores file. Its errors name the file.
func readScoresFile(path string) (eval.Agreed, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return eval.Agreed{}, fault.New("no_scores", path+" does not exist", "check the path, or create it with --scores "+path)
	}
	if err != nil {
		return eval.Agreed{}, fmt.Errorf("read baseline: %w", err)
	}
	defer file.Close()
	agreed, err := eval.ReadScores(file)
	if f := fault.Of(err); f != nil {
		err = fault.New(f.Code, path+": "+f.Message, "create it again with --scores "+path+", or pass a JSON report")
	}
	return agreed, err
}
