// SPDX-License-Identifier: Apache-2.0

// Command probe is what runs in the pods of hack/cluster/check: a server, a client, and a few ways to be stopped by the node.
//
//	probe serve          answers every request on port 8080 with its host name
//	probe get URL        prints status and body
//	probe resolve NAME   prints the addresses, or that there are none
//	probe write FILE     writes one
//	probe whoami         prints user, capabilities and the mode of system call filtering
//	probe eat            takes memory until something stops it
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// patience is far above what an answer takes, and below every time limit of a resolver.
const patience = 3 * time.Second

func main() {
	commands := map[string]func(argument string) error{
		"serve": serve, "get": get, "resolve": resolve, "write": write, "whoami": whoami, "eat": eat,
	}
	arguments := append(os.Args[1:], "", "")
	command, ok := commands[arguments[0]]
	if !ok {
		fmt.Fprintln(os.Stderr, "probe: no such command:", arguments[0])
		os.Exit(2)
	}
	if err := command(arguments[1]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func serve(string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	fmt.Println("serving as", name)
	server := &http.Server{
		Addr:              ":8080",
		ReadHeaderTimeout: patience,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, name)
		}),
	}
	return server.ListenAndServe()
}

// get verifies no certificate: it asks what is allowed, not who answers.
func get(url string) error {
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, strings.TrimSpace(string(body)))
	return err
}

func resolve(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	var failure *net.DNSError
	if errors.As(err, &failure) && failure.IsNotFound {
		fmt.Println("no such name")
		return nil
	}
	fmt.Println(strings.Join(addresses, " "))
	return err
}

func write(file string) error { return os.WriteFile(file, []byte("probe\n"), 0o600) }

func whoami(string) error {
	status, err := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		switch name, _, _ := strings.Cut(line, ":"); name {
		case "Uid", "Gid", "CapEff", "NoNewPrivs", "Seccomp":
			fmt.Print(line)
		}
	}
	return err
}

func eat(string) error {
	var eaten [][]byte
	for {
		bite := make([]byte, 1<<20)
		for i := range bite {
			bite[i] = 1
		}
		eaten = append(eaten, bite)
		if len(eaten) == 1<<10 {
			return errors.New("nothing stopped it at 1 GiB")
		}
	}
}
