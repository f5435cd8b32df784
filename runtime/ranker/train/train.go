// Package train makes the numbers of a ranker from graded questions.
//
// [Gather] asks each question once and keeps what the ranker sees of its
// candidates. [Train] fits nets to these, and [Measure] says what they gain on a
// set that they were not trained on. Equal questions, options and seeds give equal
// numbers on one kind of machine.
package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/ranker"
)

// Options say how to train. The zero value is what the shipped ranker was trained
// with.
type Options struct {
	// Seed is the first of Nets seeds. Zero means 1.
	Seed uint64
	// Nets is how many nets are trained and averaged. Zero means 3.
	Nets int
	// Epochs is how often all questions are gone through. Zero means 12.
	Epochs int
	// Rate is the size of the first steps. Zero means 0.003.
	Rate float64
	// Decay is how much weights shrink. Zero means 0.5.
	Decay float64
	// Drop is the share of hidden units left out of each question. Zero means 0.2.
	Drop float64
	// Progress, unless nil, is called after each net, one call at a time.
	Progress func(done, total int)
}

func (o Options) withDefaults() Options {
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Nets == 0 {
		o.Nets = 3
	}
	if o.Epochs == 0 {
		o.Epochs = 12
	}
	if o.Rate == 0 {
		o.Rate = 0.003
	}
	if o.Decay == 0 {
		o.Decay = 0.5
	}
	if o.Drop == 0 {
		o.Drop = 0.2
	}
	return o
}

// check refuses what cannot be trained; o has its defaults.
func (o Options) check() error {
	if o.Nets < 1 || o.Nets > ranker.MaxNets || o.Epochs < 1 {
		return fault.New("bad_options", fmt.Sprintf("cannot train %d nets for %d epochs", o.Nets, o.Epochs),
			fmt.Sprintf("use 1 to %d nets and at least 1 epoch", ranker.MaxNets))
	}
	return nil
}

const (
	// batch is how many questions make a step.
	batch = 16
	// base is what the sum counts before training.
	base = 12
	// typical is a usual number of questions: a set with more weighs less than by
	// them, one with fewer weighs more, each by the root.
	typical, leastQuestions = 110, 40
)

// sample is a question as a net sees it.
type sample struct {
	inputs [][]float32
	sums   []float32
	target []float32 // adds up to 1
	weight float32
}

// samples are those of the questions that have an answer among their candidates and
// are not held out.
func samples(questions []Question) []sample {
	of := map[string]float64{}
	for _, q := range questions {
		if q.answered() && q.alone() && !q.Held {
			of[q.Set]++
		}
	}
	var out []sample
	for i := range questions {
		q := &questions[i]
		if q.Held || !q.answered() {
			continue
		}
		s := sample{weight: float32(math.Sqrt(typical / max(leastQuestions, of[q.Set])))}
		shown := q.shown()
		average := ranker.Average(q.Candidates)
		total := float32(0)
		for _, at := range shown {
			in := make([]float32, ranker.Width())
			ranker.Relate(in, q.Candidates[at].Inputs, average)
			gain := float32(math.Exp2(float64(q.Graded.Grades[at])) - 1)
			total += gain
			s.inputs, s.sums, s.target = append(s.inputs, in), append(s.sums, float32(q.Candidates[at].Sum)), append(s.target, gain)
		}
		for j := range s.target {
			s.target[j] /= total
		}
		out = append(out, s)
	}
	return out
}

// standardise brings all inputs to mean 0 and deviation 1 and returns both.
func standardise(all []sample) (mean, scale []float32) {
	width := ranker.Width()
	sum, squares, n := make([]float64, width), make([]float64, width), 0.0
	for _, s := range all {
		for _, in := range s.inputs {
			n++
			for i, x := range in {
				sum[i] += float64(x)
				squares[i] += float64(float64(x) * float64(x))
			}
		}
	}
	for i := range width {
		m := sum[i] / n
		mean = append(mean, short(float32(m)))
		scale = append(scale, short(float32(1/max(1e-3, math.Sqrt(max(0, squares[i]/n-m*m))))))
	}
	for _, s := range all {
		for _, in := range s.inputs {
			ranker.Standardise(in, mean, scale)
		}
	}
	return mean, scale
}

// Train fits a ranker to questions, some of which must have an answer among their
// candidates. The errors are ctx's and fault "bad_options".
func Train(ctx context.Context, questions []Question, o Options) (*ranker.Model, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	all := samples(questions)
	mean, scale := standardise(all)
	nets, bases := make([]ranker.Net, o.Nets), make([]float32, o.Nets)
	var mu sync.Mutex
	var workers sync.WaitGroup
	room, done := make(chan struct{}, runtime.GOMAXPROCS(0)), 0
	for i := range nets {
		workers.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			f := newFit(all, o, o.Seed+uint64(i))
			f.run(ctx)
			nets[i], bases[i] = f.net(), f.base
			if o.Progress != nil {
				mu.Lock()
				defer mu.Unlock()
				done++
				o.Progress(done, o.Nets)
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sum := float32(0)
	for _, b := range bases {
		sum += b
	}
	return ranker.New(ranker.Trained{
		Sets: sets(questions), Embedding: model(questions), Seed: o.Seed, Epochs: o.Epochs, Rate: o.Rate, Decay: o.Decay,
	}, mean, scale, short(sum/float32(o.Nets)), nets)
}

// short is x with 4 decimal digits, as it is written.
func short(x float32) float32 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(float64(x))))-3)
	return float32(math.Round(float64(x)/unit) * unit)
}

