// Package ranker orders the candidates of a question by numbers that were learnt
// from graded questions: a few small nets whose outputs are averaged, on top of
// the sum of parts that found the candidates.
//
// It knows nothing of texts: what an input is, [Inputs] names and package search
// measures. deskhand train ranker makes the numbers.
package ranker

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Hidden is how many hidden units a net has.
const Hidden = 32

// MaxNets is how many nets a model may have.
const MaxNets = 16

const (
	maxBytes = 100 << 10
	format   = 2
	// farthest is how many standard deviations an input counts at most, so that no
	// corpus leads the nets where they never were.
	farthest = 4
)

// Model is a trained ranker. It may be used concurrently.
type Model struct {
	file   file
	inputs int // of a net: those of a candidate, and what sets it apart from the average
	mean   []float32
	scale  []float32
	nets   []net
	base   float32 // what the sum counts
}

type net struct {
	weights [][Hidden]float32 // by input
	bias    [Hidden]float32
	out     [Hidden]float32
}

// file is a model as JSON.
type file struct {
	Format int `json:"format"`
	// Trained says on what.
	Trained Trained `json:"trained"`
	// Inputs are the names of a candidate's inputs.
	Inputs []string `json:"inputs"`
	// Mean and Scale bring the inputs of a net to mean 0 and deviation 1: those of
	// the candidate, then those set against the average of the pool.
	Mean  []float32 `json:"mean"`
	Scale []float32 `json:"scale"`
	// Base is what the sum of parts counts.
	Base float32 `json:"base"`
	Nets []Net   `json:"nets"`
}

// Net is one net as in a file: weights by input and hidden unit, the bias and the
// weight of each hidden unit.
type Net struct {
	Weights [][]float32 `json:"weights"`
	Bias    []float32   `json:"bias"`
	Out     []float32   `json:"out"`
}

// Trained is what a model was trained on.
type Trained struct {
	// Sets are the sets, in order.
	Sets []Set `json:"sets"`
	// Embedding names the model of the vectors.
	Embedding string  `json:"embedding"`
	Seed      uint64  `json:"seed"`
	Epochs    int     `json:"epochs"`
	Rate      float64 `json:"rate"`
	Decay     float64 `json:"decay"`
}

// Set is one set of graded questions.
type Set struct {
	Name      string `json:"name"`
	Questions int    `json:"questions"`
	// Digest is SHA-256 over the files of cases, one after the other.
	Digest string `json:"digest"`
}

// Parse reads a model. The error is fault "bad_ranker".
func Parse(data []byte) (*Model, error) {
	if len(data) > maxBytes {
		return nil, bad(fmt.Sprintf("it has %d bytes, at most %d are allowed", len(data), maxBytes))
	}
	m := &Model{}
	if err := json.Unmarshal(data, &m.file); err != nil {
		return nil, bad(err.Error())
	}
	return m, m.prepare()
}

// prepare checks the file, and readies its numbers for Rank.
func (m *Model) prepare() error {
	f := &m.file
	m.inputs = inputsOfNet()
	switch {
	case f.Format != format:
		return bad(fmt.Sprintf("it has format %d, this deskhand reads %d", f.Format, format))
	case !slices.Equal(f.Inputs, Inputs()):
		return bad("it was trained on other inputs than this deskhand measures")
	case len(f.Mean) != m.inputs || len(f.Scale) != m.inputs:
		return bad(fmt.Sprintf("it has %d means and %d scales for %d inputs", len(f.Mean), len(f.Scale), m.inputs))
	case len(f.Nets) == 0 || len(f.Nets) > MaxNets:
		return bad(fmt.Sprintf("it has %d nets, 1 to %d are allowed", len(f.Nets), MaxNets))
	case !(f.Base > 0):
		return bad(fmt.Sprintf("its base is %g, it must be above 0", f.Base))
	}
	m.mean, m.scale, m.base = f.Mean, f.Scale, f.Base
	for i, n := range f.Nets {
		parsed, err := n.parse(m.inputs)
		if err != nil {
			return bad(fmt.Sprintf("net %d: %v", i+1, err))
		}
		m.nets = append(m.nets, parsed)
	}
	return nil
}

// New is a model of trained nets. The error is that of Parse.
func New(t Trained, mean, scale []float32, base float32, nets []Net) (*Model, error) {
	data, err := json.Marshal(file{format, t, Inputs(), mean, scale, base, nets})
	if err != nil {
		return nil, fmt.Errorf("write ranker: %w", err)
	}
	return Parse(data)
}

// Encode returns the model as a file, the same bytes for equal models.
func (m *Model) Encode() ([]byte, error) {
	data, err := json.Marshal(m.file)
	return append(data, '\n'), err
}

