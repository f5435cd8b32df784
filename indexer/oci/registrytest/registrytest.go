// Package registrytest starts a real container registry for tests: the program
// distribution, for example from Debian's package docker-registry.
package registrytest

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// User and Password are the credentials for a registry that was started with signIn.
const (
	User     = "deskhand"
	Password = "of-tests"
	// hashed is the bcrypt hash of Password.
	hashed = "$2a$05$VTVm9cakc.eY0F8QxeBXU.FM7BevhmQwO/t3S4soEg61ivlvxn9Le"
)

// Program returns the path of the registry program. This is DESKHAND_TEST_REGISTRY if
// it is a path, or else docker-registry or registry in PATH. If there is no such
// program, Program skips the test, or fails it if DESKHAND_TEST_REGISTRY is "require".
func Program(t testing.TB) string {
	t.Helper()
	wanted := os.Getenv("DESKHAND_TEST_REGISTRY")
	if filepath.IsAbs(wanted) {
		return wanted
	}
	for _, name := range []string{"docker-registry", "registry"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if wanted == "require" {
		t.Fatal("there is no docker-registry in PATH, and DESKHAND_TEST_REGISTRY=require")
	}
	t.Skip("NOT TESTED: there is no docker-registry in PATH (Debian's package of that name)")
	return ""
}

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:[0-9]+)`)

// Start starts a registry that is stopped when the test ends, and returns its host and
// port. If signIn is true, the registry requires User and Password.
func Start(t testing.TB, signIn bool) string {
	t.Helper()
	program, dir := Program(t), t.TempDir()
	config := fmt.Sprintf("version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: '127.0.0.1:0'}\n", filepath.Join(dir, "data"))
	if signIn {
		users := filepath.Join(dir, "htpasswd")
		write(t, users, User+":"+hashed+"\n")
		config += fmt.Sprintf("auth: {htpasswd: {realm: tests, path: %q}}\n", users)
	}
	file := filepath.Join(dir, "config.yml")
	write(t, file, config)
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "serve", file)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	address, said := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(said)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		close(address)
	}()
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // returns an error because the program was killed
		<-said
		out.Close()
	})
	host, ok := <-address
	if !ok {
		t.Fatalf("%s does not listen", program)
	}
	return host
}

// Login writes a config.json in the format of "docker login" and sets DOCKER_CONFIG. If
// password is empty, the file has no credentials for host.
func Login(t testing.TB, host, password string) {
	t.Helper()
	dir := t.TempDir()
	auths := "{}"
	if password != "" {
		auths = fmt.Sprintf("{%q: {\"auth\": %q}}", host, base64.StdEncoding.EncodeToString([]byte(User+":"+password)))
	}
	write(t, filepath.Join(dir, "config.json"), fmt.Sprintf("{\"auths\": %s}\n", auths))
	t.Setenv("DOCKER_CONFIG", dir)
}

func write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