// fit is one net in training, by Adam with decay of the weights.
type fit struct {
	all     []sample
	o       Options
	rng     *rand.Rand
	weights [][ranker.Hidden]float32
	bias    [ranker.Hidden]float32
	out     [ranker.Hidden]float32
	base    float32
	// By number: the weights row by row, bias, out, base.
	grad, first, second []float32
	step, steps         int
	hidden              [][ranker.Hidden]float32
	scores              []float64
}

func newFit(all []sample, o Options, seed uint64) *fit {
	width := ranker.Width()
	f := &fit{all: all, o: o, rng: rand.New(rand.NewPCG(seed, 77)), weights: make([][ranker.Hidden]float32, width), base: base}
	size := width*ranker.Hidden + 2*ranker.Hidden + 1
	f.grad, f.first, f.second = make([]float32, size), make([]float32, size), make([]float32, size)
	f.steps = o.Epochs * ((len(all) + batch - 1) / batch)
	spread := 0.7 * math.Sqrt(2/float64(width))
	for i := range f.weights {
		for j := range f.weights[i] {
			f.weights[i][j] = float32(f.rng.NormFloat64() * spread)
		}
	}
	for j := range f.out {
		f.out[j] = float32(f.rng.NormFloat64() * 0.05)
	}
	return f
}

func (f *fit) run(ctx context.Context) {
	order := f.rng.Perm(len(f.all))
	for range f.o.Epochs {
		f.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for part := range slices.Chunk(order, batch) {
			if ctx.Err() != nil {
				return
			}
			clear(f.grad)
			for _, at := range part {
				f.learn(&f.all[at])
			}
			f.update()
		}
	}
}

// learn adds the gradient of a question: of the cross entropy between what its
// candidates should have and the softmax over their scores.
func (f *fit) learn(s *sample) {
	var keep [ranker.Hidden]float32
	for j := range keep {
		if f.rng.Float64() >= f.o.Drop {
			keep[j] = float32(1 / (1 - f.o.Drop))
		}
	}
	f.hidden, f.scores = f.hidden[:0], f.scores[:0]
	most, sum := math.Inf(-1), 0.0
	for c, in := range s.inputs {
		h, score := f.forward(in, &keep)
		score += float64(f.base * s.sums[c])
		f.hidden, f.scores, most = append(f.hidden, h), append(f.scores, score), max(most, score)
	}
	for c, x := range f.scores {
		f.scores[c] = math.Exp(x - most)
		sum += f.scores[c]
	}
	for c, in := range s.inputs {
		if g := (float32(f.scores[c]/sum) - s.target[c]) * s.weight; g > 1e-5 || g < -1e-5 {
			f.backward(in, &f.hidden[c], &keep, g)
			f.grad[len(f.grad)-1] += float32(g * s.sums[c])
		}
	}
}

func (f *fit) forward(in []float32, keep *[ranker.Hidden]float32) (h [ranker.Hidden]float32, score float64) {
	h = f.bias
	for i, x := range in {
		w := &f.weights[i]
		for j := range h {
			h[j] += float32(x * w[j])
		}
	}
	for j, x := range h {
		if x > 0 {
			score += float64(x * f.out[j] * keep[j])
		}
	}
	return h, score
}

func (f *fit) backward(in []float32, h, keep *[ranker.Hidden]float32, g float32) {
	var back [ranker.Hidden]float32
	bias := len(in) * ranker.Hidden
	for j, x := range h {
		if x > 0 {
			f.grad[bias+ranker.Hidden+j] += float32(g * x * keep[j])
			back[j] = g * f.out[j] * keep[j]
			f.grad[bias+j] += back[j]
		}
	}
	for i, x := range in {
		row := (*[ranker.Hidden]float32)(f.grad[i*ranker.Hidden:])
		for j := range back {
			row[j] += float32(x * back[j])
		}
	}
}

// update makes a step. Its size falls to 0 along a cosine.
func (f *fit) update() {
	f.step++
	rate := f.o.Rate * 0.5 * (1 + math.Cos(math.Pi*float64(f.step)/float64(f.steps)))
	one, two := 1-math.Pow(0.9, float64(f.step)), 1-math.Pow(0.999, float64(f.step))
	at := 0
	move := func(x *float32, decay float64) {
		g := f.grad[at] / batch
		f.first[at] = float32(0.9*f.first[at]) + float32(0.1*g)
		f.second[at] = float32(0.999*f.second[at]) + float32(0.001*g*g)
		*x -= float32(rate * (float64(f.first[at])/one/(math.Sqrt(float64(f.second[at])/two)+1e-8) + decay*float64(*x)))
		at++
	}
	for i := range f.weights {
		for j := range f.weights[i] {
			move(&f.weights[i][j], f.o.Decay)
		}
	}
	for j := range f.bias {
		move(&f.bias[j], 0)
	}
	for j := range f.out {
		move(&f.out[j], f.o.Decay)
	}
	move(&f.base, 0)
}

// net is the trained network, in the form in which it is written to the file.
func (f *fit) net() ranker.Net {
	n := ranker.Net{}
	for i := range f.weights {
		row := make([]float32, ranker.Hidden)
		for j, x := range f.weights[i] {
			row[j] = short(x)
		}
		n.Weights = append(n.Weights, row)
	}
	for j := range f.bias {
		n.Bias, n.Out = append(n.Bias, short(f.bias[j])), append(n.Out, short(f.out[j]))
	}
	return n
}
