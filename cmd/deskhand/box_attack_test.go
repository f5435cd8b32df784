package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

// attack is a program that tries to leave a sandbox: it ends with 0 if it could,
// and says what it reached.
func attack() {
	if err := attacked(os.Args[1:]); err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	fmt.Println("reached")
}

func attacked(args []string) error {
	const patience = 5 * time.Second
	switch args[0] {
	case "ptrace":
		pid, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return ptrace(pid)
	case "dial":
		conn, err := net.DialTimeout(args[1], args[2], patience)
		if err == nil {
			conn.Close()
		}
		return err
	case "get": // as programs do that know of proxies
		proxy, err := url.Parse(os.Getenv("HTTP_PROXY"))
		if err != nil {
			return err
		}
		client := http.Client{Timeout: patience, Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
		answer, err := client.Get(args[1])
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s", answer.Status)
		}
		return nil
	}
	return fmt.Errorf("no attack %q", args[0])
}
