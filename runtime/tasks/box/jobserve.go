package box

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// serveJob runs, in a Job's pod, the program that the caller sends. Nothing is written
// before the caller is connected, so no output is lost. If the connection breaks, this
// process exits, and the pod with it.
func serveJob(in io.Reader, out io.Writer) (int, error) {
	f := newFrames(in, out)
	b, err := f.begin()
	if err != nil {
		return exitBroken, err
	}
	code, err := f.serve(b)
	if err != nil {
		f.write(stderrFrame, 0, []byte("deskhand: sandbox: "+err.Error()+"\n"))
	}
	f.write(exitFrame, 0, []byte(strconv.Itoa(code)))
	return code, nil
}

// serve runs the program and returns its exit code.
func (f *frames) serve(b jobBegin) (int, error) {
	for _, file := range b.Files {
		err := os.MkdirAll(filepath.Dir(file.Path), 0o700)
		if err == nil {
			err = os.WriteFile(file.Path, file.Data, file.Mode)
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) { // a file of the system, and the image has its own
			return exitBroken, err
		}
	}
	for _, v := range b.Env {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return exitBroken, err
		}
	}
	if err := b.Inner.prepare(); err != nil {
		return exitBroken, err
	}
	program, err := b.Inner.find(b.Line[0])
	if err != nil {
		return 127, err
	}
	if err := f.listen(b.Ports); err != nil {
		return exitBroken, err
	}
	cmd := exec.Command(program)
	cmd.Args, cmd.Dir = b.Line, b.Dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return exitBroken, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return exitBroken, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return exitBroken, err
	}
	if err := cmd.Start(); err != nil {
		return exitBroken, err
	}
	go f.feed(cmd.Process, newQueue(stdin, func() { stdin.Close() }))
	var outputs sync.WaitGroup
	outputs.Go(func() { f.copyFrom(stdout, stdoutFrame, 0, false) })
	outputs.Go(func() { f.copyFrom(stderr, stderrFrame, 0, false) })
	outputs.Wait()
	return exitCode(cmd.Wait())
}

// feed handles the caller's frames until the connection breaks.
func (f *frames) feed(program *os.Process, stdin *queue) {
	for {
		kind, id, data, err := f.read()
		if err != nil {
			os.Exit(exitBroken) // ends the pod, because this is its first process
		}
		switch kind {
		case stdinFrame:
			if len(data) == 0 {
				stdin.end()
			} else {
				stdin.put(data)
			}
		case signalFrame:
			s := syscall.SIGTERM
			if string(data) == "INT" {
				s = syscall.SIGINT
			}
			_ = program.Signal(s) // an error means that the program has already exited
		case dataFrame, closeFrame:
			f.take(kind, id, data)
		}
	}
}

// listen forwards connections to ports in the pod to the caller's.
func (f *frames) listen(ports []int) error {
	var next atomic.Uint32
	for _, port := range ports {
		text := strconv.Itoa(port)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", text))
		if err != nil {
			return err
		}
		go func() {
			for {
				conn, err := l.Accept()
				if errors.Is(err, net.ErrClosed) {
					return
				}
				if err != nil {
					continue
				}
				id := next.Add(1)
				c := f.join(id, conn)
				f.write(openFrame, id, []byte(text))
				go f.carry(id, c)
			}
		}()
	}
	return nil
}
