package ranker

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"sync"
)

// default.bin is packed from default.json by "make golden". Reading it takes a tenth of the
// time of reading the JSON, which every server would need for its first answer
// (BenchmarkShipped).
//
//go:embed default.bin
var shipped []byte

// Default is the model that deskhand ships.
var Default = sync.OnceValue(func() *Model {
	m, err := unpack(shipped)
	if err != nil {
		panic("the ranker in this program: " + err.Error()) // a test reads it
	}
	return m
})

// pack returns the model in a form that is read faster than JSON: a line with the file
// without its lists of numbers, then the numbers as little-endian f32.
func (m *Model) pack() ([]byte, error) {
	head := m.file
	head.Mean, head.Scale, head.Nets = nil, nil, make([]Net, len(m.file.Nets))
	line, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	packed := append(line, '\n')
	add := func(lists ...[]float32) {
		for _, x := range slices.Concat(lists...) {
			packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(x))
		}
	}
	add(m.file.Mean, m.file.Scale)
	for _, n := range m.file.Nets {
		add(n.Weights...)
		add(n.Bias, n.Out)
	}
	return packed, nil
}

// unpack reads what pack returned. The error is that of Parse.
func unpack(packed []byte) (*Model, error) {
	line, numbers, _ := bytes.Cut(packed, []byte("\n"))
	m := &Model{}
	f := &m.file
	if err := json.Unmarshal(line, f); err != nil {
		return nil, bad(err.Error())
	}
	all := make([]float32, len(numbers)/4)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[4*i:]))
	}
	take := func(n int) (list []float32) {
		n = min(n, len(all)) // prepare refuses a list that is too short
		list, all = all[:n:n], all[n:]
		return list
	}
	inputs := inputsOfNet()
	f.Mean, f.Scale = take(inputs), take(inputs)
	for i := range f.Nets {
		n := Net{Weights: make([][]float32, inputs)}
		for j := range n.Weights {
			n.Weights[j] = take(Hidden)
		}
		n.Bias, n.Out = take(Hidden), take(Hidden)
		f.Nets[i] = n
	}
	return m, m.prepare()
}