// WriteFile writes the model to path, whole or not at all, and returns its size.
func (m *Model) WriteFile(path string) (size int, err error) {
	data, err := m.Encode()
	if err != nil {
		return 0, fmt.Errorf("write ranker: %w", err)
	}
	removeAbandoned(filepath.Dir(path))
	f, err := os.CreateTemp(filepath.Dir(path), unfinished)
	if err != nil {
		return 0, fmt.Errorf("write ranker: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return 0, fmt.Errorf("write ranker: %w", err)
	}
	return len(data), nil
}

// unfinished is the pattern of the names of files that are being written.
const unfinished = ".ranker-*"

// removeAbandoned removes files that a killed process began to write. To write one
// takes milliseconds.
func removeAbandoned(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, unfinished))
	for _, file := range files {
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(file)
		}
	}
}

func (n Net) parse(inputs int) (p net, err error) {
	if len(n.Weights) != inputs || len(n.Bias) != Hidden || len(n.Out) != Hidden {
		return p, fmt.Errorf("%d rows of weights, %d and %d hidden units; want %d, %d and %d", len(n.Weights), len(n.Bias), len(n.Out), inputs, Hidden, Hidden)
	}
	p.weights = make([][Hidden]float32, inputs)
	for i, row := range n.Weights {
		if len(row) != Hidden {
			return p, fmt.Errorf("row %d has %d weights, want %d", i+1, len(row), Hidden)
		}
		copy(p.weights[i][:], row)
	}
	copy(p.bias[:], n.Bias)
	copy(p.out[:], n.Out)
	return p, nil
}

func bad(why string) error {
	return fault.New("bad_ranker", "this is no ranker: "+why, "make one with: deskhand train ranker SETS -o FILE")
}

// Trained says on what the model was trained.
func (m *Model) Trained() Trained { return m.file.Trained }

// Numbers is how many numbers were learnt.
func (m *Model) Numbers() int { return len(m.nets)*(m.inputs*Hidden+2*Hidden) + 1 }

// Candidate is one of a pool.
type Candidate struct {
	// Sum is what it was found by: 0 to 1.
	Sum float64
	// Inputs are as [Inputs] names them.
	Inputs []float32
}

// The model counts in full if words find at most foundLittle of the question, and not
// at all from MostFound on; between these, it counts in proportion. With more, words
// know the answer. With 0.8 for MostFound, as much is
// gained, but descriptions of pages lose (docs/ranking.md).
const (
	foundLittle = 0.4
	MostFound   = 0.7
)

// trust returns how much the model counts if words find a share of the question.
func trust(found float32) float32 {
	return max(0, min(1, (MostFound-found)/(MostFound-foundLittle)))
}

// Ranked is what the model says of a candidate. The higher Score, the better;
// differences mean the same in all pools: 1 is e times as likely.
type Ranked struct {
	Score float64
	// Learnt is the part of Score beyond the sum's.
	Learnt float64
	// Parts is how much of Learnt each group of inputs accounts for: what the score
	// loses if the group is as in an average candidate. They do not add up to
	// Learnt, since groups act together. Nil unless asked for.
	Parts map[Group]float64
}

// Rank returns what the model says of each candidate of a pool.
func (m *Model) Rank(pool []Candidate, explain bool) []Ranked {
	out := make([]Ranked, len(pool))
	inputs := make([]float32, m.inputs)
	average := Average(pool)
	for i, c := range pool {
		trust := float64(trust(c.Inputs[InFound]))
		Relate(inputs, c.Inputs, average)
		Standardise(inputs, m.mean, m.scale)
		learnt := m.learnt(inputs)
		out[i] = Ranked{Score: float64(m.base*float32(c.Sum)) + float64(trust*learnt), Learnt: trust * learnt}
		if explain {
			out[i].Parts = m.parts(inputs, learnt, trust)
		}
	}
	return out
}

// Standardise brings the inputs of a net to mean 0 and deviation 1, in place.
func Standardise(inputs, mean, scale []float32) {
	for i, x := range inputs {
		inputs[i] = max(-farthest, min(farthest, float32((x-mean[i])*scale[i])))
	}
}

// learnt is the average of the nets. Products are converted, so that machines
// that could fuse them with the sum give the same.
func (m *Model) learnt(inputs []float32) float64 {
	sum := 0.0
	for n := range m.nets {
		t := &m.nets[n]
		h := t.bias
		for i, x := range inputs {
			if x == 0 {
				continue
			}
			w := &t.weights[i]
			for j := range h {
				h[j] += float32(x * w[j])
			}
		}
		for j, x := range h {
			if x > 0 {
				sum += float64(float32(x * t.out[j]))
			}
		}
	}
	return sum / float64(len(m.nets))
}

func (m *Model) parts(inputs []float32, learnt, trust float64) map[Group]float64 {
	parts := map[Group]float64{}
	less := make([]float32, len(inputs))
	for _, g := range Groups() {
		for i, x := range inputs {
			if less[i] = x; groupOf(i) == g {
				less[i] = 0
			}
		}
		parts[g] = trust * (learnt - m.learnt(less))
	}
	return parts
}

// Share brings a score to the range from 0 to 1.
func Share(score float64) float64 { return 1 / (1 + math.Exp((middle-score)/spread)) }

const (
	middle = 8
	spread = 3
)
